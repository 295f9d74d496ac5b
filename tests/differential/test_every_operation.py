"""Operations of shapes, fills and casts: every element type at every block shape, with --full.

With `test_all_shapes` and `test_integers_of_all_shapes` of test_block_math.py this is every
operation, every element type and every block shape.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from conformance.operators_page import has_meaning
from differential.compute_programs import ComputeProgram, assert_equal, stores
from differential.shape_programs import Shape, ShapeProgram, check_close, check_equal
from differential.test_block_math import (
    ALL_SHAPES,
    check_operations,
    compiled_operations,
    elsewhere,
    shape_id,
)
from op_samples import values_of
from ttl import ttnn
from ttl.diagnostics import RuleBroken
from ttl.semantics.dtypes import DTYPES, DType, bfloat16
from ttl.semantics.ops import BLOCK_OPS, BlockOp, Parameter, ParameterKind, bind, result_type
from ttl.semantics.ops.rules import OPEN
from ttl.semantics.types import BlockType

# How far a sum in another order may be off, relative to the largest number of the result.
TOLERANCE = {
    "bfloat16": 2.0**-7,
    "float16": 2.0**-10,
    "float32": 2.0**-20,
    "bfloat8_b": 2.0**-6,
    "bfloat4_b": 2.0**-2,
}
# What a parameter that decides the type of the result is given, for blocks of (rows, columns).
DIMS: tuple[Any, ...] = ([-1], [-2], [-2, -1], [0])


def operations_on_shapes() -> list[BlockOp]:
    """All but those that test_block_math.py has, and the cast."""
    elementwise = {op.name for op in compiled_operations()}
    return [op for op in BLOCK_OPS.values() if op.name not in {*elementwise, "typecast"}]


def blocks_of(shape: tuple[int, int]) -> dict[str, Shape]:
    rows, columns = shape
    return {
        "x": shape,
        "w": (columns, rows),
        "row": (1, columns),
        "column": (rows, 1),
        "tile": (1, 1),
        "outer": (1, rows, columns),
    }


def choices_of(parameter: Parameter, shape: tuple[int, int]) -> tuple[Any, ...]:
    if parameter.kind is ParameterKind.DIMS:
        return DIMS
    if parameter.kind in (ParameterKind.DTYPE, ParameterKind.FLAG):
        return (parameter.default,)
    return (shape,) if parameter.kind is ParameterKind.SHAPE else (3,)


def calls_of(op: BlockOp, shape: tuple[int, int]) -> Iterator[tuple[str, Shape]]:
    """With every choice of parameters, on the first blocks that it takes then; and the result."""
    numbers = ("2", "1") if op.scalars else ("",)
    choices = [choices_of(parameter, shape) for parameter in op.parameters]
    for number, *given in product(numbers, *choices):
        parameters = dict(zip((each.name for each in op.parameters), given, strict=True))
        found = next(accepted_calls(op, number, parameters, blocks_of(shape)), None)
        if found is not None:
            yield found


def accepted_calls(
    op: BlockOp, number: str, parameters: dict[str, Any], blocks: dict[str, Shape]
) -> Iterator[tuple[str, Shape]]:
    """Those that the type rule has no objection to; operands that may be `number` are."""
    for operands in product(*((number,) if name in op.scalars else blocks for name in op.names)):
        types = [
            BlockType(blocks.get(name), bfloat16 if name in blocks else None) for name in operands
        ]
        for left_out in ({}, {"shape": None}):
            try:
                bound = bind(op, operands, parameters | left_out)[1]
                result = result_type(op, types, bound).shape
            except RuleBroken:
                continue
            if result is None or OPEN in result:  # what it is stored to would decide
                continue
            named = [f"{name}={value}" for name, value in (parameters | left_out).items()]
            text = f" {op.operator} ".join(operands)
            if not op.operator:
                text = f"ttl.math.{op.name}({', '.join([*operands, *named])})"
            yield text, result


def test_every_operation_is_here_or_with_block_math() -> None:
    for op in operations_on_shapes():
        assert list(calls_of(op, (3, 7))), op.name


def program_of(op: BlockOp, shape: tuple[int, int], dtype: DType) -> ShapeProgram:
    # With a copy, because a fill reads no block.
    results = [*calls_of(op, shape), ("x", shape)]
    values = (-2.0, 2.0) if dtype.is_float else (0, 200)
    return ShapeProgram(blocks_of(shape), results, dtype, values=values)


@pytest.mark.full
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", ALL_SHAPES, ids=shape_id)
def test_shapes(shape: tuple[int, int], dtype: str) -> None:
    element_type = DTYPES[dtype]
    for op in operations_on_shapes():
        if not has_meaning(op, element_type):
            continue
        program = program_of(op, shape, element_type)
        if op.bound is None or not element_type.is_float:
            check_equal(program)
        else:
            check_close(program, TOLERANCE[dtype])


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
@pytest.mark.parametrize("op", elsewhere(), ids=lambda op: op.name)
def test_on_other_numbers(op: BlockOp, shape: tuple[int, int], dtype: str) -> None:
    check_operations((op,), shape, dtype, values=values_of(op))
