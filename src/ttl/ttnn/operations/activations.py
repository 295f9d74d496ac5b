"""Activation functions, and their names as arguments of other operations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ttl.semantics.dtypes import Array
from ttl.semantics.ops import BLOCK_OPS
from ttl.semantics.ops.meanings import in_double

from ..compute_config import UnaryWithParam
from ..faults import wrong
from . import OPERATIONS, load
from .arguments import Number
from .elementwise import function, unary
from .run import FAST, UNARY, operation

_GELU, _SELU = BLOCK_OPS["gelu"], BLOCK_OPS["selu"]
_SELU_DEFAULTS = {parameter.name: parameter.default for parameter in _SELU.parameters}

gelu = function(
    "gelu",
    _GELU.summary,
    lambda x: np.where(np.isneginf(x), 0, _GELU.meaning(x)),
    options=(*FAST, "variant"),
)
hardsigmoid = unary("hardsigmoid")
relu = unary("relu")
sigmoid = unary("sigmoid", options=(*UNARY, "mode", "vector_mode"))
silu = unary("silu")
swish = unary("swish", "silu")
softsign = unary("softsign")
relu6 = function("relu6", "x, between 0 and 6", lambda x: np.clip(x, 0, 6), floats=False)
hardswish = function(
    "hardswish", "x * hardsigmoid(x)", lambda x: x * BLOCK_OPS["hardsigmoid"].meaning(x)
)
log_sigmoid = function("log_sigmoid", "log(sigmoid(x))", in_double(lambda x: -np.logaddexp(0, -x)))
mish = function(
    "mish",
    "x * tanh(softplus(x))",
    in_double(lambda x: x * np.tanh(np.logaddexp(0, x))),
    options=FAST,
)


@operation(floats=True)
def leaky_relu(input_tensor: Array, negative_slope: Number) -> Any:
    """The input, or the input times negative_slope where it is negative."""
    return BLOCK_OPS["leaky_relu"].meaning(input_tensor, slope=negative_slope)


@operation(floats=True)
def elu(input_tensor: Array, *, alpha: Number = 1.0) -> Any:
    """The input, or alpha * (exp(input) - 1) where it is negative."""
    return BLOCK_OPS["elu"].meaning(input_tensor, slope=alpha)


@operation(floats=True)
def celu(input_tensor: Array, *, alpha: Number = 1.0) -> Any:
    """The input, or alpha * (exp(input / alpha) - 1) where it is negative."""
    if alpha == 0:
        raise wrong("alpha=0: celu() divides by it", "use another alpha")
    return BLOCK_OPS["celu"].meaning(input_tensor, alpha=alpha, alpha_recip=1 / alpha)


@operation(floats=True)
def softplus(input_tensor: Array, *, beta: Number = 1.0, threshold: Number = 20.0) -> Any:
    """log(1 + exp(beta * input)) / beta, or the input where beta * input is above threshold."""
    if beta == 0:
        raise wrong("beta=0: softplus() divides by it", "use another beta")
    return BLOCK_OPS["softplus"].meaning(
        input_tensor, beta=beta, beta_reciprocal=1 / beta, threshold=threshold
    )


@operation()
def hardtanh(input_tensor: Array, *, min_val: Number = -1.0, max_val: Number = 1.0) -> Any:
    """The input, between min_val and max_val."""
    return BLOCK_OPS["hardtanh"].meaning(input_tensor, min=min_val, max=max_val)


@operation(floats=True)
def selu(
    input_tensor: Array,
    *,
    scale: Number = _SELU_DEFAULTS["scale"],
    alpha: Number = _SELU_DEFAULTS["alpha"],
) -> Any:
    """scale * x, or scale * alpha * (exp(x) - 1) where x is negative."""
    return _SELU.meaning(input_tensor, scale=scale, alpha=alpha)


def activate(values: Any, activations: Iterable[UnaryWithParam | str]) -> Any:
    """Apply activations in order, before rounding."""
    for activation in activations:
        name, params = _named(activation)
        if name not in _NAMES:
            raise wrong(f"there is no activation {name!r}", f"use one of {', '.join(_NAMES)}")
        op = load(name).operation
        parameters = dict(zip(list(op.kinds)[1:], params, strict=False))
        values = op.meaning(values, **parameters)
    return values


def _named(activation: UnaryWithParam | str) -> tuple[str, list[float]]:
    if isinstance(activation, str):
        return activation, []
    name = activation.op_type.name.lower()
    return {"recip": "reciprocal"}.get(name, name), activation.params


# Activations with only an operand, or with their own parameter.
_NAMES = (
    *OPERATIONS["activations"],
    *("abs", "exp", "log", "neg", "reciprocal", "sqrt", "square", "tanh"),
)
