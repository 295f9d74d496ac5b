"""Operands of different float types, on simulator and executor against a reference of its own.

The reference computes in float64 on what the tensors hold. After each operation a value is rounded
to the format of the DST registers, by way of float32, and once more to the format of the block it
is stored into: all to nearest, ties to even, but to block floats away from zero
(docs/decisions/0005-numerics.md). Products have the digits of a TF32, and their sums may be added
up in any order.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from differential.shape_programs import ShapeProgram
from ttl import ttnn
from ttl.diagnostics import TTLError

Array = np.ndarray[Any, Any]

FLOATS = ("bfloat16", "float16", "float32", "bfloat8_b", "bfloat4_b")
NARROW = ("bfloat16", "bfloat8_b", "bfloat4_b")
PAIRS = [(one, other) for one in FLOATS for other in FLOATS if one != other]
NARROW_PAIRS = [(one, other) for one, other in PAIRS if one in NARROW and other in NARROW]
PLAIN = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16, "float32": np.float32}
SHARED_BITS = {"bfloat8_b": 7, "bfloat4_b": 3}  # of a magnitude, whose exponent 16 elements share
DIGITS = {"bfloat16": 8, "float16": 11, "float32": 24} | SHARED_BITS

BLOCKS = {"a": (2, 3), "b": (2, 3), "w": (3, 2), "c": (2, 2, 3)}
SUMS = {
    "a + b": lambda a, b, to: to(a + b),
    "b * a - b": lambda a, b, to: to(to(b * a) - b),
    "ttl.math.where(a > b, a, b * 3)": lambda a, b, to: np.where(a > b, a, to(b * 3)),
    "ttl.math.min(a, b) + a": lambda a, b, to: to(np.minimum(a, b) + a),
}
PRODUCTS = {
    "a @ w": lambda a, w: (a, w),
    "c @ w": lambda c, w: (c, w),
    "ttl.math.transpose(w) @ w": lambda w: (w.T, w),
}


def rounded(values: Array, name: str) -> Array:
    """The nearest number that the element type has; float64 in and out."""
    single = values.astype(np.float32)
    if name in PLAIN:
        return single.astype(PLAIN[name]).astype(np.float64)
    groups = single.astype(np.float64).reshape(-1, 16)
    largest = np.abs(groups).max(axis=1, keepdims=True)
    step = spacing(largest, name)
    most = 2 ** SHARED_BITS[name] - 1
    steps = np.copysign(np.floor(np.abs(groups / step) + 0.5), groups)
    return (np.clip(steps, -most, most) * step).reshape(values.shape)


def in_source(values: Array, lost: int = 0) -> Array:
    """The 11 digits that the matrix unit has of a number, less those that are lost."""
    step = spacing(values, "float16") * 2.0**lost
    return np.trunc(values / step) * step


def spacing(values: Array, name: str) -> Array:
    """Of the numbers of a type next to these; of block floats the largest of a group counts."""
    exponents = np.floor(np.log2(np.maximum(np.abs(values), 2.0**-14)))
    return 2.0 ** (exponents - DIGITS[name] + 1)


def stored_types(texts: Any, names: tuple[str, ...], start: int) -> dict[str, str]:
    """The results in turn have all types: the packer goes from one format to the next."""
    return {f"y{i}": names[(start + i) % len(names)] for i in range(len(texts))}


def program_of(texts: Any, types: dict[str, str]) -> ShapeProgram:
    shapes = [(2, 3) if text in SUMS else (2, 2) for text in texts]
    shapes = [
        {"c @ w": (2, 2, 2), "ttl.math.transpose(w) @ w": (2, 2)}.get(text, shape)
        for text, shape in zip(texts, shapes, strict=True)
    ]
    dtypes = {name: getattr(ttnn, dtype) for name, dtype in types.items()}
    return ShapeProgram(BLOCKS, list(zip(texts, shapes, strict=True)), ttnn.float32, dtypes=dtypes)


def check_sum(found: Array, text: str, inputs: dict[str, Array], dst: str, out: str) -> None:
    operands = [rounded(inputs[name], dst) for name in "ab"]
    expected = SUMS[text](*operands, lambda values: rounded(values, dst))
    np.testing.assert_array_equal(found, rounded(expected, out), text)


def check_product(found: Array, text: str, inputs: dict[str, Array], out: str) -> None:
    names = [name for name in "acw" if f"{name} @" in text or f"@ {name}" in text]
    left, right = PRODUCTS[text](*(inputs[name] for name in names))
    left, right = in_source(left), in_source(right, lost=1)  # no phase takes the last one
    exact = left @ right
    near = right.shape[-2] * 2.0**-23 * (np.abs(left) @ np.abs(right))
    groups = np.abs(exact).reshape(-1, 16).max(axis=1, keepdims=True)
    largest = groups.repeat(16, axis=1).reshape(exact.shape)
    allowed = near + spacing(largest + near, out)
    assert (np.abs(found - exact) <= allowed).all(), (text, np.abs(found - exact).max())


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_operands_of_two_types(one: str, other: str) -> None:
    texts = [*SUMS, *PRODUCTS]
    outs = stored_types(texts, FLOATS, PAIRS.index((one, other)))
    program = program_of(texts, {"a": one, "c": one, "b": other, "w": other} | outs)
    inputs = {name: np.float64(array) for name, array in program.inputs().items()}
    for backend in ("sim", "host"):
        for (text, out), found in zip(
            zip(texts, outs.values(), strict=True), program.run(backend), strict=True
        ):
            if text in SUMS:
                check_sum(np.float64(found), text, inputs, "float32", out)
            else:
                check_product(np.float64(found), text, inputs, out)


@pytest.mark.parametrize(("one", "other"), NARROW_PAIRS)
def test_in_16_bit_registers(one: str, other: str) -> None:
    outs = stored_types(SUMS, NARROW, NARROW_PAIRS.index((one, other)))
    program = program_of(list(SUMS), {"a": one, "b": other} | outs)
    inputs = {name: np.float64(array) for name, array in program.inputs().items()}
    for backend in ("sim", "host"):
        for (text, out), found in zip(
            zip(SUMS, outs.values(), strict=True), program.run(backend), strict=True
        ):
            check_sum(np.float64(found), text, inputs, "bfloat16", out)


def test_a_wide_operand_in_16_bit_registers_is_rounded_as_it_is_read() -> None:
    types = {"a": "float32", "b": "bfloat8_b", "y0": "bfloat16"}
    made = program_of(["a + b"], types)
    program = ShapeProgram(
        made.blocks, made.results, made.dtype, ", fp32_dest_acc_en=False", dtypes=made.dtypes
    )
    inputs = {name: np.float64(array) for name, array in program.inputs().items()}
    for backend in ("sim", "host"):
        check_sum(np.float64(program.run(backend)[0]), "a + b", inputs, "bfloat16", "bfloat16")


# What loops and branches carry --------------------------------------------------------------------

FLOWS = {
    "a loop that widens a block": """
    t = a
    for i in range(3):
        t = b * t + b
    y0.store(t)
""",
    "a loop that widens a value": """
    t = a - 1
    for i in range(3):
        t = t * b + a
    y0.store(t)
""",
    "a sum from a fill": """
    t = ttl.math.fill(0)
    for i in range(3):
        t += a * b
    y0.store(t)
""",
    "a sum in a block": """
    for i in range(3):
        y0 += a * b
""",
    "a branch": """
    if ttl.node(dims=1) == 0:
        t = a * 2
    else:
        t = b
    y0.store(t - b)
""",
    "a block that is replaced": """
    a += b
    b.store(a * b)
    y0.store(a - b)
    y0.store(y0 + a)
""",
}


@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize(
    ("one", "other", "out"),
    [("bfloat16", "float32", "bfloat16"), ("bfloat16", "bfloat4_b", "bfloat8_b")],
)
def test_values_that_are_carried(flow: str, one: str, other: str, out: str) -> None:
    head = "with a_dfb.wait() as a, b_dfb.wait() as b, y0_dfb.reserve() as y0:"
    dtypes = {"a": getattr(ttnn, one), "b": getattr(ttnn, other), "y0": getattr(ttnn, out)}
    program = ShapeProgram(
        {"a": (2, 3), "b": (2, 3)}, [("", (2, 3))], body=head + FLOWS[flow], dtypes=dtypes
    )
    for simulated, compiled in program.both():
        np.testing.assert_array_equal(compiled, simulated)


@pytest.mark.parametrize("other", ["uint32", "float32"])
def test_integers_agree(other: str) -> None:
    dtypes = {"a": ttnn.int32, "b": getattr(ttnn, other)}
    for backend in ("sim", "host"):
        with pytest.raises(TTLError) as caught:
            ShapeProgram(
                {"a": (1, 1), "b": (1, 1)}, [("a + b", (1, 1))], ttnn.float32, dtypes=dtypes
            ).run(backend)
        assert caught.value.diagnostics[0].code.slug == "dtype-mismatch"


@pytest.mark.parametrize("dtype", ["int32", "uint32", "uint16", "uint8"])
@pytest.mark.parametrize("shape", [(4, 2, 3), (1, 2, 2)])
def test_integer_products(shape: tuple[int, ...], dtype: str) -> None:
    """The chip's matrix unit has floats only."""
    blocks = {"c": shape, "w": (shape[-1], 2)}
    result = [("c @ w", (*shape[:-1], 2))]
    program = ShapeProgram(blocks, result, getattr(ttnn, dtype), values=(0, 9))
    for backend in ("sim", "host"):
        with pytest.raises(TTLError) as caught:
            program.run(backend)
        assert caught.value.diagnostics[0].code.slug == "no-integers"
