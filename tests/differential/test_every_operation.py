"""Operations of shapes, fills and casts: every element type at every block shape, with --full.

With `test_all_shapes` and `test_integers_of_all_shapes` of test_block_math.py this is every
operation, every element type and every block shape.
"""

from __future__ import annotations

from typing import Any

import pytest

from differential.compute_programs import ComputeProgram, assert_equal, stores
from differential.shape_programs import Shape, ShapeProgram, check_close, check_equal
from differential.test_block_math import (
    ALL_SHAPES,
    ELSEWHERE,
    batches,
    check_operations,
    shape_id,
    whole_operations,
)
from ttl import ttnn
from ttl.semantics.dtypes import DTYPES, DType
from ttl.semantics.ops import BLOCK_OPS

# How far a sum in another order may be off, relative to the largest number of the result.
TOLERANCE = {
    "bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-20,
    "bfloat8_b": 2.0**-6, "bfloat4_b": 2.0**-2,
}  # fmt: skip
# Operations, their calls on x of a shape (r, c), a row, a column, one tile and w of (c, r).
CALLS: dict[str, list[tuple[str, str]]] = {
    "broadcast": [
        ("ttl.math.broadcast(column, dims=[-1], shape=(R, C))", "R, C"),
        ("ttl.math.broadcast(row, dims=[-2], shape=(R, C))", "R, C"),
        ("ttl.math.broadcast(tile, dims=[-2, -1], shape=(R, C))", "R, C"),
    ],
    "fill": [("ttl.math.fill(3, shape=(R, C))", "R, C")],
    "matmul": [("x @ w", "R, R")],
    "reduce_sum": [
        ("ttl.math.reduce_sum(x, 2, dims=[-1])", "R, 1"),
        ("ttl.math.reduce_sum(x, dims=[-2])", "1, C"),
        ("ttl.math.reduce_sum(x, dims=[-2, -1])", "1, 1"),
    ],
    "reduce_max": [
        ("ttl.math.reduce_max(x, dims=[-1])", "R, 1"),
        ("ttl.math.reduce_max(x, 2, dims=[-2])", "1, C"),
        ("ttl.math.reduce_max(x, dims=[-2, -1])", "1, 1"),
    ],
    "squeeze": [("ttl.math.squeeze(ttl.math.unsqueeze(x, 0), 0)", "R, C")],
    "transpose": [("ttl.math.transpose(x)", "C, R")],
    "unsqueeze": [("ttl.math.unsqueeze(x, 0)", "1, R, C")],
}
SUMS = ("matmul", "reduce_sum", "reduce_max")  # of floats: close


def test_every_operation_is_here_or_with_block_math() -> None:
    elementwise = {op.name for batch in batches() for op in batch}
    elementwise |= {op.name for op in whole_operations()} | {"typecast", *ELSEWHERE}
    assert elementwise | set(CALLS) == set(BLOCK_OPS)


def of_shape(text: str, shape: tuple[int, int]) -> str:
    return text.replace("R", str(shape[0])).replace("C", str(shape[1]))


def program_of(names: Any, shape: tuple[int, int], dtype: DType) -> ShapeProgram:
    rows, columns = shape
    results: list[tuple[str, Shape]] = [
        (of_shape(text, shape), tuple(map(int, of_shape(size, shape).split(", "))))
        for name in names
        for text, size in CALLS[name]
    ]
    blocks: dict[str, Shape] = {
        "x": shape, "w": (columns, rows), "row": (1, columns), "column": (rows, 1), "tile": (1, 1)
    }  # fmt: skip
    values = (-2.0, 2.0) if dtype.is_float else (0, 200)
    return ShapeProgram(blocks, results, dtype, values=values)


@pytest.mark.full
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", ALL_SHAPES, ids=shape_id)
def test_shapes(shape: tuple[int, int], dtype: str) -> None:
    element_type = DTYPES[dtype]
    moves = [name for name in CALLS if name not in SUMS]
    check_equal(program_of(moves, shape, element_type))
    sums = program_of(SUMS, shape, element_type)
    if element_type.is_float:
        check_close(sums, TOLERANCE[dtype])
    else:
        check_equal(sums)


@pytest.mark.full
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", ALL_SHAPES, ids=shape_id)
def test_casts(shape: tuple[int, int], dtype: str) -> None:
    """To every type and back, on numbers that all have."""
    texts = [
        f"ttl.math.typecast(ttl.math.typecast(a_blk, ttnn.{other}), ttnn.{dtype})"
        for other in DTYPES
    ]
    element_type = getattr(ttnn, dtype)
    body = stores([*texts, "a_blk + b_blk"])
    assert_equal(
        ComputeProgram(body, shape, 1, len(texts) + 1, dtype=element_type, values=(1, 100))
    )


@pytest.mark.full
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", ALL_SHAPES, ids=shape_id)
@pytest.mark.parametrize("name", ELSEWHERE)
def test_on_other_numbers(name: str, shape: tuple[int, int], dtype: str) -> None:
    check_operations((BLOCK_OPS[name],), shape, dtype, values=ELSEWHERE[name])
