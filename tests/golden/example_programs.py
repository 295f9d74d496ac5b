"""The example programs in this process: loaded once, called with small helpers.

Tests of other folders use it too (`from golden.example_programs import ...`).
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ttl import ttnn
from ttl.artifact import CompiledOperation
from ttl.config import Config
from ttl.dialects import make_context
from ttl.driver.compile import compile_operation
from ttl.frontend import build_module
from ttl.language import Operation
from ttl.language.operation import Program
from ttl.passes import PIPELINE, find_pass, run_passes
from ttl.target import load

DEVICE = ttnn.open_device(device_id=0)

EXAMPLES = Path(__file__).parents[2] / "examples"
OPERATIONS = {
    "barrier": "rotate_rows",
    "elementwise": "multiply_add_exp",
    "matmul_bias_relu": "matmul_bias_relu",
    "multicast_matmul": "multicast_matmul",
    "ring_all_reduce": "ring_all_reduce",
    "softmax": "softmax",
    "split_sum": "split_sum",
}
ON_NODES_ALONE = ("elementwise", "matmul_bias_relu")  # without pipes and semaphores; two of them
TARGET = load("wormhole_b0")


def load_file(path: Path) -> ModuleType:
    """A program as a module; names beside it can be imported while it loads."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with _beside(path):
        spec.loader.exec_module(module)
    return module


@contextmanager
def _beside(path: Path) -> Iterator[None]:
    sys.path.insert(0, str(path.parent))
    try:
        yield
    finally:
        sys.path.remove(str(path.parent))


@cache
def load_example(name: str) -> ModuleType:
    return load_file(EXAMPLES / f"{name}.py")


def operation_of(name: str) -> Operation:
    operation: Operation = getattr(load_example(name), OPERATIONS[name])
    return operation


def sample_inputs(count: int = 3) -> list[tuple[str, list[Any]]]:
    return list(load_example("elementwise").sample_inputs(count))


def example_program(name: str, size: int = 256) -> Program:
    """The example called with zeros: enough to compile it."""
    operation = operation_of(name)
    widths = [size] * len(operation.signature.parameters)
    if name == "split_sum":
        widths[-1] = size // 4
    tensors = [
        ttnn.zeros((size, width), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE)
        for width in widths
    ]
    return operation.program(tuple(tensors), {}, TARGET.default_grid)


@cache
def compile_example(name: str) -> CompiledOperation:
    return compile_operation(example_program(name), TARGET, Config())


def example_module(name: str, after: str | None = None, size: int = 256) -> ModuleOp:
    """The example's IR from the frontend, or after the pass `after`."""
    module = build_module(example_program(name, size), TARGET)
    names = PIPELINE[: PIPELINE.index(after) + 1] if after else ()
    run_passes([find_pass(each)() for each in names], make_context(), module)
    return module
