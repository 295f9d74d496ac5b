"""Every elementwise operation on numbers worked out by hand."""

from __future__ import annotations

from math import e, inf, log, nan, pi, sqrt

import ml_dtypes
import numpy as np
import pytest

import ttl
from block_runs import run_numbers
from language_names import specified_operations
from ttl import ttnn
from ttl.semantics.ops import BLOCK_OPS

m = ttl.math

# name: (expression, operands, result); every result is that of exact arithmetic, to float32
EXACT = {
    "add": (lambda a, b: a + b, [1.5, inf, inf, -0.0], [2, 1, -inf, -0.0], [3.5, inf, nan, -0.0]),
    "sub": (lambda a, b: a - b, [1.5, inf, 0], [2, inf, 0.0], [-0.5, nan, 0]),
    "mul": (lambda a, b: a * b, [1.5, 0, -2], [2, inf, 0.0], [3, nan, -0.0]),
    "div": (lambda a, b: a / b, [1, 1, -1, 0, 6], [2, 0, 0, 0, -3], [0.5, inf, -inf, nan, -2]),
    "mod": (
        lambda a, b: a % b,
        [5, -5, 5, -5, 5.5, -4, 1, -5, 5],
        [3, 3, -3, -3, 2, 2, 0, inf, inf],
        [2, 1, -1, -2, 1.5, -0.0, nan, inf, 5],
    ),
    "floordiv": (
        lambda a, b: a // b,
        [5, -5, 5, 5.5, 1, -1, 0, -5],
        [3, 3, -3, 2, 0, 0, 0, inf],
        [1, -2, -2, 2, inf, -inf, nan, -1],
    ),
    "max": (m.max, [1, -1, nan, 1, -nan, 0.0], [2, -2, 1, nan, 1, -0.0], [2, -1, nan, nan, 1, 0.0]),
    "min": (m.min, [1, -1, nan, 1, -nan, 0.0], [2, -2, 1, nan, 1, -0.0], [1, -2, 1, 1, nan, -0.0]),
    "rsub": (m.rsub, [1, 2], [5, 0.5], [4, -1.5]),
    "lt": (lambda a, b: a < b, [1, 2, 3, nan, 0.0], [2, 2, 2, 1, -0.0], [1, 0, 0, 0, 0]),
    "le": (lambda a, b: a <= b, [1, 2, 3, nan, 0.0], [2, 2, 2, nan, -0.0], [1, 1, 0, 0, 1]),
    "gt": (lambda a, b: a > b, [1, 2, 3, nan, inf], [2, 2, 2, 1, 1], [0, 0, 1, 0, 1]),
    "ge": (lambda a, b: a >= b, [1, 2, 3, nan], [2, 2, 2, nan], [0, 1, 1, 0]),
    "eq": (lambda a, b: a == b, [1, 2, nan, 0.0], [2, 2, nan, -0.0], [0, 1, 0, 1]),
    "ne": (lambda a, b: a != b, [1, 2, nan, 0.0], [2, 2, nan, -0.0], [1, 0, 1, 0]),
    "abs": (m.abs, [-1.5, 2, -0.0, -inf, nan], [1.5, 2, 0.0, inf, nan]),
    "neg": (m.neg, [1.5, -2, 0.0, -0.0, inf], [-1.5, 2, -0.0, 0.0, -inf]),
    "pow": (lambda x: m.pow(x, 3), [2, -2, 0.5, -0.0, nan], [8, -8, 0.125, -0.0, nan]),
    "sqrt": (m.sqrt, [4, 0.25, -1, inf], [2, 0.5, nan, inf]),
    "square": (m.square, [3, -0.5, -inf], [9, 0.25, inf]),
    "rsqrt": (m.rsqrt, [4, 0.25, 0, inf, -1], [0.5, 2, inf, 0, nan]),
    "recip": (m.recip, [4, -0.5, 0.0, -0.0, inf], [0.25, -2, inf, -inf, 0]),
    "exp2": (m.exp2, [3, -1, -inf], [8, 0.5, 0]),
    "typecast": (
        lambda x: m.typecast(m.typecast(x, ttnn.int32), ttnn.float32),
        [1.9, -1.9, 2.5, nan, 1e20],
        [1, -1, 2, 0, 2147483647],
    ),
    "relu": (m.relu, [1.5, -1.5, nan, -nan, -inf, -0.0], [1.5, 0, nan, 0, 0, 0.0]),
    "relu_max": (lambda x: m.relu_max(x, 6), [7, 5, -1, -0.0, nan], [6, 5, 0, 0.0, 6]),
    "relu_min": (lambda x: m.relu_min(x, 2), [7, 1, -1], [7, 2, 2]),
    "leaky_relu": (lambda x: m.leaky_relu(x, 0.5), [3, -3, nan], [3, -1.5, nan]),
    "prelu": (lambda x: m.prelu(x, 0.25), [3, -4], [3, -1]),
    "softsign": (m.softsign, [3, -1, 0], [0.75, -0.5, 0]),
    "hardsigmoid": (m.hardsigmoid, [-4, -3, 0, 1.5, 3, 4], [0, 0, 0.5, 0.75, 1, 1]),
    "hardtanh": (lambda x: m.hardtanh(x, -2, 1), [-3, -1, 3, nan, -nan], [-2, -1, 1, 1, -2]),
    "frac": (m.frac, [1.75, -1.75, 2, inf], [0.75, -0.75, 0, nan]),
    "trunc": (m.trunc, [1.75, -1.75, -0.5], [1, -1, -0.0]),
    "round": (m.round, [0.5, 1.5, 2.5, -0.5, -1.5, 2.4], [0, 2, 2, 0.0, -2, 2]),
    "floor": (m.floor, [1.75, -1.25, 2], [1, -2, 2]),
    "ceil": (m.ceil, [1.25, -1.75, 2], [2, -1, 2]),
    "clamp": (lambda x: m.clamp(x, -1, 2), [-5, 0.5, 5, nan, -nan], [-1, 0.5, 2, 2, -1]),
    "threshold": (lambda x: m.threshold(x, 2, 9), [1, 2, 2.5, -7, nan], [1, 2, 9, -7, nan]),
    "sign": (m.sign, [3, -0.5, 0, -0.0, nan, -nan], [1, -1, 0, 0.0, 1, -1]),
    "signbit": (m.signbit, [3, 0.0, -0.0, -2, nan, -nan, inf], [1, 1, 0, 0, 1, 0, 1]),
    "logical_not": (m.logical_not, [0.0, -0.0, 3, -1, nan, inf], [1, 1, 0, 0, 0, 0]),
    "logical_and": (m.logical_and, [1, 0, -0.0, nan, 0], [2, 1, 3, -1, 0], [1, 0, 0, 1, 0]),
    "logical_or": (m.logical_or, [1, 0, -0.0, nan, -0.0], [2, 1, 0, 0, 0], [1, 1, 0, 1, 0]),
    "heaviside": (lambda x: m.heaviside(x, 0.5), [-2, -0.0, 0.0, 7, nan], [0, 0.5, 0.5, 1, 1]),
    "mask": (m.mask, [1, nan, inf, 4, 5], [1, 1, 1, 0, 0], [0, 0, 0, 4, 5]),
    "mask_posinf": (m.mask_posinf, [1, 2], [1, 0], [inf, 2]),
    "where": (m.where, [1, 0, 1], [1, 2, nan], [7, 8, 9], [1, 8, nan]),
}
# name: the same, to a few units in the last place
CLOSE = {
    "exp": (m.exp, [0, 1, -inf], [1, e, 0]),
    "expm1": (m.expm1, [0, 1, 1e-6], [0, e - 1, 1e-6 + 5e-13]),
    "log": (m.log, [1, e, 0, -1], [0, 1, -inf, nan]),
    "logp1": (m.logp1, [0, 1, 1e-6], [0, log(2), 1e-6 - 5e-13]),
    "log1p": (m.log1p, [0, 1, -1, 1e-6], [0, log(2), -inf, 1e-6 - 5e-13]),
    "cbrt": (m.cbrt, [27, -8, 0, 0.125], [3, -2, 0, 0.5]),
    "sinh": (m.sinh, [0, log(2), -log(2), 100], [0, 0.75, -0.75, inf]),
    "cosh": (m.cosh, [0, log(2), -log(3), 100], [1, 1.25, 5 / 3, inf]),
    "erf": (m.erf, [0, 1, -1, 9], [0, 0.8427008, -0.8427008, 1]),
    "mish": (m.mish, [0, log(sqrt(2) - 1), 90], [0, log(sqrt(2) - 1) / 3, 90]),
    "tan": (m.tan, [0, pi / 4], [0, 1]),
    "tanh": (m.tanh, [0, inf, log(3) / 2], [0, 1, 0.5]),
    "atan": (m.atan, [1, -inf], [pi / 4, -pi / 2]),
    "atanh": (m.atanh, [0.5, 1], [log(3) / 2, inf]),
    "sin": (m.sin, [0, pi / 6, -pi / 2], [0, 0.5, -1]),
    "asin": (m.asin, [0.5, -1, 2], [pi / 6, -pi / 2, nan]),
    "asinh": (m.asinh, [0.75], [log(2)]),
    "cos": (m.cos, [0, pi / 3], [1, 0.5]),
    "acos": (m.acos, [1, 0.5, -1], [0, pi / 3, pi]),
    "acosh": (m.acosh, [1, 1.25], [0, log(2)]),
    "elu": (lambda x: m.elu(x, 2), [3, -1, -inf], [3, 2 * (1 / e - 1), -2]),
    "gelu": (m.gelu, [0, 1, -1, -6], [0, 0.8413447, -0.1586553, -5.9195e-9]),
    "sigmoid": (m.sigmoid, [0, log(3), -inf, 200], [0.5, 0.75, 0, 1]),
    "celu": (lambda x: m.celu(x, 2, 0.5), [3, -2], [3, 2 * (1 / e - 1)]),
    "silu": (m.silu, [0, log(3)], [0, 0.75 * log(3)]),
    "softplus": (
        lambda x: m.softplus(x, 2, 0.5, 20),
        [0, 10, 10.5, 100, -100],
        [log(2) / 2, 10, 10.5, 100, 0],
    ),
    "selu": (lambda x: m.selu(x, 2, 3), [1, -1], [2, 6 * (1 / e - 1)]),
}
INTEGERS = {
    "add": (lambda a, b: a + b, [2147483647, 1], [1, -3], [-2147483648, -2]),
    "sub": (lambda a, b: a - b, [-2147483648], [1], [2147483647]),
    "mul": (lambda a, b: a * b, [65536, 7], [65536, -3], [0, -21]),
    "mod": (lambda a, b: a % b, [7, -7, 7, -7], [3, 3, -3, -3], [1, 2, -2, -1]),
    "floordiv": (lambda a, b: a // b, [7, -7, 7], [2, 2, -2], [3, -4, -4]),
    "xor": (lambda a, b: a ^ b, [12, -1], [10, 1], [6, -2]),
    "xor with a number": (lambda a: 12 ^ a, [10], [6]),
    "max": (m.max, [1, -5], [2, -7], [2, -5]),
    "lt": (lambda a, b: a < b, [1, 2], [2, 2], [1, 0]),
    "neg": (lambda a: -a, [5, -2147483648], [-5, -2147483648]),
    "abs": (abs, [-5], [5]),
    "pow": (lambda a: a**3, [-3, 2000], [-27, 8_000_000_000]),
    "clamp": (lambda a: m.clamp(a, -2, 2), [-5, 1, 5], [-2, 1, 2]),
    "relu_max": (lambda a: m.relu_max(a, 6), [7, -1], [6, 0]),
    "signbit": (m.signbit, [3, 0, -3], [1, 1, 0]),
    "logical_not": (m.logical_not, [3, 0, -3], [0, 1, 0]),
    "logical_and": (m.logical_and, [3, 0, -3], [256, 1, 0], [1, 0, 0]),
    "logical_or": (m.logical_or, [3, 0, 0], [0, -256, 0], [1, 1, 0]),
    "a number, exactly": (lambda a: a + 16777217, [0], [16777217]),
    "a fill, exactly": (lambda a: a + m.fill(16777217), [0], [16777217]),
    "where": (m.where, [1, 0], [2, 3], [4, 5], [2, 5]),
}


def same_numbers(found: np.ndarray, expected: list[float]) -> None:
    """Numbers, NaN and the signs of zeros."""
    wanted = np.array(expected, np.float32)
    np.testing.assert_array_equal(found, wanted)
    zeros = wanted == 0
    np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(wanted[zeros]))


@pytest.mark.parametrize("name", EXACT)
def test_exact(name: str) -> None:
    expression, *operands, expected = EXACT[name]
    same_numbers(run_numbers(expression, *operands), expected)


@pytest.mark.parametrize("name", CLOSE)
def test_close(name: str) -> None:
    expression, *operands, expected = CLOSE[name]
    found = run_numbers(expression, *operands)
    near = 2e-6 if name not in ("gelu", "sin", "cos", "tan", "acosh") else 2e-4
    np.testing.assert_allclose(found, expected, rtol=near, atol=1e-12 if name == "gelu" else 2e-7)


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name: str) -> None:
    expression, *operands, expected = INTEGERS[name]
    wrapped = np.array(expected, np.int64).astype(np.int32)
    np.testing.assert_array_equal(run_numbers(expression, *operands, dtype=ttnn.int32), wrapped)


def test_every_elementwise_operation_of_the_language_is_here() -> None:
    elsewhere = {"xor", "fill", "squeeze", "unsqueeze"}
    elementwise = {name for name in specified_operations() if BLOCK_OPS[name].elementwise}
    assert elementwise - elsewhere == EXACT.keys() | CLOSE.keys()


SCALARS = {
    "number right": (lambda a: a * 2, [3], [6]),
    "number left": (lambda a: 2 * a, [3], [6]),
    "from": (lambda a: 10 - a, [3], [7]),
    "under": (lambda a: 1 / a, [4], [0.25]),
    "modulo": (lambda a: 7 % a, [4], [3]),
    "floor": (lambda a: 7 // a, [2], [3]),
    "plus": (lambda a: 1 + a, [2], [3]),
    "compared right": (lambda a: a > 2, [2, 3], [0, 1]),
    "compared left": (lambda a: 2 < a, [2, 3], [0, 1]),  # noqa: SIM300
    "equal left": (lambda a: 2 == a, [2, 3], [1, 0]),  # noqa: SIM300
    "not equal": (lambda a: a != 2, [2, 3], [0, 1]),
    "max": (lambda a: m.max(a, 2), [1, 3], [2, 3]),
    "min left": (lambda a: m.min(2, a), [1, 3], [1, 2]),
    "function": (lambda a: m.ge(a, 2), [1, 2], [0, 1]),
    "rsub": (lambda a: m.rsub(a, 10), [3], [7]),
    "power": (lambda a: a**2, [3], [9]),
    "power of zero": (lambda a: a**0, [nan, 3], [1, 1]),
    "minus": (lambda a: -a, [3], [-3]),
    "abs": (abs, [-3], [3]),
    "by keyword": (lambda a: m.clamp(a, max=2, min=1), [0, 3], [1, 2]),
    "two decimals": (lambda a: m.round(a, 2), [1.125, 0.375], [1.12, 0.38]),
    "not quite a half": (lambda a: m.round(a, decimals=1), [0.35], [0.3]),  # 0.34999999
    "tens": (lambda a: m.round(a, -1), [25, 35, 14], [20, 40, 10]),
    "large": (lambda a: m.round(a, 30), [1e38, -1e38, 1e7], [inf, -inf, 1e7]),
    "too many": (lambda a: m.round(a, 60), [1.0, inf], [nan, nan]),
}


@pytest.mark.parametrize("name", SCALARS)
def test_numbers_beside_blocks(name: str) -> None:
    expression, operand, expected = SCALARS[name]
    same_numbers(run_numbers(expression, operand), expected)


def bf16(value: float) -> float:
    return float(np.float32(value).astype(ml_dtypes.bfloat16))


def test_numbers_and_fills_are_values_in_the_format_of_dst() -> None:
    """0.3 has no exact bfloat16, and three times the nearest one is not 0.9."""
    number = run_numbers(lambda a: a * 0.3, [3], dtype=ttnn.bfloat16)
    fill = run_numbers(lambda a: a * m.fill(0.3), [3], dtype=ttnn.bfloat16)
    assert float(number[0]) == float(fill[0]) == bf16(3 * bf16(0.3)) != bf16(0.9)
    wide = run_numbers(lambda a: a * 0.3, [3], dtype=ttnn.bfloat16, fp32=True)
    assert float(wide[0]) == bf16(0.9)


def test_each_operation_rounds_to_dst() -> None:
    """256 + 1 is 256 in bfloat16, so adding twice differs from adding once."""
    twice = run_numbers(lambda a: a + 1 + 1, [256], dtype=ttnn.bfloat16)
    once = run_numbers(lambda a: a + 2, [256], dtype=ttnn.bfloat16)
    wide = run_numbers(lambda a: a + 1 + 1, [256], dtype=ttnn.bfloat16, fp32=True)
    assert [float(x[0]) for x in (twice, once, wide)] == [256, 258, 258]


def test_gelu_keeps_its_digits_far_below_zero() -> None:
    (found,) = run_numbers(m.gelu, [-5])
    assert found == pytest.approx(-5 * 2.866515719e-7, rel=1e-6)


def test_typecast() -> None:
    rounded = run_numbers(
        lambda x: m.typecast(x, ttnn.bfloat16),
        [1.00390625, sqrt(2)],
        out_dtype=ttnn.float32,
        fp32=True,
    )
    np.testing.assert_array_equal(rounded, [1.0, bf16(sqrt(2))])
    whole = run_numbers(lambda x: m.typecast(x, ttnn.int32), [1.9, -1.9], out_dtype=ttnn.int32)
    np.testing.assert_array_equal(whole, [1, -1])
    small = run_numbers(lambda x: m.typecast(x, ttnn.uint8), [1.9, 300, -1], out_dtype=ttnn.uint8)
    np.testing.assert_array_equal(small, [1, 255, 0])


def test_an_integer_becomes_a_float_when_it_is_stored() -> None:
    found = run_numbers(lambda x: x + 1, [2, -3], dtype=ttnn.int32, out_dtype=ttnn.float32)
    np.testing.assert_array_equal(found, [3, -2])


def test_a_fill_of_a_block_float() -> None:
    found = run_numbers(lambda x: m.typecast(x * 0 + 3, ttnn.bfloat8_b), [1.0])
    assert found[0] == 3
