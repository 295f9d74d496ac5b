"""What `ttl` names beside its `__all__`."""

# ruff: noqa
# Written by `python tests/editor/stubs.py`; do not edit.

from collections.abc import Sequence
from typing import Any, overload

from ttl.language.block import Block, BlockExpression
from ttl.math import (
    abs, acos, acosh, asin, asinh, atan, atanh, broadcast, cbrt, ceil, celu, clamp, cos, cosh, elu,
    eq, erf, exp, exp2, expm1, fill, floor, frac, ge, gelu, gt, hardsigmoid, hardtanh, heaviside,
    le, leaky_relu, log, log1p, logical_and, logical_not, logical_or, logp1, lt, mask, mask_posinf,
    matmul, max, min, mish, ne, neg, pow, prelu, recip, reduce_max, reduce_mean, reduce_min,
    reduce_sum, relu, relu_max, relu_min, round, rsqrt, rsub, selu, sigmoid, sign, signbit, silu,
    sin, sinh, softplus, softsign, sqrt, square, squeeze, tan, tanh, threshold, transpose, trunc,
    typecast, unsqueeze, where,
)
from ttl.language import DataflowBuffer as CircularBuffer
from ttl.language import NodeCoord as CoreCoord
from ttl.language import NodeRange as CoreRange
from ttl.language import node as core
from ttl.language import operation as kernel
from ttl.language import make_dataflow_buffer_like as make_circular_buffer_like

__all__ = [
    "CircularBuffer", "CoreCoord", "CoreRange", "abs", "acos", "acosh", "add", "asin", "asinh",
    "atan", "atanh", "broadcast", "cbrt", "ceil", "celu", "clamp", "core", "cos", "cosh", "div",
    "elu", "eq", "erf", "exp", "exp2", "expm1", "fill", "floor", "floordiv", "frac", "ge", "gelu",
    "gt", "hardsigmoid", "hardtanh", "heaviside", "kernel", "le", "leaky_relu", "log", "log1p",
    "logical_and", "logical_not", "logical_or", "logp1", "lt", "make_circular_buffer_like", "mask",
    "mask_posinf", "matmul", "max", "min", "mish", "mod", "mul", "ne", "neg", "pow", "prelu",
    "recip", "reduce_max", "reduce_mean", "reduce_min", "reduce_sum", "relu", "relu_max",
    "relu_min", "round", "rsqrt", "rsub", "selu", "sigmoid", "sign", "signbit", "silu", "sin",
    "sinh", "softplus", "softsign", "sqrt", "square", "squeeze", "sub", "tan", "tanh", "threshold",
    "transpose", "trunc", "typecast", "unsqueeze", "where", "xor",
]

def add(a: BlockExpression | float, b: BlockExpression | float) -> BlockExpression:
    """Returns a + b, elementwise.

    Works on all element types.
    """

def div(a: BlockExpression | float, b: BlockExpression | float) -> BlockExpression:
    """Returns a / b, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def floordiv(a: BlockExpression | float, b: BlockExpression | float) -> BlockExpression:
    """Returns a / b rounded down, elementwise.

    Works on all element types.
    """

def mod(a: BlockExpression | float, b: BlockExpression | float) -> BlockExpression:
    """Returns the remainder of a // b, with the sign of b, elementwise.

    Works on all element types.
    """

def mul(a: BlockExpression | float, b: BlockExpression | float) -> BlockExpression:
    """Returns a * b, elementwise.

    Works on all element types.
    """

def sub(a: BlockExpression | float, b: BlockExpression | float) -> BlockExpression:
    """Returns a - b, elementwise.

    Works on all element types.
    """

def xor(a: BlockExpression | float, b: BlockExpression | float) -> BlockExpression:
    """Returns the bits in which a and b differ, elementwise.

    Works on int32, uint32, uint16 and uint8.
    """
