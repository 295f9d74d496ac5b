"""Rows that are expanded in 32-bit registers, where the chip's own broadcast scrambles them."""

from __future__ import annotations

from pathlib import Path

import pytest

from differential.shape_programs import Shape, ShapeProgram, check_close
from golden.example_programs import load_file
from ttl import ttnn
from ttl.config import Config
from ttl.driver.compile import compile_operation
from ttl.target import load

TARGET = load("wormhole_b0")

DTYPES = {"bfloat16": ttnn.bfloat16, "float32": ttnn.float32}
TOLERANCE = {"bfloat16": 2.0**-7, "float32": 2.0**-18}
ROWS = {
    "product_with_bias": "a @ w + ttl.math.broadcast(c, dims=[0])",
    "product_scaled": "(a @ w) * ttl.math.broadcast(c, dims=[0])",
    "computed": "ttl.math.exp(a) * ttl.math.broadcast(c, dims=[0]) + b",
    "of_a_computed_row": "b - ttl.math.broadcast(ttl.math.exp(c), dims=[0])",
    "alone": "ttl.math.broadcast(c, dims=[0], shape=SHAPE)",
}
INVARIANT = """
with a_dfb.wait() as a, w_dfb.wait() as w, c_dfb.wait() as c, y0_dfb.reserve() as y0:
    bias = ttl.math.broadcast(c, dims=[0], shape=(2, 2))
    total = a @ w
    for step in range(3):
        total = ttl.math.exp(total * 0.01) * bias
    y0.store(total)
"""
CHIPS = pytest.mark.parametrize("chip", ["wormhole_b0", "blackhole"])
SHAPES = pytest.mark.parametrize("shape", [(1, 1), (3, 2)], ids=str)


def blocks_of(shape: Shape) -> dict[str, Shape]:
    return {"a": shape, "b": shape, "w": (shape[1], shape[1]), "c": (1, shape[1])}


@CHIPS
@SHAPES
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows(shape: Shape, dtype: str, chip: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTL_TARGET", chip)
    results = [(text.replace("SHAPE", str(shape)), shape) for text in ROWS.values()]
    program = ShapeProgram(blocks_of(shape), results, DTYPES[dtype], ", fp32_dest_acc_en=True")
    check_close(program, TOLERANCE[dtype])


@CHIPS
@pytest.mark.parametrize("dtype", ["int32", "uint32", "uint16", "uint8"])
def test_rows_of_integers(dtype: str, chip: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTL_TARGET", chip)
    results = [("b + ttl.math.broadcast(c, dims=[0])", (2, 2))]
    check_close(
        ShapeProgram(blocks_of((2, 2)), results, getattr(ttnn, dtype), values=(0, 100)), 0.0
    )


@pytest.mark.parametrize("dtype", ["bfloat8_b", "bfloat4_b", "float16"])
def test_rows_of_other_floats(dtype: str) -> None:
    results = [("ttl.math.broadcast(c, dims=[0], shape=(2, 2))", (2, 2))]
    options = ", fp32_dest_acc_en=True"
    check_close(ShapeProgram(blocks_of((2, 2)), results, getattr(ttnn, dtype), options), 0.0)


def test_a_row_from_outside_a_loop_is_expanded_once(tmp_path: Path) -> None:
    program = ShapeProgram(blocks_of((2, 2)), [("", (2, 2))], body=INVARIANT)
    check_close(program, 2.0**-7)
    file = tmp_path / "program.py"
    file.write_text(program.text())
    made = load_file(file).operation.program(tuple(program.tensors()), {}, TARGET.default_grid)
    kernels = compile_operation(made, TARGET, Config()).kernels
    text = next(kernel.cpp_source for kernel in kernels if kernel.name == "compute")
    assert text.count("add_tiles_bcast_rows(") == 1
    assert "unary_bcast<" not in text
