"""The table of docs/reference/counts.md: 24 programs beside the public compiler, at four sizes."""

from __future__ import annotations

import importlib.util
import tempfile
import tomllib
from functools import cache
from pathlib import Path
from random import Random
from types import ModuleType

import numpy as np

import ttl
from conformance.counted_programs import PROGRAMS, SIZES, STEPS, text_of
from ttl import ttnn
from ttl.config import Config
from ttl.driver.compile import compile_operation
from ttl.host import CallCounts, launch
from ttl.host.counts import COLUMNS
from ttl.target import load

COMPARED = COLUMNS[:5]
PUBLIC = tomllib.loads((Path(__file__).parent / "public_counts.toml").read_text(encoding="utf-8"))
TARGET = load("wormhole_b0")

# Where ours has more calls, and why.
SPREAD = (
    "of a scaler block element (0, 0) counts: it is spread over a tile once, before the loop; the "
    "other takes the tile for one that is filled already"
)
TIMES = (
    "a maximum, and a sum of all, are multiplied by the scaler afterwards, in a section of their "
    "own: the chip's call takes no scaler but 1 for the one and applies it twice for the other"
)
WIDE = (
    f"{TIMES}. A reduction works in registers of 32 bits here, of which there are half as many; "
    "those of the other have 16"
)
MORE = {
    "add_f32": (
        "f32 is added by the vector unit with all its digits; the other adds 10 of 23, and so does "
        'ours with `f32="tf32"`'
    ),
    "product_over_k": (
        "the sum has 32 bits here and is loaded once more for the last step; the other's is "
        "rounded to bfloat16 in each step"
    ),
    "row_sums": SPREAD,
    "column_sums": SPREAD,
    "layernorm": SPREAD,
    "row_maxima": WIDE,
    "sum_of_all": WIDE,
    "softmax": WIDE,
}
HEAD = """## Beside the public compiler

24 programs, the same Python for both (tests/conformance/counted_programs.py), four blocks each, on
one node; ours / tt-lang 1.1.1. Both were compiled, and the kernels of both were run by the executor
and counted; their results agree. **Bold** is where ours has more.
"""


def rows() -> list[tuple[str, int]]:
    return [(name, size) for name in PROGRAMS for size in SIZES if str(size) in PUBLIC[name]]


def sampled_rows(seed: int, count: int = 8) -> list[tuple[str, int]]:
    return Random(seed).sample(rows(), count)


def table() -> str:
    heads = ["program", "block", *COMPARED]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    lines += [line_of(*row) for row in rows()]
    reasons = [f"- `{name}`: {why}." for name, why in MORE.items()]
    return "\n".join([HEAD, *lines, "", "Where ours has more:", "", *reasons, ""])


def line_of(name: str, size: int) -> str:
    pairs = zip(counts_of(name, size), PUBLIC[name][str(size)], strict=True)
    cells = [
        f"**{ours}** / {theirs}" if ours > theirs else f"{ours} / {theirs}"
        for ours, theirs in pairs
    ]
    return f"| {name} | {size}x{size} | {' | '.join(cells)} |"


@cache
def counts_of(name: str, size: int) -> tuple[int, ...]:
    """What our kernels call in one launch on zeros and ones."""
    program = PROGRAMS[name]
    operation = ttl.operation(grid=(1, 1))(getattr(_module(name, size), name))
    side = size * STEPS * 32
    device = ttnn.open_device(device_id=0)
    dtypes = [program.dtype] * len(program.inputs) + [program.result_dtype or program.dtype]
    tensors = [
        ttl.from_numpy(np.ones((side, side), np.float32), dtype=getattr(ttnn, dtype), device=device)
        for dtype in dtypes
    ]
    config = Config.from_environment()
    called = operation.program(tuple(tensors), {}, TARGET.default_grid)
    counts = CallCounts()
    launch(
        compile_operation(called, TARGET, config),
        [tensor.storage for tensor in tensors],
        cache_dir=config.cache_dir,
        counts=counts,
    )
    return tuple(counts.columns[column] for column in COMPARED)


def _module(name: str, size: int) -> ModuleType:
    path = Path(tempfile.mkdtemp()) / f"{name}_{size}.py"
    path.write_text(text_of(name, size), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
