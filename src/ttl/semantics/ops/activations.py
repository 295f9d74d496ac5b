"""Activation functions."""

from __future__ import annotations

import math

import numpy as np

from ..dtypes import Array
from . import compositions
from .error_function import erf, erfc
from .meanings import exact_unary, function, in_double, numbers, unary
from .rounding import between_limits
from .special_values import clamp, clear_nan_signs, larger, relu, smaller
from .table import Parameter, ParameterKind
from .tiles import SIGNED, UNCHANGED, all_bits, bits, composed, one_call, vector, whole_composed

_ROOT_OF_HALF = math.sqrt(0.5)


def _gelu(x: Array) -> Array:
    # erfc(-z) equals 1 + erf(z) but keeps its digits if x is far below zero.
    return 0.5 * x * erfc(-x * _ROOT_OF_HALF)


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _mish(x: Array) -> Array:
    return x * np.tanh(np.logaddexp(0, x))


def _softplus(x: Array, beta: Array, beta_reciprocal: Array, threshold: Array) -> Array:
    """Compute softplus; beyond the threshold it equals x to all digits, and exp would overflow."""
    return np.where(x * beta > threshold, x, beta_reciprocal * np.log1p(np.exp(beta * x)))


def _softplus_bound(
    spacing: float, x: Array, beta: Array, beta_reciprocal: Array, threshold: Array
) -> Array:
    """Return the error of five rounded steps, the first of which exp magnifies."""
    scaled = np.asarray(x, np.float64) * beta
    steep = _sigmoid(scaled) * (np.abs(scaled) + 2)
    value = _softplus(np.asarray(x, np.float64), beta, beta_reciprocal, threshold)
    bound: Array = spacing * (np.abs(beta_reciprocal) * steep + 2 * np.abs(value))
    return bound


_sixth_and_half = in_double(lambda x: x / 6 + 0.5)


def _hardsigmoid_bound(spacing: float, x: object) -> Array:
    """Return a unit in the last place of the sum, most of which cancels near 0."""
    return spacing * np.ones_like(x)


_RELU = "eltwise_unary/relu.h"
_ACTIVATIONS = "eltwise_unary/activations.h"

OPS = (
    exact_unary(
        "relu",
        relu,
        "x where x > 0, else 0",
        vector("relu", _RELU),
        one_call((SIGNED,), "relu_tile_int32", _RELU, init="relu_tile_init"),
        UNCHANGED,
    ),
    exact_unary(
        "relu_max",
        lambda x, upper: relu(smaller(x, upper)),
        "relu(min(x, upper))",
        vector("relu_max", _RELU, arguments=all_bits),
        whole_composed(compositions.whole_relu_max),
        parameters=numbers(upper=1.7),
        aliases={"upper_limit": "upper"},
    ),
    exact_unary(
        "relu_min",
        lambda x, lower: relu(larger(x, lower)),
        "relu(max(x, lower))",
        # The chip's is max(x, lower), without the relu.
        vector("relu_min", _RELU, arguments=lambda lower: (bits(max(0.0, lower)),)),
        whole_composed(compositions.whole_relu_min),
        parameters=numbers(lower=0.7),
        aliases={"lower_limit": "lower"},
    ),
    function(
        "leaky_relu",
        lambda x, slope: np.where(x < 0, x * slope, x),
        "x, or x * slope where x < 0",
        _RELU,
        parameters=numbers(slope=0.3),
        is_cut_off=True,
    ),
    function(
        "elu",
        in_double(lambda x, slope: np.where(x < 0, slope * np.expm1(x), x)),
        "x, or slope * (exp(x) - 1) where x < 0",
        "eltwise_unary/elu.h",
        parameters=numbers(slope=1.1),
        aliases={"alpha": "slope"},
    ),
    function(
        "gelu",
        in_double(_gelu),
        "x times the normal distribution up to x",
        "eltwise_unary/gelu.h",
        template="<false>",  # its default is a coarse approximation
    ),
    function(
        "erf",
        in_double(erf),
        "the error function of x",
        "eltwise_unary/erf_erfc.h",
        template="<false>",
        is_cut_off=True,
    ),
    function(
        "mish",
        in_double(_mish),
        "x * tanh(log(1 + exp(x)))",
        "eltwise_unary/mish.h",
        template="<false>",
    ),
    function("sigmoid", in_double(_sigmoid), "1 / (1 + exp(-x))"),
    function(
        "celu",
        in_double(
            lambda x, alpha, alpha_recip: np.where(x < 0, alpha * np.expm1(x * alpha_recip), x)
        ),
        "x, or alpha * (exp(x * alpha_recip) - 1) where x < 0",
        _ACTIVATIONS,
        parameters=numbers(alpha=1.1, alpha_recip=0.9),
    ),
    function("silu", in_double(lambda x: x * _sigmoid(x)), "x * sigmoid(x)"),
    function(
        "prelu",
        lambda x, alpha: np.where(x < 0, x * alpha, x),
        "x, or x * alpha where x < 0",
        "eltwise_unary/prelu.h",
        parameters=numbers(alpha=0.3),
        is_cut_off=True,
    ),
    unary(
        "softplus",
        in_double(_softplus),
        "beta_reciprocal * log(1 + exp(beta * x)), or x where beta * x > threshold",
        parameters=numbers(beta=1.5, beta_reciprocal=0.6666667, threshold=4.0),
        bound=_softplus_bound,
        tile=composed(compositions.softplus),
    ),
    function(
        "softsign",
        in_double(lambda x: x / (1 + np.abs(x))),
        "x / (1 + abs(x))",
        _ACTIVATIONS,
        is_cut_off=True,
    ),
    function(
        "hardsigmoid",
        lambda x: clamp(clear_nan_signs(_sixth_and_half(x)), 0, 1),
        "x / 6 + 1/2, between 0 and 1",
        _ACTIVATIONS,
        bound=_hardsigmoid_bound,
        computes=False,  # its limits are chosen last
        is_cut_off=True,
    ),
    between_limits("hardtanh", aliases={"min_val": "min", "max_val": "max"}),
    function(
        "selu",
        in_double(lambda x, scale, alpha: scale * np.where(x < 0, alpha * np.expm1(x), x)),
        "scale * x, or scale * alpha * (exp(x) - 1) where x < 0",
        "eltwise_unary/selu.h",
        parameters=(
            Parameter("scale", ParameterKind.NUMBER, 1.0507009873554805),
            Parameter("alpha", ParameterKind.NUMBER, 1.6732632423543772),
        ),
    ),
)
