"""Every operation in every element type on special values: bit for bit, or within the bound of the
op table. The signs of zeros count, and those of NaN; what else is in their bits does not."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pytest

import ttl
from conformance.operators_page import has_meaning
from differential.compute_programs import ComputeProgram, stores
from differential.shape_programs import DEVICE, ShapeProgram
from differential.test_block_math import allowance, compiled_operations
from op_samples import numbers_of, whole_numbers_of
from sampling import sample_seed
from special_values import SIDE, pairs, special_values
from ttl.diagnostics import KernelFault, codes
from ttl.semantics.dtypes import DTYPES, DType
from ttl.semantics.ops import BLOCK_OPS, BlockOp
from ttl.semantics.ops.special_values import LEAST_NORMAL

ALWAYS = "bfloat16"
OTHERS = [name for name in DTYPES if name != ALWAYS]
DIVISIONS = ("floordiv", "mod")


@dataclass(frozen=True)
class OnPairs(ComputeProgram):
    """a and b have all pairs of special values."""

    divides: bool = False

    def arrays(self) -> list[np.ndarray]:
        a, b = pairs(self.dtype)
        if self.divides and not self.dtype.is_float:
            b = np.where(b == 0, 3, b)
        return [a, b, np.zeros((SIDE, SIDE), a.dtype)]


def shape_for(dtype: DType) -> tuple[int, int]:
    return pairs(dtype)[0].shape[0] // SIDE, pairs(dtype)[0].shape[1] // SIDE


def text_of(op: BlockOp, dtype: DType) -> str:
    """Conditions are any numbers."""
    blocks = iter(("a_blk", "b_blk"))
    operands = ["b_blk" if name in ("c", "m") else next(blocks) for name in op.names]
    if op.operator and op.operands == 2:
        return f" {op.operator} ".join(operands)
    numbers = numbers_of(op) if dtype.is_float else whole_numbers_of(op)
    named = [f"{name}={value}" for name, value in numbers.items()]
    return f"ttl.math.{op.name}({', '.join(operands + named)})"


def operations_on(dtype: DType) -> list[BlockOp]:
    return [op for op in compiled_operations() if has_meaning(op, dtype)]


@pytest.mark.parametrize("dtype", [ALWAYS, Random(sample_seed()).choice(OTHERS)])
def test_elementwise_operations(dtype: str) -> None:
    check(operations_on(DTYPES[dtype]), DTYPES[dtype])


@pytest.mark.full
@pytest.mark.parametrize("dtype", OTHERS)
def test_elementwise_operations_of_all_types(dtype: str) -> None:
    check(operations_on(DTYPES[dtype]), DTYPES[dtype])


@pytest.mark.full
@pytest.mark.parametrize("dtype", ["bfloat16", "bfloat8_b"])
def test_elementwise_operations_in_32_bit_registers(dtype: str) -> None:
    check(operations_on(DTYPES[dtype]), DTYPES[dtype], ", fp32_dest_acc_en=True")


def check(ops: list[BlockOp], dtype: DType, options: str = "") -> None:
    divides = [op for op in ops if op.name in DIVISIONS]
    check_pairs([op for op in ops if op not in divides], dtype, options)
    check_pairs(divides, dtype, options, divides=True)


def check_pairs(ops: list[BlockOp], dtype: DType, options: str = "", divides: bool = False) -> None:
    texts = [text_of(op, dtype) for op in ops]
    program = OnPairs(
        stores(texts),
        shape_for(dtype),
        count=len(texts),
        dtype=dtype,
        options=options,
        divides=divides,
    )
    a, b, _ = program.inputs()
    spelling = "float16" if options and dtype.spelling == "bfloat16" else dtype.spelling
    for op, text, (simulated, compiled) in zip(ops, texts, program.both(), strict=True):
        allowed: Any = None
        if op.bound is not None and dtype.is_float:
            with np.errstate(all="ignore"):
                operands = [a] if op.operands == 1 else [a, b]
                allowed = allowance(op, operands, spelling, simulated) + LEAST_NORMAL
        assert_same(simulated, compiled, text, allowed)


def assert_same(
    simulated: np.ndarray, compiled: np.ndarray, text: str, allowed: np.ndarray | None = None
) -> None:
    if simulated.dtype.kind != "f":
        np.testing.assert_array_equal(compiled, simulated, text)
        return
    simulated, compiled = (values.astype(np.float32) for values in (simulated, compiled))
    same = simulated.view(np.uint32) == compiled.view(np.uint32)
    are_nan = np.isnan(simulated) & np.isnan(compiled)
    same |= are_nan & (np.signbit(simulated) == np.signbit(compiled))
    if allowed is not None:
        with np.errstate(all="ignore"):
            near = np.abs(simulated - compiled) <= allowed
        same |= near & ~((simulated == 0) & (compiled == 0))
    wrong = tuple(np.argwhere(~same)[0]) if not same.all() else None
    assert wrong is None, (text, wrong, simulated[wrong], compiled[wrong])


# Inside tiles -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OnTiles(ComputeProgram):
    """Special values in any order: each column has a few of them, many times."""

    sums: bool = False  # without the largest, whose sums overflow in one order and not in another

    def arrays(self) -> list[np.ndarray]:
        generator, values = np.random.default_rng(3), special_values(self.dtype)
        if self.dtype.is_float and self.sums:
            values = values[(np.abs(values) < 1e9) | ~np.isfinite(values)]
        if self.dtype.is_block_float:
            given = (values, values, values[np.isfinite(values)])
            return [np.repeat(generator.choice(each, (SIDE, 2)), 16, 1) for each in given]
        few = [generator.choice(values, 1 + column % 3) for column in range(SIDE)]
        a = np.stack([generator.choice(each, SIDE) for each in few], axis=1)
        return [a, a.T.copy(), generator.choice(values[np.isfinite(values)], (SIDE, SIDE))]


DIMS = ("[-1]", "[-2]", "[-2, -1]")
EXTREMES = [f"ttl.math.reduce_{how}(a_blk, dims={d})" for how in ("max", "min") for d in DIMS]
SUMS = [f"ttl.math.reduce_sum(a_blk, dims={dims})" for dims in DIMS]
MOVES = ["ttl.math.transpose(a_blk)", *(f"ttl.math.broadcast(b_blk, dims={d})" for d in DIMS)]


def check_tiles(dtype: DType) -> None:
    """Maxima, minima and moves bit for bit; NaN and infinities of sums stand in the same places."""
    exact = [f"ttl.math.reduce_max(b_blk, dims={d}, exact_f32=True)" for d in DIMS]
    texts = [*EXTREMES, *MOVES, *(exact if dtype.is_float else ()), "a_blk + b_blk"]
    program = OnTiles(stores(texts), count=len(texts), dtype=dtype)
    for text, (simulated, compiled) in zip(texts, program.both(), strict=True):
        assert_same(simulated, compiled, text)
    products = ["b_blk @ w_blk"] if dtype.is_float else []
    texts = [*SUMS, *products, "ttl.math.neg(b_blk)"]
    program = OnTiles(
        stores(texts, uses_w=bool(products)), count=len(texts), dtype=dtype, sums=True
    )
    for text, (simulated, compiled) in zip(texts, program.both(), strict=True):
        finite = np.abs(simulated[np.isfinite(simulated)])
        allowed = 2.0**-6 * finite.max(initial=LEAST_NORMAL)
        assert_same(simulated, compiled, text, np.full(simulated.shape, allowed))


# The signs of NaN and of zeros, where sums, minima, scalers and functions of these meet them.
FLIPPED = "ttl.math.neg(ttl.math.abs(a_blk * 0))"  # -0 and NaN
SIGNS = [
    *(
        f"ttl.math.reduce_{how}({x}, {scaler}dims={d}{options})"
        for how, x, scaler, d, options in (
            ("sum", "ttl.math.neg(a_blk)", "", "[-1]", ""),
            ("sum", "a_blk", "-2, ", "[-1]", ""),
            ("sum", FLIPPED, "", "[-2]", ", exact_f32=True"),
            ("min", FLIPPED, "-0.3, ", "[-2]", ", exact_f32=True"),
            ("max", "a_blk", "-2, ", "[-2, -1]", ""),
            ("mean", FLIPPED, "-2, ", "[-1]", ""),
        )
    ),
    *(f"ttl.math.broadcast(ttl.math.neg(b_blk), dims={d})" for d in DIMS),
    "ttl.math.relu(a_blk + b_blk)",
    "ttl.math.signbit(a_blk - b_blk)",
    "ttl.math.max(a_blk * b_blk, ttl.math.neg(a_blk))",
    "ttl.math.relu(b_blk @ w_blk)",
    "ttl.math.min(ttl.math.reduce_sum(a_blk, dims=[-1]), b_blk)",
    "ttl.math.signbit(ttl.math.log(a_blk))",
    "ttl.math.transpose(ttl.math.neg(a_blk))",
]


def check_signs(dtype: DType, options: str = "") -> None:
    program = OnTiles(
        stores(SIGNS, uses_w=True), count=len(SIGNS), dtype=dtype, options=options, sums=True
    )
    for text, (simulated, compiled) in zip(SIGNS, program.both(), strict=True):
        finite = np.abs(simulated[np.isfinite(simulated)])
        allowed = 2.0**-6 * finite.max(initial=LEAST_NORMAL)
        assert_same(simulated, compiled, text, np.full(simulated.shape, allowed))


def test_signs_of_nan_and_zeros() -> None:
    check_signs(DTYPES[ALWAYS])


@pytest.mark.full
@pytest.mark.parametrize("options", ["", ", fp32_dest_acc_en=True"])
@pytest.mark.parametrize("dtype", [name for name, dtype in DTYPES.items() if dtype.is_float])
def test_signs_of_nan_and_zeros_in_all_floats(dtype: str, options: str) -> None:
    check_signs(DTYPES[dtype], options)


def test_operations_inside_tiles() -> None:
    check_tiles(DTYPES[Random(sample_seed() + 1).choice(list(DTYPES))])


@pytest.mark.full
@pytest.mark.parametrize("dtype", DTYPES)
def test_operations_inside_tiles_of_all_types(dtype: str) -> None:
    check_tiles(DTYPES[dtype])


# Casts --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OfPairs(ShapeProgram):
    def tensors(self) -> list[Any]:
        made = super().tensors()
        made[0] = ttl.from_numpy(pairs(self.dtype)[0], dtype=self.dtype, device=DEVICE)
        return made


def check_casts(dtype: DType) -> None:
    shape = shape_for(dtype)
    results = [(f"ttl.math.typecast(x, ttnn.{to})", shape) for to in DTYPES]
    dtypes = {f"y{i}": to for i, to in enumerate(DTYPES.values())}
    program = OfPairs({"x": shape}, results, dtype, dtypes=dtypes)
    for (text, _), (simulated, compiled) in zip(results, program.both(), strict=True):
        assert_same(simulated, compiled, f"{dtype}: {text}")


def test_casts() -> None:
    check_casts(DTYPES[Random(sample_seed() + 2).choice(list(DTYPES))])


@pytest.mark.full
@pytest.mark.parametrize("dtype", DTYPES)
def test_casts_of_all_types(dtype: str) -> None:
    check_casts(DTYPES[dtype])


# Integers divided by zero -------------------------------------------------------------------------

REPLACED = "ttl.math.where(b_blk == 0, ttl.math.fill(1), b_blk)"


@pytest.mark.parametrize("dtype", ["int32", "uint32", "uint8"])
@pytest.mark.parametrize("sign", ["//", "%"])
def test_integers_divided_by_zero(dtype: str, sign: str) -> None:
    """The same diagnostic on both, also of a quotient inside an expression; its help works."""
    found = []
    for backend in ("sim", "host"):
        program = OnPairs(stores([f"b_blk + a_blk {sign} b_blk"]), dtype=DTYPES[dtype])
        with pytest.raises(KernelFault) as fault:
            program.run(backend)
        found.append(fault.value.diagnostics[0])
    simulated, compiled = found
    assert simulated.code is codes.NO_MEANING
    assert (simulated.code, simulated.message, simulated.helps, simulated.notes) == (
        compiled.code,
        compiled.message,
        compiled.helps,
        compiled.notes,
    )
    spans = [each.primary.span for each in found]
    places = [(each.line, each.column, each.end_line, each.end_column) for each in spans]
    assert places[0] == places[1]
    assert REPLACED.replace("b_blk", "b") in simulated.helps[0]


def test_zeros_that_are_replaced() -> None:
    texts = [f"a_blk // {REPLACED}", f"a_blk % {REPLACED}"]
    program = OnPairs(stores(texts), count=2, dtype=DTYPES["int32"])
    for text, (simulated, compiled) in zip(texts, program.both(), strict=True):
        assert_same(simulated, compiled, text)


@pytest.mark.parametrize(
    "op", [op for op in operations_on(DTYPES["float32"]) if not op.computes], ids=lambda op: op.name
)
def test_what_only_chooses_makes_no_nan(op: BlockOp) -> None:
    """Else the sign of that NaN would be the processor's. (That what chooses keeps the signs it is
    given, test_elementwise_operations sees.)"""
    a, b = (np.where(np.isnan(x), 1, x) for x in pairs(DTYPES["float32"]))
    operands = [a, b, a][: op.operands]
    with np.errstate(all="ignore"):
        found = np.asarray(op.meaning(*operands, **numbers_of(op)))
    assert not np.isnan(found).any()


def test_the_list_has_every_operation() -> None:
    elementwise = {op.name for dtype in DTYPES.values() for op in operations_on(dtype)}
    inside = {
        "reduce_max",
        "reduce_min",
        "reduce_sum",
        "reduce_mean",
        "matmul",
        "transpose",
        "broadcast",
    }
    elsewhere = {"fill", "typecast", "squeeze", "unsqueeze"}
    assert elementwise | inside | elsewhere == set(BLOCK_OPS)
