"""Elementwise operators and functions against numpy, in f32 and on integers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ttl
from conformance.harness import evaluate, refused_expression, small
from ttl import ttnn

RNG = np.random.default_rng(3)
ANY = RNG.uniform(-4, 4, (32, 32)).astype(np.float32)
OTHER = RNG.uniform(0.5, 4, (32, 32)).astype(np.float32)
POSITIVE = RNG.uniform(0.1, 9, (32, 32)).astype(np.float32)
UNIT = RNG.uniform(-0.95, 0.95, (32, 32)).astype(np.float32)
ABOVE_ONE = RNG.uniform(1, 9, (32, 32)).astype(np.float32)
MANY = np.concatenate([ANY.ravel()[:900], np.arange(-62, 62) / 4]).astype(np.float32)
MANY = MANY.reshape(32, 32)
INTEGERS = RNG.integers(1, 100, (32, 32))
NEGATIVE_TOO = RNG.integers(-100, 100, (32, 32))


def close(found, expected):
    assert np.allclose(found, expected, rtol=2e-6, atol=1e-6, equal_nan=True)


def erf(x):
    return np.vectorize(math.erf)(x)


# Binary -------------------------------------------------------------------------------------------

BINARY = {
    "+": (lambda a, b: a + b, np.add),
    "-": (lambda a, b: a - b, np.subtract),
    "*": (lambda a, b: a * b, np.multiply),
    "/": (lambda a, b: a / b, np.divide),
    "%": (lambda a, b: a % b, np.mod),
    "//": (lambda a, b: a // b, np.floor_divide),
    "max": (ttl.math.max, np.maximum),
    "min": (ttl.math.min, np.minimum),
    "rsub": (ttl.math.rsub, lambda a, b: b - a),
}


@pytest.mark.rule("binary-operators")
@pytest.mark.parametrize("name", BINARY)
def test_binary_operators(name):
    ours, theirs = BINARY[name]
    close(evaluate(ours, ANY, OTHER), theirs(ANY, OTHER))


@pytest.mark.rule("scalar-operands")
@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("number", [3, 2.5])
def test_a_number_on_either_side(name, number):
    ours, theirs = BINARY[name]
    close(evaluate(lambda a: ours(a, number), OTHER), theirs(OTHER, np.float32(number)))
    close(evaluate(lambda a: ours(number, a), OTHER), theirs(np.float32(number), OTHER))


@pytest.mark.rule("scalar-operands")
def test_loop_variables_are_scalars():
    value = evaluate(lambda a: sum((a * i for i in range(1, 4)), start=a * 0), small(32, 32))
    assert np.array_equal(value, small(32, 32) * 6)


INTEGER_BINARY = {
    "+": (lambda a, b: a + b, np.add),
    "-": (lambda a, b: a - b, np.subtract),
    "*": (lambda a, b: a * b, np.multiply),
    "%": (lambda a, b: a % b, np.remainder),
    "//": (lambda a, b: a // b, np.floor_divide),
    "^": (lambda a, b: a ^ b, np.bitwise_xor),
    "max": (ttl.math.max, np.maximum),
}


@pytest.mark.rule("binary-operators", "xor")
@pytest.mark.parametrize("dtype", ["int32", "uint32", "uint16", "uint8"])
@pytest.mark.parametrize("name", INTEGER_BINARY)
def test_integer_operators_wrap_around(name, dtype):
    ours, theirs = INTEGER_BINARY[name]
    a, b = INTEGERS, INTEGERS[::-1]
    expected = theirs(a, b).astype(dtype)
    assert np.array_equal(evaluate(ours, a, b, dtype=getattr(ttnn, dtype)), expected)


@pytest.mark.rule("xor")
def test_xor_takes_a_number_and_refuses_floats():
    value = evaluate(lambda a: 5 ^ (a ^ 12), INTEGERS, dtype=ttnn.int32)
    assert np.array_equal(value, INTEGERS ^ 12 ^ 5)
    refused_expression(lambda a, b: a ^ b, ANY, OTHER, slug="no-meaning")


@pytest.mark.rule("remainder-and-floor")
def test_remainder_has_the_sign_of_the_divisor_and_floor_rounds_down():
    a = np.tile(np.array([7, -7, 7, -7, 6, -6, 0, 0], np.float32), (32, 4))
    b = np.tile(np.array([3, 3, -3, -3, 3, 3, 3, -3], np.float32), (32, 4))
    remainder, floor = [1, 2, -2, -1, 0, 0, 0, 0], [2, -3, -3, 2, 2, -2, 0, 0]
    assert evaluate(lambda a, b: a % b, a, b)[0, :8].tolist() == remainder
    assert evaluate(lambda a, b: a // b, a, b)[0, :8].tolist() == floor
    options = {"dtype": ttnn.int32}
    assert evaluate(lambda a, b: a % b, a, b, **options)[0, :8].tolist() == remainder
    assert evaluate(lambda a, b: a // b, a, b, **options)[0, :8].tolist() == floor


@pytest.mark.rule("integer-division")
@pytest.mark.parametrize("dtype", ["int32", "uint32", "uint16", "uint8"])
def test_an_integer_divided_by_an_integer_is_an_error(dtype):
    options = {"dtype": getattr(ttnn, dtype), "slug": "no-meaning"}
    refused_expression(lambda a, b: a / b, INTEGERS, INTEGERS, **options)
    refused_expression(lambda a: a / 2, INTEGERS, **options)


# Comparisons --------------------------------------------------------------------------------------

COMPARE = {
    "lt": (lambda a, b: a < b, np.less),
    "le": (lambda a, b: a <= b, np.less_equal),
    "gt": (lambda a, b: a > b, np.greater),
    "ge": (lambda a, b: a >= b, np.greater_equal),
    "eq": (lambda a, b: a == b, np.equal),
    "ne": (lambda a, b: a != b, np.not_equal),
}


@pytest.mark.rule("comparisons", "compare-functions")
@pytest.mark.parametrize("name", COMPARE)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
def test_comparisons_give_one_or_zero_in_the_type_of_the_operands(name, dtype):
    ours, theirs = COMPARE[name]
    a, b = small(32, 32), small(32, 32)[:, ::-1]
    options = {"dtype": getattr(ttnn, dtype)}
    expected = theirs(a, b).astype(np.float32)
    assert np.array_equal(evaluate(ours, a, b, **options).astype(np.float32), expected)
    function = getattr(ttl.math, name)
    assert np.array_equal(evaluate(function, a, b, **options).astype(np.float32), expected)
    with_number = evaluate(lambda a: ours(a, 2), a, **options).astype(np.float32)
    assert np.array_equal(with_number, theirs(a, 2).astype(np.float32))


@pytest.mark.rule("nan-comparisons")
@pytest.mark.parametrize("name", COMPARE)
def test_comparisons_with_nan_are_false_except_not_equal(name):
    ours, _ = COMPARE[name]
    nan = np.full((32, 32), np.nan, np.float32)
    assert (evaluate(ours, nan, ANY) == (name == "ne")).all()
    assert (evaluate(ours, ANY, nan) == (name == "ne")).all()


LOGICAL = {
    "logical_not": (ttl.math.logical_not, lambda a, b: a == 0),
    "logical_and": (ttl.math.logical_and, np.logical_and),
    "logical_or": (ttl.math.logical_or, np.logical_or),
}


@pytest.mark.rule("logical-functions")
@pytest.mark.parametrize("name", LOGICAL)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "uint16"])
def test_logical_functions_give_one_or_zero(name, dtype):
    ours, theirs = LOGICAL[name]
    a, b = np.arange(1024).reshape(32, 32) % 2 * 5.0, np.arange(1024).reshape(32, 32) % 3 * 256.0
    blocks = (a,) if name == "logical_not" else (a, b)
    found = evaluate(ours, *blocks, dtype=getattr(ttnn, dtype))
    assert np.array_equal(found.astype(np.float32), theirs(a, b).astype(np.float32))


@pytest.mark.rule("logical-functions")
def test_what_is_not_zero_is_true():
    values = first_row([np.nan, -0.0, 0.0, -1e-30, np.inf])
    assert evaluate(ttl.math.logical_not, values)[0, :5].tolist() == [0, 1, 1, 0, 0]
    both = evaluate(lambda x: ttl.math.logical_and(x, 1), values)
    assert both[0, :5].tolist() == [1, 0, 0, 1, 1]
    either = evaluate(lambda x: ttl.math.logical_or(0, x), values)
    assert either[0, :5].tolist() == [1, 0, 0, 1, 1]


# Functions of one block ---------------------------------------------------------------------------

UNARY = {
    "-a": (lambda x: -x, np.negative, ANY),
    "abs(a)": (abs, np.abs, ANY),
    "a ** n": (lambda x: x**3, lambda x: np.float64(x) ** 3, ANY),
    "a ** 0": (lambda x: x**0, np.ones_like, ANY),
    "abs": (ttl.math.abs, np.abs, ANY),
    "neg": (ttl.math.neg, np.negative, ANY),
    "pow": (lambda x: ttl.math.pow(x, 4), lambda x: np.float64(x) ** 4, ANY),
    "exp": (ttl.math.exp, np.exp, ANY),
    "exp2": (ttl.math.exp2, np.exp2, ANY),
    "expm1": (ttl.math.expm1, np.expm1, ANY),
    "log": (ttl.math.log, np.log, POSITIVE),
    "logp1": (ttl.math.logp1, np.log1p, POSITIVE),
    "log1p": (ttl.math.log1p, np.log1p, POSITIVE),
    "cbrt": (ttl.math.cbrt, np.cbrt, ANY),
    "erf": (ttl.math.erf, erf, ANY),
    "sqrt": (ttl.math.sqrt, np.sqrt, POSITIVE),
    "square": (ttl.math.square, np.square, ANY),
    "rsqrt": (ttl.math.rsqrt, lambda x: 1 / np.sqrt(x), POSITIVE),
    "recip": (ttl.math.recip, lambda x: 1 / x, POSITIVE),
}
TRIGONOMETRIC = {
    "tan": (np.tan, ANY),
    "tanh": (np.tanh, ANY),
    "atan": (np.arctan, ANY),
    "atanh": (np.arctanh, UNIT),
    "sin": (np.sin, ANY),
    "asin": (np.arcsin, UNIT),
    "asinh": (np.arcsinh, ANY),
    "cos": (np.cos, ANY),
    "acos": (np.arccos, UNIT),
    "acosh": (np.arccosh, ABOVE_ONE),
    "sinh": (np.sinh, ANY),
    "cosh": (np.cosh, ANY),
}


@pytest.mark.rule("unary-functions")
@pytest.mark.parametrize("name", UNARY)
def test_unary_functions(name):
    ours, theirs, x = UNARY[name]
    close(evaluate(ours, x), theirs(np.float64(x)))


@pytest.mark.rule("unary-functions")
@pytest.mark.parametrize("n", [-1, 0.5, "2"])
def test_the_exponent_is_a_natural_number(n):
    refused_expression(lambda x: x**n, ANY, slug="wrong-argument")


@pytest.mark.rule("trigonometric-functions")
@pytest.mark.parametrize("name", TRIGONOMETRIC)
def test_trigonometric_functions(name):
    theirs, x = TRIGONOMETRIC[name]
    close(evaluate(getattr(ttl.math, name), x), theirs(np.float64(x)))


def where_negative(x, negative):
    return np.where(x < 0, negative, x)


ACTIVATIONS = {
    "relu": ((), lambda x: np.maximum(x, 0)),
    "relu_max": ((1.5,), lambda x, upper: np.maximum(np.minimum(x, upper), 0)),
    "relu_min": ((1.5,), lambda x, lower: np.maximum(np.maximum(x, lower), 0)),
    "leaky_relu": ((0.25,), lambda x, slope: where_negative(x, x * slope)),
    "elu": ((1.5,), lambda x, slope: where_negative(x, slope * (np.exp(x) - 1))),
    "gelu": ((), lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2)))),
    "sigmoid": ((), lambda x: 1 / (1 + np.exp(-x))),
    "celu": (
        (2.0, 0.5),
        lambda x, alpha, recip: np.maximum(x, 0) + np.minimum(0, alpha * (np.exp(x * recip) - 1)),
    ),
    "silu": ((), lambda x: x / (1 + np.exp(-x))),
    "mish": ((), lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    "prelu": ((0.3,), lambda x, alpha: where_negative(x, x * alpha)),
    "softplus": (
        (2.0, 0.5, 3.0),
        lambda x, beta, recip, limit: np.where(
            x * beta > limit, x, recip * np.log1p(np.exp(beta * x))
        ),
    ),
    "softsign": ((), lambda x: x / (1 + np.abs(x))),
    "hardsigmoid": ((), lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    "hardtanh": ((-1.0, 2.0), lambda x, low, high: np.clip(x, low, high)),
    "selu": (
        (1.0507, 1.6733),
        lambda x, scale, alpha: scale * where_negative(x, alpha * (np.exp(x) - 1)),
    ),
}


@pytest.mark.rule("activations")
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    parameters, theirs = ACTIVATIONS[name]
    function = getattr(ttl.math, name)
    close(evaluate(lambda x: function(x, *parameters), MANY), theirs(np.float64(MANY), *parameters))


# Rounding, limits, signs --------------------------------------------------------------------------

ROUNDING = {
    "frac": ((), lambda x: x - np.trunc(x)),
    "trunc": ((), np.trunc),
    "floor": ((), np.floor),
    "ceil": ((), np.ceil),
    "clamp": ((-1.5, 2.5), np.clip),
    "threshold": ((0.5, 9.0), lambda x, threshold, value: np.where(x > threshold, value, x)),
    "sign": ((), np.sign),
    "signbit": ((), lambda x: np.where(x >= 0, 1, 0)),
    "round": ((0,), np.round),
    "heaviside": ((0.25,), np.heaviside),
}


@pytest.mark.rule("rounding-functions")
@pytest.mark.parametrize("name", ROUNDING)
def test_rounding_functions(name):
    parameters, theirs = ROUNDING[name]
    function = getattr(ttl.math, name)
    close(evaluate(lambda x: function(x, *parameters), MANY), theirs(np.float64(MANY), *parameters))


def first_row(values):
    row = np.ones((32, 32), np.float32)
    row[0, : len(values)] = values
    return row


@pytest.mark.rule("round-half-even")
@pytest.mark.parametrize(
    ("decimals", "values", "expected"),
    [
        (0, [0.5, 1.5, 2.5, -0.5, -1.5, 2.51], [0, 2, 2, 0, -2, 3]),
        (1, [0.25, 0.75, -0.25, 1.0], [0.2, 0.8, -0.2, 1.0]),
        (-1, [15, 25, 24, -35], [20, 20, 20, -40]),
    ],
)
def test_round_takes_halves_to_even(decimals, values, expected):
    found = evaluate(lambda x: ttl.math.round(x, decimals), first_row(values))
    close(found[0, : len(values)], expected)


@pytest.mark.rule("threshold")
def test_threshold_replaces_values_greater_than_it():
    found = evaluate(lambda x: ttl.math.threshold(x, 2, 7), first_row([1, 2, 3, -3]))
    assert found[0, :4].tolist() == [1, 2, 7, -3]


@pytest.mark.rule("signbit")
def test_signbit_is_one_for_positive_numbers_and_plus_zero():
    found = evaluate(ttl.math.signbit, first_row([3, 0.0, -0.0, -3]))
    assert found[0, :4].tolist() == [1, 1, 0, 0]


# Fill, mask, select -------------------------------------------------------------------------------


@pytest.mark.rule("fill-mask-select")
def test_mask_where_and_fill():
    x, m = small(32, 32), (small(32, 32)[::-1] > 0).astype(np.float32)
    assert np.array_equal(evaluate(ttl.math.mask, x, m), np.where(m == 1, 0, x))
    expected = np.where(m == 1, np.float32(np.inf), x)
    assert np.array_equal(evaluate(ttl.math.mask_posinf, x, m), expected)
    y = x[:, ::-1]
    assert np.array_equal(evaluate(ttl.math.where, m, x, y), np.where(m != 0, x, y))
    assert (evaluate(lambda a: ttl.math.fill(2.5) + a * 0, x) == 2.5).all()


@pytest.mark.rule("typecast")
@pytest.mark.parametrize("out", ["int32", "uint8", "bfloat16", "float16"])
def test_typecast_converts(out):
    x = np.abs(small(32, 32)) + 0.75
    value = evaluate(
        lambda a: ttl.math.typecast(a, getattr(ttnn, out)), x, out_dtype=getattr(ttnn, out)
    )
    expected = np.trunc(x) if out in ("int32", "uint8") else x
    assert np.array_equal(value.astype(np.float32), expected)
