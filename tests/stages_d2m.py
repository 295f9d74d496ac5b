"""The IR of pykernel programs, stage by stage."""

from functools import cache

import numpy as np
from xdsl.parser import Parser

from pykernel.passes.pipelines import D2M
from sampling import is_chosen
from ttgraph.dialects import make_context
from ttgraph.passes import find_pass
from ttl.dialects import print_module
from ttl.dialects.reading import parse_module
from ttl.passes.pipelines import PIPELINE

BLOCK = "tensor<1x1x!ttcore.tile<32x32, f32>>"
DEVICE = (
    "tensor<1x1x1x1x!ttcore.tile<32x32, f32>, #ttcore.metal_layout<logical_shape = 32x32, "
    "dim_alignments = 32x32, collapsed_intervals = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>, "
    "undef, l1>>"
)


def array(*shape):
    return np.ones(shape, np.float32)


def initial(kernel, monkeypatch, tmp_path, shape=(64, 64), count=3):
    """The text of the initial IR."""
    file = tmp_path / "initial.mlir"
    monkeypatch.setenv("TTLANG_COMPILE_ONLY", "1")
    monkeypatch.setenv("TTLANG_INITIAL_MLIR", str(file))
    kernel(*(array(*shape) for _ in range(count)))
    return file.read_text()


def parse(text):
    module = parse_module(text, "test.mlir", make_context())
    module.verify()
    return module


def parse_own(text):
    """By our definitions alone: nothing is kept as text of others."""
    module = Parser(make_context(), text).parse_module()
    module.verify()
    return module


@cache  # most passes leave most programs as they are
def is_read_back(text):
    return print_module(parse(text)) == text


@cache
def lowered(text, until=None):
    """The text of each stage, by the name of its pass; some are read back as they were printed."""
    module = parse(text)
    found = {}
    for name in (*D2M, *PIPELINE):
        find_pass(name)().apply(make_context(), module)
        module.verify()
        found[name] = print_module(module)
        if is_chosen(f"{name} of {text}", one_in=6):  # reading takes longer than all passes
            assert is_read_back(found[name]), name
        if name == until:
            break
    return found
