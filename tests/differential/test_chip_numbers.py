"""Every operation of the table in every element type, alone, on the executor: within the bound that
the table states for the chip, of what the language means; a sample of them that a seed chooses, all
with --full. And f32 with all its digits."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from conformance.operators_page import has_meaning
from differential.shape_programs import ShapeProgram, check_equal
from differential.test_block_math import (
    RANGES,
    SPACING,
    batches,
    check_integers,
    check_operations,
    elsewhere,
    whole_batches,
)
from differential.test_every_operation import calls_of, operations_on_shapes, program_of
from op_samples import A_VALUES, B_VALUES, values_of
from sampling import sample_seed
from ttl import ttnn
from ttl.semantics.dtypes import DTYPES, DType
from ttl.semantics.ops import BLOCK_OPS, MATMUL, BlockOp, bind

FLOATS = [name for name, dtype in DTYPES.items() if dtype.is_float]
ALONE = (1, 1)
CAST = BLOCK_OPS["typecast"]
SAMPLE_SIZE = 8


@pytest.fixture(autouse=True)
def language_rounds(cuts_sources: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What f32 loses in the matrix unit is part of the bound here."""
    monkeypatch.delenv("TTL_ROUNDING")


def operations_in(dtype: str) -> list[BlockOp]:
    """Those that are compiled for this element type."""
    kind = DTYPES[dtype]
    found = [op for op in BLOCK_OPS.values() if has_meaning(op, kind)]
    return [op for op in found if op is not MATMUL or kind.is_float]


@pytest.mark.parametrize("number", range(SAMPLE_SIZE))
def test_a_sample_of_operations(number: int) -> None:
    """Each alone; the seed stands at the head of the report."""
    random = Random(f"{sample_seed()} {number}")
    dtype = random.choice(list(DTYPES))
    op = random.choice(operations_in(dtype))
    if op in operations_on_shapes():
        check_shapes(op, DTYPES[dtype])
    elif op is CAST:
        check_cast(dtype, random.choice(list(DTYPES)))
    elif dtype in RANGES:
        check_integers((op,), ALONE, dtype)
    elif op in elsewhere():
        check_operations((op,), ALONE, dtype, values=values_of(op))
    else:
        check_operations((op,), ALONE, dtype, values=A_VALUES, b_values=B_VALUES)


@pytest.mark.full
@pytest.mark.parametrize("dtype", FLOATS)
def test_elementwise_operations(dtype: str) -> None:
    for batch in batches():
        check_operations(batch, ALONE, dtype, values=A_VALUES, b_values=B_VALUES)
    for op in elsewhere():
        check_operations((op,), ALONE, dtype, values=values_of(op))


@pytest.mark.full
@pytest.mark.parametrize("dtype", RANGES)
def test_elementwise_operations_of_integers(dtype: str) -> None:
    for batch in whole_batches():
        check_integers(batch, ALONE, dtype)


@pytest.mark.full
@pytest.mark.parametrize("dtype", DTYPES)
def test_operations_on_shapes(dtype: str) -> None:
    for op in operations_on_shapes():
        if op in operations_in(dtype):
            check_shapes(op, DTYPES[dtype])


@pytest.mark.full
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("to", DTYPES)
def test_casts(dtype: str, to: str) -> None:
    check_cast(dtype, to)


def check_cast(dtype: str, to: str) -> None:
    """Exact, of numbers that both have room for."""
    assert CAST.bound is None
    results = [(f"ttl.math.typecast(x, ttnn.{to})", ALONE)]
    given, dtypes = {"x": ALONE}, {"y0": DTYPES[to]}
    check_equal(ShapeProgram(given, results, DTYPES[dtype], values=(0, 200), dtypes=dtypes))


def check_shapes(op: BlockOp, dtype: DType) -> None:
    program = program_of(op, ALONE, dtype)
    blocks = program.inputs()
    for (text, _), (simulated, compiled) in zip(program.results, program.both(), strict=True):
        if op.bound is None or not dtype.is_float or text == "x":
            np.testing.assert_array_equal(compiled, simulated, err_msg=text)
            continue
        found = allowed(op, text, blocks, dtype.spelling, simulated)
        assert (np.abs(compiled - simulated) <= found).all(), (text, dtype)


def allowed(
    op: BlockOp, text: str, blocks: dict[str, np.ndarray], dtype: str, result: np.ndarray
) -> np.ndarray:
    """The bound, from either side, and a step of the type that is stored; of a block float that is
    one of its group's largest element."""
    spacing, of_result = SPACING[dtype]
    if op is MATMUL:
        arrays = [blocks[name] for name in text.split(" @ ")]
        bound = op.bound(2.0**-23, *arrays)  # type: ignore[misc]
    else:
        operands, given = eval(text, {"ttl": Recorded(op)}, blocks)
        bound = op.bound(spacing, operands[0], np.float32(operands[1]), **given)  # type: ignore[misc]
    magnitude = np.abs(result)
    if DTYPES[dtype].is_block_float:
        magnitude = np.repeat(magnitude.reshape(-1, 16).max(axis=1), 16).reshape(result.shape)
    found: np.ndarray = 2 * bound + of_result * magnitude
    return found


class Recorded:
    """`ttl` in the text of a call: gives what the call is given."""

    def __init__(self, op: BlockOp):
        self.op = op

    @property
    def math(self) -> Recorded:
        return self

    def __getattr__(self, name: str) -> object:
        return lambda *args, **kwargs: bind(self.op, args, kwargs)


def test_the_list_has_every_operation() -> None:
    elementwise = {op.name for batch in (*batches(), elsewhere()) for op in batch}
    whole = {op.name for batch in whole_batches() for op in batch}
    on_shapes = {op.name for op in operations_on_shapes() if list(calls_of(op, ALONE))}
    assert elementwise | whole | on_shapes | {CAST.name} == set(BLOCK_OPS)
    assert sum(len(operations_in(dtype)) for dtype in DTYPES) > 206  # as many were tried on chips


EXACT = [
    ("ttl.math.reduce_sum(x, dims=[-1], exact_f32=True)", (2, 1)),
    ("ttl.math.reduce_sum(x, 0.3, dims=[-2], exact_f32=True)", (1, 3)),
    ("ttl.math.reduce_mean(x, dims=[-2, -1], exact_f32=True)", (1, 1)),
    ("ttl.math.reduce_max(x, dims=[-2, -1], exact_f32=True)", (1, 1)),
    ("ttl.math.reduce_min(x, dims=[-1], exact_f32=True)", (2, 1)),
    (
        "x - ttl.math.broadcast(ttl.math.reduce_max(x, dims=[-1], exact_f32=True), dims=[-1])",
        (2, 3),
    ),
]


@pytest.mark.parametrize("chip", ["wormhole_b0", "blackhole"])
def test_exact_reductions_keep_all_digits(chip: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that only compare are exact; a sum is added up in another order."""
    monkeypatch.setenv("TTL_TARGET", chip)
    program = ShapeProgram({"x": (2, 3)}, EXACT, ttnn.float32)
    for (text, _), (simulated, compiled) in zip(EXACT, program.both(), strict=True):
        is_sum = "sum" in text or "mean" in text
        error = np.abs(compiled - simulated).max()
        assert error <= (2.0**-18 * np.abs(program.inputs()["x"]).max() if is_sum else 0), text
    differences = program.both()[-1][1]
    assert (differences.max(axis=1) == 0).all()


def test_f32_in_the_matrix_unit_is_tf32() -> None:
    """Without exact_f32 the maximum is cut off, so that something is left of it."""
    text = "x - ttl.math.broadcast(ttl.math.reduce_max(x, dims=[-1]), dims=[-1])"
    [(simulated, compiled)] = ShapeProgram({"x": (1, 1)}, [(text, ALONE)], ttnn.float32).both()
    assert (simulated.max(axis=1) == 0).all()
    assert (compiled.max(axis=1) > 0).any()
