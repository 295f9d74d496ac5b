"""Every operation that has a tile column, at block sizes that do and do not fit in DST.

Bit for bit where the op table states no bound (numbers are compared: a zero may have lost its
sign), within the bound elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from conformance.operators_page import API, has_meaning
from differential.compute_programs import ComputeProgram, assert_close, assert_equal, stores
from op_samples import (
    A_VALUES,
    B_VALUES,
    block_of,
    float_text,
    is_defined,
    numbers_of,
    values_of,
    whole_text,
)
from sampling import sample_seed
from ttl import ttnn
from ttl.diagnostics import TTLError
from ttl.semantics.dtypes import DTYPES as ALL_DTYPES
from ttl.semantics.ops import BLOCK_OPS, MATMUL, BlockOp, Domain

# Two shapes in every run, and of the rest a sample that a seed chooses; all of them with --full.
SHAPES = [(2, 2), (3, 7)]
ALL_SHAPES = [(1, 1), (2, 2), (1, 5), (5, 5), (3, 7)]
DTYPES = {"bfloat16": ttnn.bfloat16, "float32": ttnn.float32}
FLOATS = [name for name, dtype in ALL_DTYPES.items() if dtype.is_float]
SAMPLE_SIZE = 4
# The spacing at 1 of the registers' format, and of the block's. Block floats share an exponent.
SPACING = {
    "bfloat16": (2.0**-7, 2.0**-7),
    "float32": (2.0**-23, 2.0**-23),
    "float16": (2.0**-23, 2.0**-10),
    "bfloat8_b": (2.0**-7, 2.0**-6),
    "bfloat4_b": (2.0**-7, 2.0**-2),
}


def compiled_operations() -> list[BlockOp]:
    """On every element; those of shapes and the cast are in test_every_operation.py and, with what
    goes around them, in test_shape_operations.py."""
    ops = [op for op in BLOCK_OPS.values() if op.elementwise and op.tile]
    return [op for op in ops if not any(each.kind.decides_types for each in op.parameters)]


def elsewhere() -> list[BlockOp]:
    """Operations that have no value for the numbers of either block."""
    both = (A_VALUES, B_VALUES)
    return [op for op in compiled_operations() if not any(is_defined(op, each) for each in both)]


def batches() -> list[tuple[BlockOp, ...]]:
    """Many operations a program: what takes time is compiling the C++."""
    ops = [op for op in compiled_operations() if op not in elsewhere()]
    floats = [op for op in ops if op.domain is not Domain.INTEGERS]
    return [tuple(floats[i::2]) for i in range(2)]


def test_every_operation_is_compiled_for_every_type_it_has_a_meaning_for() -> None:
    """But for the product: the chip's matrix unit has floats only."""
    for op in BLOCK_OPS.values():
        for dtype in ALL_DTYPES.values() if op.name != "fill" else ():
            is_there = has_meaning(op, dtype) and (op is not MATMUL or dtype.is_float)
            assert (op.tile[API].of(dtype) is not None) is is_there, (op.name, dtype)


def shape_id(shape: tuple[int, int]) -> str:
    return "x".join(map(str, shape))


def batch_id(batch: tuple[BlockOp, ...]) -> str:
    return f"{batch[0].name}..."


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=shape_id)
@pytest.mark.parametrize("batch", batches(), ids=batch_id)
def test_operations(batch: tuple[BlockOp, ...], shape: tuple[int, int], dtype: str) -> None:
    check_operations(batch, shape, dtype, values=A_VALUES, b_values=B_VALUES)


@pytest.mark.full
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", ALL_SHAPES, ids=shape_id)
@pytest.mark.parametrize("batch", batches(), ids=batch_id)
def test_all_shapes(batch: tuple[BlockOp, ...], shape: tuple[int, int], dtype: str) -> None:
    check_operations(batch, shape, dtype, values=A_VALUES, b_values=B_VALUES)


@pytest.mark.parametrize("number", range(SAMPLE_SIZE))
def test_a_sample_of_operations(number: int) -> None:
    """Of all element types and shapes; the seed stands at the head of the report."""
    random = Random(f"{sample_seed()} {number}")
    dtype, shape = random.choice(list(ALL_DTYPES)), random.choice(ALL_SHAPES)
    if dtype in RANGES:
        check_integers(tuple(random.sample(whole_operations(), 8)), shape, dtype)
        return
    floats = [op for batch in batches() for op in batch]
    ops = tuple(random.sample(floats, 8))
    check_operations(ops, shape, dtype, values=A_VALUES, b_values=B_VALUES)


@pytest.mark.parametrize("op", elsewhere(), ids=lambda op: op.name)
def test_operations_on_other_numbers(op: BlockOp) -> None:
    check_operations((op,), (1, 1), "float32", values=values_of(op))


def check_operations(
    ops: tuple[BlockOp, ...], shape: tuple[int, int], dtype: str, **values: Any
) -> None:
    # After the operations a sum, because all blocks must be read.
    texts = [*(float_text(op) for op in ops), "a_blk + b_blk"]
    program = ComputeProgram(
        stores(texts), shape, count=len(texts), dtype=ALL_DTYPES[dtype], **values
    )
    inputs = dict(zip("ab", program.inputs(), strict=False))
    for op, (simulated, compiled) in zip(ops, program.both(), strict=False):
        if op.bound is None:
            np.testing.assert_array_equal(compiled, simulated, op.name)
            continue
        operands = [inputs["a"], inputs["b"]] if op.operands > 1 else [inputs[block_of(op)]]
        allowed = allowance(op, operands, dtype, simulated)
        assert (np.abs(compiled - simulated) <= allowed).all(), op.name


def allowance(op: BlockOp, operands: list[np.ndarray], dtype: str, result: np.ndarray) -> Any:
    """Each engine may be off by the bound, and then be rounded to the other side."""
    spacing, of_result = SPACING[dtype]
    bound: Callable[..., Any] | None = op.bound
    assert bound is not None
    numbers = {
        name: np.float32(value) if isinstance(value, float) else value
        for name, value in numbers_of(op).items()
    }
    magnitude = np.abs(result)
    if ALL_DTYPES[dtype].is_block_float:
        groups = magnitude.reshape(-1, 16).max(axis=1, keepdims=True)
        magnitude = np.broadcast_to(groups, (len(groups), 16)).reshape(result.shape)
    return 2 * bound(spacing, *operands, **numbers) + of_result * magnitude


# Integers -----------------------------------------------------------------------------------------

RANGES: dict[str, list[tuple[Any, tuple[int, int], tuple[int, int]]]] = {
    # numbers of a, and of b, by which is divided
    "int32": [
        (ttnn.int32, (-(2**31), 2**31), (-999, 0)),
        (ttnn.int32, (-1000, 1000), (1, 99)),
    ],
    "uint32": [
        (ttnn.uint32, (0, 2**32), (1, 2**32)),
        (ttnn.uint32, (2**31, 2**32), (1, 999)),
    ],
    "uint16": [(ttnn.uint16, (0, 2**16), (1, 999)), (ttnn.uint16, (0, 300), (1, 2**16))],
    "uint8": [(ttnn.uint8, (0, 2**8), (1, 2**8))],
}


def whole_operations() -> list[BlockOp]:
    return [op for op in compiled_operations() if op.domain is not Domain.FLOATS]


def whole_batches() -> list[tuple[BlockOp, ...]]:
    return [tuple(whole_operations()[i::3]) for i in range(3)]


@pytest.mark.parametrize("dtype", RANGES)
@pytest.mark.parametrize("shape", [(1, 1), (3, 7)], ids=shape_id)
@pytest.mark.parametrize("batch", whole_batches(), ids=batch_id)
def test_integers(batch: tuple[BlockOp, ...], shape: tuple[int, int], dtype: str) -> None:
    check_integers(batch, shape, dtype)


@pytest.mark.full
@pytest.mark.parametrize("dtype", RANGES)
@pytest.mark.parametrize("shape", [(2, 2), (1, 5), (5, 5)], ids=shape_id)
@pytest.mark.parametrize("batch", whole_batches(), ids=batch_id)
def test_integers_of_all_shapes(
    batch: tuple[BlockOp, ...], shape: tuple[int, int], dtype: str
) -> None:
    check_integers(batch, shape, dtype)


def check_integers(batch: tuple[BlockOp, ...], shape: tuple[int, int], dtype: str) -> None:
    texts = [whole_text(op) for op in batch]
    texts += ["3 - a_blk * 5", "a_blk ** 0 + b_blk"]
    body = stores(texts)
    for element_type, values, b_values in RANGES[dtype]:
        program = ComputeProgram(
            body, shape, 1, len(texts), dtype=element_type, values=values, b_values=b_values
        )
        for text, (simulated, compiled) in zip(texts, program.both(), strict=True):
            np.testing.assert_array_equal(compiled, simulated, text)


CARRIED = """
with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
    total = a_blk - b_blk
    for i in range(4):
        if i > 1:
            total = total * a_blk + 3
        else:
            total = ttl.math.max(total, b_blk) ^ 9
    with y_dfb.reserve() as y_blk:
        for i in range(3):
            y_blk += total // b_blk
    with y_dfb.reserve() as y_blk:
        y_blk.store(total + 1)
        y_blk.store(y_blk * y_blk)
    kept = total % b_blk
with y_dfb.reserve() as y_blk:
    y_blk.store(kept)
"""


@pytest.mark.parametrize("dtype", RANGES)
def test_integers_that_live_on(dtype: str) -> None:
    element_type, values, b_values = RANGES[dtype][0]
    assert_equal(
        ComputeProgram(CARRIED, (3, 3), 1, 3, dtype=element_type, values=values, b_values=b_values)
    )


NOT_NUMBERS = {
    "a_blk + 2.5": ttnn.int32,
    "a_blk * 70000": ttnn.uint16,
    "ttl.math.clamp(a_blk, -1, 5)": ttnn.uint32,
    "ttl.math.threshold(a_blk, 3, 10000000000)": ttnn.int32,
    "a_blk - ttl.math.fill(0.5, shape=(1, 1))": ttnn.int32,
}


@pytest.mark.parametrize("text", NOT_NUMBERS)
def test_numbers_that_an_integer_type_does_not_have(text: str) -> None:
    program = ComputeProgram(stores([f"{text} + b_blk"]), dtype=NOT_NUMBERS[text], values=(1, 9))
    messages = []
    for backend in ("sim", "host"):
        with pytest.raises(TTLError) as caught:
            program.run(backend)
        messages.append(caught.value.diagnostics[0].message)
        assert caught.value.diagnostics[0].code.code == "TTL1003"
    assert messages[0] == messages[1]


MOVES = [
    "ttl.math.transpose(a_blk)",
    "ttl.math.transpose(a_blk * b_blk) + b_blk",
    "ttl.math.broadcast(a_blk, dims=[-1], shape=(1, 1)) - b_blk",
    "ttl.math.broadcast(a_blk + 1, dims=[-2], shape=(1, 1)) - b_blk",
    "ttl.block.squeeze(ttl.block.unsqueeze(a_blk, 0), 0) * b_blk",
]


@pytest.mark.parametrize("dtype", RANGES)
def test_integers_that_are_moved(dtype: str) -> None:
    element_type, values, _ = RANGES[dtype][0]
    assert_equal(
        ComputeProgram(stores(MOVES), (1, 1), 1, len(MOVES), dtype=element_type, values=values)
    )


# Numbers that are not like others -----------------------------------------------------------------

SPECIAL = np.array(
    [0.0, -0.0, 1, -1, 2.5, -2.5, 0.3, 1e-3, -1e-3, 3e38, np.inf, -np.inf, np.nan, 1e-30, -7, 100],
    np.float32,
)
ON_SPECIAL = [
    *(f"a_blk {sign} b_blk" for sign in ("%", "//", "<", "<=", ">", ">=", "==", "!=")),
    "ttl.math.threshold(a_blk, 0.3, 1.7)",
    "ttl.math.where(a_blk, a_blk, b_blk)",
    "ttl.math.where(a_blk >= b_blk, 1 + a_blk, b_blk)",
    "ttl.math.mask(a_blk, b_blk)",
    "ttl.math.mask_posinf(a_blk, b_blk)",
]
INTEGERS_OF_SPECIAL = [
    f"ttl.math.typecast(ttl.math.typecast(a_blk, ttnn.{dtype}), ttnn.{{}}) + 0 * (b_blk > 0)"
    for dtype in ("int32", "uint32", "uint16", "uint8")
]


class SpecialProgram(ComputeProgram):
    """Every number with every other."""

    def arrays(self) -> list[np.ndarray]:
        others = np.repeat(SPECIAL, len(SPECIAL))
        return [np.resize(values, (32, 32)) for values in (SPECIAL, others, SPECIAL)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_zeros_infinities_and_nan(dtype: str) -> None:
    program = SpecialProgram(stores(ON_SPECIAL), count=len(ON_SPECIAL), dtype=DTYPES[dtype])
    for text, (simulated, compiled) in zip(ON_SPECIAL, program.both(), strict=True):
        np.testing.assert_array_equal(compiled, simulated, text)


# b is read, and changes nothing.
BROADCASTS = [
    f"ttl.math.where(b_blk == b_blk, {expanded}, {expanded})"
    for dims in ([-1], [-2], [-1, -2])
    for expanded in [f"ttl.math.broadcast(a_blk, dims={dims}, shape=(1, 1))"]
]


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint32", "uint16"])
def test_broadcasts_where_the_chip_has_none_of_32_bits(dtype: str, monkeypatch) -> None:
    monkeypatch.setenv("TTL_TARGET", "blackhole")
    kind = getattr(ttnn, dtype)
    limits = {"int32": (-(2**31), 2**31), "uint32": (0, 2**32), "uint16": (0, 2**16)}
    program_type = SpecialProgram if kind.is_float else ComputeProgram
    values = limits.get(dtype, (-2.0, 2.0))
    assert_equal(program_type(stores(BROADCASTS), count=3, dtype=kind, values=values))
    if kind.is_float:
        assert_equal(ComputeProgram(stores(BROADCASTS), count=3, dtype=kind, values=(-9e9, 9e9)))
        texts = [text.replace("(a_blk, dims", "(a_blk * b_blk, dims") for text in BROADCASTS]
        assert_equal(ComputeProgram(stores(texts), count=3, out_dtype=kind))


@pytest.mark.parametrize("dtype", DTYPES)
def test_infinities_and_nan_as_integers(dtype: str) -> None:
    """Of NaN the chip would make the largest or the smallest one."""
    texts = [text.format(dtype) for text in INTEGERS_OF_SPECIAL]
    program = SpecialProgram(
        stores(texts), count=4, dtype=DTYPES[dtype], options=", fp32_dest_acc_en=True"
    )
    for text, (simulated, compiled) in zip(texts, program.both(), strict=True):
        np.testing.assert_array_equal(compiled, simulated, text)


# Several formats in one kernel --------------------------------------------------------------------

CASTS = {
    # element types of a and b (one), and of y: expressions
    "bfloat16 to float32": (
        ttnn.bfloat16,
        ttnn.float32,
        [
            "a_blk * b_blk + ttl.math.typecast(a_blk, ttnn.bfloat16)",
            "ttl.math.typecast(a_blk * b_blk, ttnn.bfloat8_b)",
            "ttl.math.typecast(a_blk * b_blk, ttnn.bfloat16)",
            "ttl.math.typecast(ttl.math.typecast(a_blk, ttnn.bfloat4_b), ttnn.bfloat16) - b_blk",
            "ttl.math.typecast(ttl.math.typecast(a_blk * 100, ttnn.int32) % 7, ttnn.float32)",
            "ttl.math.typecast(a_blk * 100, ttnn.uint16) + 7",
        ],
    ),
    "float32 to bfloat16": (
        ttnn.float32,
        ttnn.bfloat16,
        [
            "a_blk + b_blk",
            "ttl.math.typecast(a_blk, ttnn.bfloat16) * ttl.math.typecast(b_blk, ttnn.bfloat16)",
        ],
    ),
    "bfloat8_b to bfloat16": (
        ttnn.bfloat8_b,
        ttnn.bfloat16,
        [
            "a_blk * b_blk",
            "ttl.math.where(a_blk > b_blk, a_blk, -b_blk)",
        ],
    ),
    "bfloat16 to bfloat4_b": (ttnn.bfloat16, ttnn.bfloat4_b, ["a_blk + b_blk"]),
    "bfloat4_b to bfloat8_b": (ttnn.bfloat4_b, ttnn.bfloat8_b, ["a_blk - b_blk"]),
    "float32 to int32": (
        ttnn.float32,
        ttnn.int32,
        [
            "ttl.math.typecast(a_blk * 1000, ttnn.int32) - ttl.math.typecast(b_blk, ttnn.int32)",
            "ttl.math.typecast(ttl.math.typecast(a_blk * 1e6, ttnn.uint16), ttnn.int32)",
            "ttl.math.typecast(ttl.math.typecast(a_blk * 1e9, ttnn.uint32), ttnn.int32)",
            "ttl.math.typecast(ttl.math.typecast(a_blk * 1e9, ttnn.int32), ttnn.int32) * 3",
            "ttl.math.typecast(a_blk * 1e12, ttnn.int32)",
        ],
    ),
    "bfloat16 to uint16": (
        ttnn.bfloat16,
        ttnn.uint16,
        [
            "ttl.math.typecast(a_blk * 1000.5, ttnn.uint16)",
            "ttl.math.typecast(ttl.math.typecast(b_blk * 1e5, ttnn.int32), ttnn.uint16)",
        ],
    ),
    "uint16 to float32": (
        ttnn.uint16,
        ttnn.float32,
        [
            "a_blk - b_blk",
            "ttl.math.typecast(a_blk, ttnn.float32) / 2",
        ],
    ),
    "int32 to bfloat16": (
        ttnn.int32,
        ttnn.bfloat16,
        [
            "a_blk * b_blk",
            "ttl.math.typecast(a_blk, ttnn.bfloat16) + 0.5",
        ],
    ),
    "uint32 to uint16": (
        ttnn.uint32,
        ttnn.uint16,
        [
            "ttl.math.typecast(a_blk * b_blk, ttnn.uint16)",
        ],
    ),
    "uint32 to uint8": (
        ttnn.uint32,
        ttnn.uint8,
        [
            "ttl.math.typecast(a_blk * b_blk, ttnn.uint8)",
            "ttl.math.typecast(ttl.math.typecast(a_blk + b_blk, ttnn.uint16), ttnn.uint8) + 250",
        ],
    ),
    "uint8 to bfloat16": (ttnn.uint8, ttnn.bfloat16, ["a_blk - b_blk"]),
    "float32 to uint8": (
        ttnn.float32,
        ttnn.uint8,
        [
            "ttl.math.typecast(a_blk * 300, ttnn.uint8) * ttl.math.typecast(b_blk, ttnn.uint8)",
        ],
    ),
    "float16 to float32": (
        ttnn.float16,
        ttnn.float32,
        [
            "a_blk * b_blk",
            "ttl.math.typecast(a_blk / b_blk, ttnn.bfloat16)",
        ],
    ),
    "float32 to float16": (ttnn.float32, ttnn.float16, ["a_blk * b_blk", "a_blk * 1e6 + b_blk"]),
    "float16 to float16": (
        ttnn.float16,
        ttnn.float16,
        [
            "a_blk + b_blk",
            "ttl.math.where(a_blk > b_blk, -a_blk, b_blk * 3)",
        ],
    ),
}


@pytest.mark.parametrize("name", CASTS)
def test_formats(name: str) -> None:
    dtype, out_dtype, texts = CASTS[name]
    values = (-4.0, 4.0) if dtype.is_float else (0, 200)
    assert_equal(
        ComputeProgram(
            stores(texts), (2, 3), 1, len(texts), dtype=dtype, out_dtype=out_dtype, values=values
        )
    )


@pytest.mark.parametrize("dtype", ["int32", "uint32"])
@pytest.mark.parametrize("out_dtype", ["bfloat16", "bfloat8_b", "float32", "float16"])
def test_large_integers_are_rounded_once(dtype: str, out_dtype: str) -> None:
    texts = ["a_blk - b_blk", "a_blk // 127"]
    element_type, values, _ = RANGES[dtype][0]
    assert_equal(
        ComputeProgram(
            stores(texts),
            (2, 3),
            1,
            2,
            dtype=element_type,
            out_dtype=getattr(ttnn, out_dtype),
            values=values,
        )
    )


FILLS = [
    "ttl.math.fill(a_blk, 3) * b_blk",
    "ttl.math.fill(1) + ttl.math.fill(0.3)",
    "(ttl.math.square(ttl.math.fill(0.3)) - 2) * a_blk",
    "ttl.math.typecast(ttl.math.fill(1.37), ttnn.float32) * ttl.math.typecast(b_blk, ttnn.float32)",
]


RUN_TIME_NUMBERS = """
with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
    total = ttl.math.fill(0, shape=(ROWS, COLUMNS))
    for i in range(3):
        n = i * 21845 + 7
        with y_dfb.reserve() as y_blk:
            y_blk.store(a_blk * i - b_blk + n)
        with y_dfb.reserve() as y_blk:
            y_blk.store(ttl.math.reduce_max(ttl.math.max(i, a_blk), i + 1, dims=[0, 1])
                        + ttl.math.fill(n) * b_blk)
        total += ttl.math.fill(a_blk, i) * b_blk
    with y_dfb.reserve() as y_blk:
        y_blk.store(total)
"""


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "int32", "uint16"])
def test_numbers_that_are_known_when_the_kernel_runs(dtype: str) -> None:
    whole = dtype in RANGES
    assert_equal(
        ComputeProgram(
            RUN_TIME_NUMBERS,
            count=7,
            dtype=getattr(ttnn, dtype),
            values=(0, 9) if whole else (-2.0, 2.0),
        )
    )


RUN_TIME_FLOATS = """
with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
    for i in range(200):
        x = (i - 100) * 1.37 / (i + 1)
        with y_dfb.reserve() as y_blk:
            y_blk.store(a_blk + b_blk * 0 + ttl.math.fill(x))
"""


@pytest.mark.parametrize("dtype", DTYPES)
def test_floats_that_are_known_when_the_kernel_runs(dtype: str) -> None:
    assert_equal(ComputeProgram(RUN_TIME_FLOATS, count=200, dtype=DTYPES[dtype]))


def test_a_float_is_no_integer_when_the_kernel_runs() -> None:
    body = RUN_TIME_FLOATS.replace("a_blk +", "ttl.math.typecast(a_blk, ttnn.int32) +")
    with pytest.raises(TTLError) as caught:
        ComputeProgram(body, count=200, dtype=ttnn.int32, values=(0, 9)).run("host")
    assert caught.value.diagnostics[0].code.code == "TTL1003"
    assert "is not a number of int32" in caught.value.diagnostics[0].message


@pytest.mark.parametrize("dtype", DTYPES)
def test_fills(dtype: str) -> None:
    assert_equal(ComputeProgram(stores(FILLS), (2, 2), 1, len(FILLS), dtype=DTYPES[dtype]))


PRODUCTS = [
    "a_blk @ w_blk",
    "a_blk @ w_blk * b_blk",
    "b_blk - a_blk @ w_blk",
    "ttl.math.tanh(a_blk @ w_blk)",
    "a_blk @ w_blk + b_blk @ w_blk",
    "ttl.math.relu(a_blk @ w_blk + b_blk)",
    "a_blk @ w_blk + ttl.math.exp(b_blk)",
    "(a_blk @ w_blk) * 0.5 - b_blk",
    "(a_blk + b_blk) @ w_blk",
    "(a_blk @ w_blk) @ (w_blk * w_blk)",
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
def test_products_with_epilogues(shape: tuple[int, int], dtype: str) -> None:
    body = stores(PRODUCTS, uses_w=True)
    tolerance = {"bfloat16": 2.0**-7, "float32": 2.0**-15}[dtype]
    program = ComputeProgram(body, shape, count=len(PRODUCTS), dtype=DTYPES[dtype])
    assert_close(program, tolerance)


def test_a_product_in_16_bit_registers() -> None:
    body = stores(["a_blk @ w_blk + b_blk"], uses_w=True)
    options = ", fp32_dest_acc_en=False"
    assert_close(ComputeProgram(body, (3, 3), options=options), 2.0**-7)


# More values at once than there are registers.
DEEP = "\n".join(
    [
        "with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:",
        *(f"    x{i} = ttl.math.relu(a_blk * {i + 1} - b_blk)" for i in range(12)),
        *(f"    z{i} = ttl.math.max(x{i}, x{(i * 5 + 3) % 12}) - x{11 - i}" for i in range(12)),
        "    with y_dfb.reserve() as y_blk:",
        f"        y_blk.store({' + '.join(f'z{i} * x{(i * 7) % 12}' for i in range(12))})",
    ]
)


@pytest.mark.parametrize("dtype", DTYPES)
def test_more_values_than_registers(dtype: str) -> None:
    assert_equal(ComputeProgram(DEEP, (3, 3), dtype=DTYPES[dtype]))
