"""300 random block expressions of depth 2 to 5, compiled: simulator = host, number for number.

Only operations that the op table calls exact; ten expressions a program, which share
subexpressions, and more of them than the DST registers hold. Those that are only close are in
differential/test_shape_operations.py.
"""

from __future__ import annotations

from functools import cache
from math import prod

import numpy as np
import pytest
from hypothesis import strategies as st

from differential.compute_programs import ComputeProgram, stores
from differential.test_block_math import compiled_operations
from op_samples import numbers_of, whole_numbers_of
from property.drawn import drawn
from ttl import ttnn
from ttl.semantics.dtypes import DTYPES
from ttl.semantics.ops import BlockOp, Domain


def exact_forms(operands: int, whole: bool) -> tuple[str, ...]:
    """Calls of the operations that the op table calls exact, with places for their operands."""
    domains = (Domain.ALL, Domain.INTEGERS if whole else Domain.FLOATS)
    return tuple(
        form_of(op, whole)
        for op in compiled_operations()
        if op.operands == operands
        and op.domain in domains
        and (whole or op.bound is None)
        and op.name not in LEFT_OUT[whole]
    )


def form_of(op: BlockOp, whole: bool) -> str:
    operands = ["({} > 0)" if name == "m" else "{}" for name in op.names]
    if op.operator and op.operands == 2:
        return f"({operands[0]} {op.operator} {operands[1]})"
    numbers = (whole_numbers_of if whole else numbers_of)(op)
    return f"ttl.math.{op.name}({', '.join([*operands, *map(str, numbers.values())])})"


# An integer divided by 0 has no value, infinities hide what differs, and zeros lose their sign.
LEFT_OUT = (("mask_posinf", "signbit"), ("mod", "floordiv"))  # of floats, of integers
BINARY = exact_forms(2, whole=False)
UNARY = (*exact_forms(1, whole=False), "{} * 0.5", "2 - {}")
SELECTIONS = (
    *exact_forms(3, whole=False),
    "ttl.math.mask({0}, ({1} < {2}))",
    "ttl.math.where(({} != {}), {}, 0.5 * b_blk)",
    "ttl.math.threshold({} - {}, 0.3, 1.75) * {}",
    "({} % 0.75) + {} * ({} > 0)",
)
WHOLE_BINARY = (*exact_forms(2, whole=True), "ttl.math.where(({0} > b_blk), {0}, {1})")
WHOLE_UNARY = (*exact_forms(1, whole=True), "{} // 7", "{} % 11", "9 - {}")
LEAVES = ("a_blk", "b_blk")
SHARED = ("FIRST", "SECOND")  # stand for parts that several expressions of a program have
CONSTANT = "ttl.math.fill(0.25, shape=(ROWS, COLUMNS))"
DEPTHS = st.integers(2, 5)
COUNT, WHOLE_COUNT = 200, 100  # expressions
TOGETHER = 10  # in one program
FEW = 3  # the same, of two element types
LARGE_BYTES = 90_000  # a block of which few fit in L1
SHAPES = [(1, 1), (2, 2), (1, 5), (5, 5), (3, 7)]
WIDE = ", fp32_dest_acc_en=True"
# Of what is read, and of what is stored. Where all of it has 16 bits and the registers 32, values
# that are kept are read as TF32, and a comparison makes much of that: see below.
FORMATS = [
    (ttnn.bfloat16, "", ttnn.bfloat16),
    (ttnn.bfloat16, WIDE, ttnn.float32),
    (ttnn.float32, "", ttnn.float32),
    (ttnn.bfloat16, ", dst_full_sync_en=True", ttnn.bfloat16),
]
FLOATS = [dtype for dtype in DTYPES.values() if dtype.is_float]
MIXED = [(one, other) for one in FLOATS for other in FLOATS if one != other]
WHOLE_FORMATS = [
    (ttnn.int32, (-(2**31), 2**31)),
    (ttnn.int32, (-1000, 1000)),
    (ttnn.uint32, (0, 2**32)),
    (ttnn.uint16, (0, 2**16)),
    (ttnn.uint8, (0, 2**8)),
]


@st.composite
def expressions(draw: st.DrawFn, depth: int, leaves: tuple[str, ...]) -> str:
    """The first operand is one less deep, others are at most so."""
    if depth == 0:
        return draw(st.sampled_from(leaves))
    first = draw(expressions(depth - 1, leaves))
    kind = draw(st.integers(0, 6))
    if kind < 2:
        return f"({draw(st.sampled_from(UNARY)).format(first)})"
    others = st.integers(0, depth - 1).flatmap(lambda less: expressions(less, leaves))
    if kind == 2:
        return f"({draw(st.sampled_from(SELECTIONS)).format(first, draw(others), draw(others))})"
    operands = draw(st.permutations([first, draw(others | st.just(CONSTANT))]))
    return f"({draw(st.sampled_from(BINARY)).format(*operands)})"


@st.composite
def whole_expressions(draw: st.DrawFn, depth: int) -> str:
    if depth == 0:
        return draw(st.sampled_from(LEAVES))
    first = draw(whole_expressions(depth - 1))
    if draw(st.integers(0, 2)) == 0:
        return f"({draw(st.sampled_from(WHOLE_UNARY)).format(first)})"
    other = draw(st.integers(0, depth - 1).flatmap(whole_expressions))
    operands = draw(st.permutations([first, other]))
    return f"({draw(st.sampled_from(WHOLE_BINARY)).format(*operands)})"


@cache
def all_expressions() -> list[str]:
    leaves = (*LEAVES, *SHARED)
    return drawn(DEPTHS.flatmap(lambda depth: expressions(depth, leaves)), COUNT)


@cache
def shared_parts() -> list[str]:
    return drawn(expressions(2, LEAVES), COUNT // TOGETHER * len(SHARED))


@cache
def all_whole_expressions() -> list[str]:
    return drawn(DEPTHS.flatmap(whole_expressions), WHOLE_COUNT)


def check(program: ComputeProgram) -> None:
    for position, (simulated, compiled) in enumerate(program.both()):
        np.testing.assert_array_equal(
            compiled, simulated, f"expression {position} of\n{program.text()}"
        )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", range(COUNT // TOGETHER))
def test_expressions(number: int) -> None:
    texts = all_expressions()[number * TOGETHER :][:TOGETHER]
    for place, name in enumerate(SHARED, number * len(SHARED)):
        texts = [text.replace(name, shared_parts()[place]) for text in texts]
    dtype, options, out_dtype = FORMATS[number % len(FORMATS)]
    shapes = SHAPES if dtype is out_dtype else SHAPES[:3]
    shape = shapes[number % len(shapes)]
    # Values that are kept for later must fit in L1.
    most = 1 if prod(shape) * dtype.tile_bytes > LARGE_BYTES else TOGETHER
    for start in range(0, TOGETHER, most):
        # Both blocks must be read.
        body = stores([*texts[start : start + most], "a_blk + b_blk"])
        check(ComputeProgram(body, shape, 1, most + 1, options, dtype, out_dtype))


@pytest.mark.parametrize("number", range(3))
def test_16_bits_in_registers_of_32(number: int) -> None:
    """Expressions that fit in the registers: no value is kept, so that none is read as TF32."""
    texts = shared_parts()[number * TOGETHER :][:TOGETHER]
    check(ComputeProgram(stores([*texts, "a_blk + b_blk"]), (2, 2), 1, TOGETHER + 1, WIDE))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("number", range(len(MIXED)))
def test_expressions_of_two_float_types(number: int) -> None:
    dtype, b_dtype = MIXED[number]
    texts = all_expressions()[number * TOGETHER :][:FEW]
    for place, name in enumerate(SHARED, number * len(SHARED)):
        texts = [text.replace(name, shared_parts()[place]) for text in texts]
    body = stores([*texts, "a_blk + b_blk"])
    out_dtype = MIXED[(number + 7) % len(MIXED)][0]
    check(ComputeProgram(body, (2, 3), 1, FEW + 1, "", dtype, out_dtype, b_dtype))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("number", range(WHOLE_COUNT // TOGETHER))
def test_integer_expressions(number: int) -> None:
    texts = all_whole_expressions()[number * TOGETHER :][:TOGETHER]
    dtype, values = WHOLE_FORMATS[number % len(WHOLE_FORMATS)]
    shape = SHAPES[number // 2 % len(SHAPES)]
    body = stores([*texts, "a_blk + b_blk"])
    check(ComputeProgram(body, shape, 1, TOGETHER + 1, dtype=dtype, values=values))
