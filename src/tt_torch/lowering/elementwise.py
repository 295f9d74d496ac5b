"""Arithmetic, comparisons, choices and constants."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import fx
from xdsl.ir import SSAValue

from .emitter import Drawn, Emitter, Lowering, dtype_of, lowers, unsupported

aten = torch.ops.aten


def operand(emitter: Emitter, value: Any, node: fx.Node, dtype: torch.dtype) -> SSAValue:
    """A value or a number in the result's shape and in the type that is computed with."""
    shape = node.meta["val"].shape
    if isinstance(value, SSAValue):
        return emitter.broadcast(emitter.convert(value, dtype), shape)
    return emitter.full(shape, value, dtype)


def result_dtype(node: fx.Node) -> torch.dtype:
    dtype: torch.dtype = node.meta["val"].dtype
    return dtype


# One operand --------------------------------------------------------------------------------------

_UNARY = {
    "abs": "abs", "acos": "acos", "acosh": "acosh", "asin": "asin", "asinh": "asinh",
    "atan": "atan", "atanh": "atanh", "ceil": "ceil", "cos": "cosine", "cosh": "cosh", "erf": "erf",
    "erfc": "erfc", "exp": "exponential", "expm1": "exponential_minus_one", "floor": "floor",
    "log": "log", "log1p": "log_plus_one", "neg": "negate",
    "round": "round_nearest_even", "rsqrt": "rsqrt", "sigmoid": "logistic",
    "sin": "sine", "sinh": "sinh", "sqrt": "sqrt", "tan": "tan", "tanh": "tanh",
}  # fmt: skip


def _unary(name: str) -> Lowering:
    def lower(emitter: Emitter, node: fx.Node, x: SSAValue) -> SSAValue:
        return emitter.unary(name, emitter.convert(x, result_dtype(node)))

    return lower


for _aten, _name in _UNARY.items():
    lowers(getattr(aten, _aten).default)(_unary(_name))


@lowers(aten.sign.default)
def sign(emitter: Emitter, node: fx.Node, x: SSAValue) -> SSAValue:
    """That of what is no number is 0 for torch."""
    found = emitter.unary("sign", x)
    if not dtype_of(x).is_floating_point:
        return found
    return emitter.select(
        emitter.compare("EQ", x, x), found, operand(emitter, 0, node, dtype_of(x))
    )


@lowers(aten.reciprocal.default)
def reciprocal(emitter: Emitter, node: fx.Node, x: SSAValue) -> SSAValue:
    x = emitter.convert(x, result_dtype(node))
    return emitter.binary("divide", operand(emitter, 1.0, node, dtype_of(x)), x)


def _logarithm(base: float) -> Lowering:
    def lower(emitter: Emitter, node: fx.Node, x: SSAValue) -> SSAValue:
        found = emitter.unary("log", emitter.convert(x, result_dtype(node)))
        return emitter.binary(
            "divide", found, operand(emitter, math.log(base), node, dtype_of(found))
        )

    return lower


lowers(aten.log2.default)(_logarithm(2))
lowers(aten.log10.default)(_logarithm(10))


@lowers(aten.exp2.default)
def exp2(emitter: Emitter, node: fx.Node, x: SSAValue) -> SSAValue:
    dtype = result_dtype(node)
    return emitter.binary("power", operand(emitter, 2.0, node, dtype), emitter.convert(x, dtype))


@lowers(aten.trunc.default)
def trunc(emitter: Emitter, node: fx.Node, x: SSAValue) -> SSAValue:
    """Towards 0; whole numbers stay."""
    dtype = dtype_of(x)
    if not dtype.is_floating_point:
        return x
    is_negative = emitter.compare("LT", x, operand(emitter, 0, node, dtype))
    return emitter.select(is_negative, emitter.unary("ceil", x), emitter.unary("floor", x))


@lowers(aten.isnan.default)
def isnan(emitter: Emitter, node: fx.Node, x: SSAValue) -> SSAValue:
    """Nothing else differs from itself."""
    return emitter.compare("NE", x, x)


@lowers(aten.isinf.default)
def isinf(emitter: Emitter, node: fx.Node, x: SSAValue) -> SSAValue:
    if not dtype_of(x).is_floating_point:
        return emitter.full(node.meta["val"].shape, False, torch.bool)
    infinity = operand(emitter, float("inf"), node, dtype_of(x))
    return emitter.compare("EQ", emitter.unary("abs", x), infinity)


@lowers(aten.relu.default)
def relu(emitter: Emitter, node: fx.Node, x: SSAValue) -> SSAValue:
    return emitter.binary("maximum", x, operand(emitter, 0, node, dtype_of(x)))


@lowers(aten.logical_not.default, aten.bitwise_not.default)
def logical_not(emitter: Emitter, node: fx.Node, x: SSAValue) -> SSAValue:
    _check_truth(node)
    return emitter.unary("not", emitter.convert(x, result_dtype(node)))


def _check_truth(node: fx.Node) -> None:
    if result_dtype(node) is not torch.bool:
        raise unsupported(f"no lowering for {node.target} of {result_dtype(node)}", node)


@lowers(aten.gelu.default)
def gelu(emitter: Emitter, node: fx.Node, x: SSAValue, approximate: str = "none") -> SSAValue:
    """x / 2 * (1 + erf(x / sqrt 2)), or with tanh; in f32, as torch computes it."""
    dtype = dtype_of(x)
    wide = torch.float32 if dtype in (torch.bfloat16, torch.float16) else dtype
    x = emitter.convert(x, wide)

    def number(value: float) -> SSAValue:
        return operand(emitter, value, node, wide)

    if approximate == "tanh":
        cube = emitter.binary("multiply", emitter.binary("multiply", x, x), x)
        inner = emitter.binary("add", x, emitter.binary("multiply", number(0.044715), cube))
        scaled = emitter.binary("multiply", number(math.sqrt(2 / math.pi)), inner)
        curve = emitter.unary("tanh", scaled)
    else:
        scaled = emitter.binary("multiply", x, number(math.sqrt(0.5)))
        curve = emitter.unary("erf", scaled)
    half = emitter.binary("multiply", number(0.5), x)
    result = emitter.binary("multiply", half, emitter.binary("add", curve, number(1.0)))
    return emitter.convert(result, dtype)


# Two operands -------------------------------------------------------------------------------------


def _binary(name: str) -> Lowering:
    def lower(emitter: Emitter, node: fx.Node, x: Any, y: Any) -> SSAValue:
        if name in ("and", "or", "xor"):
            _check_truth(node)
        dtype = result_dtype(node)
        return emitter.binary(
            name, operand(emitter, x, node, dtype), operand(emitter, y, node, dtype)
        )

    return lower


for _ops, _name in (
    ((aten.mul.Tensor, aten.mul.Scalar), "multiply"),
    ((aten.div.Tensor, aten.div.Scalar), "divide"),
    ((aten.maximum.default,), "maximum"),
    ((aten.minimum.default,), "minimum"),
    ((aten.pow.Tensor_Tensor, aten.pow.Scalar), "power"),
    ((aten.fmod.Tensor, aten.fmod.Scalar), "remainder"),
    ((aten.bitwise_and.Tensor, aten.bitwise_and.Scalar), "and"),
    ((aten.bitwise_or.Tensor, aten.bitwise_or.Scalar), "or"),
    ((aten.bitwise_xor.Tensor, aten.bitwise_xor.Scalar), "xor"),
):
    lowers(*_ops)(_binary(_name))
for _logical, _name in (("logical_and", "and"), ("logical_or", "or"), ("logical_xor", "xor")):
    lowers(getattr(aten, _logical).default)(_binary(_name))


def _scaled_sum(name: str) -> Lowering:
    """add and sub have a factor for the second operand."""

    def lower(emitter: Emitter, node: fx.Node, x: Any, y: Any, alpha: Any = 1) -> SSAValue:
        dtype = result_dtype(node)
        second = operand(emitter, y, node, dtype)
        if alpha != 1:
            second = emitter.binary("multiply", second, operand(emitter, alpha, node, dtype))
        return emitter.binary(name, operand(emitter, x, node, dtype), second)

    return lower


lowers(aten.add.Tensor, aten.add.Scalar)(_scaled_sum("add"))
lowers(aten.sub.Tensor, aten.sub.Scalar)(_scaled_sum("subtract"))


@lowers(aten.pow.Tensor_Scalar)
def power(emitter: Emitter, node: fx.Node, x: SSAValue, exponent: float) -> SSAValue:
    """Small whole powers are products, which are exact where powers are not."""
    x = emitter.convert(x, result_dtype(node))
    if exponent in (1, 2, 3):
        product = x
        for _ in range(int(exponent) - 1):
            product = emitter.binary("multiply", product, x)
        return product
    if exponent == 0.5:
        return emitter.unary("sqrt", x)
    if exponent == -0.5:
        return emitter.unary("rsqrt", x)
    return emitter.binary("power", x, operand(emitter, exponent, node, dtype_of(x)))


@lowers(aten.div.Tensor_mode, aten.div.Scalar_mode)
def divide(
    emitter: Emitter, node: fx.Node, x: Any, y: Any, rounding_mode: str | None = None
) -> SSAValue:
    """A quotient, rounded towards 0 or down.

    What is left over decides: a quotient just below a whole number may be rounded to it.
    """
    dtype = result_dtype(node)
    dividend, divisor = (operand(emitter, each, node, dtype) for each in (x, y))
    quotient = emitter.binary("divide", dividend, divisor)
    if rounding_mode is None:
        return quotient
    if rounding_mode == "trunc":
        return trunc(emitter, node, quotient)  # type: ignore[return-value]
    zero = operand(emitter, 0, node, dtype)
    rest = emitter.binary("remainder", dividend, divisor)
    is_below = _is_moved(emitter, rest, divisor, zero)
    if not dtype.is_floating_point:
        below = emitter.binary("subtract", quotient, operand(emitter, 1, node, dtype))
        return emitter.select(is_below, below, quotient)
    whole = emitter.binary("divide", emitter.binary("subtract", dividend, rest), divisor)
    below = emitter.binary("subtract", whole, operand(emitter, 1, node, dtype))
    found = emitter.unary("round_nearest_even", emitter.select(is_below, below, whole))
    return emitter.select(emitter.compare("EQ", divisor, zero), quotient, found)


def _is_moved(emitter: Emitter, rest: SSAValue, divisor: SSAValue, zero: SSAValue) -> SSAValue:
    """Does a division leave something that has not the sign of the divisor?"""
    other_sign = emitter.binary(
        "xor", emitter.compare("LT", rest, zero), emitter.compare("LT", divisor, zero)
    )
    return emitter.binary("and", emitter.compare("NE", rest, zero), other_sign)


@lowers(aten.remainder.Tensor, aten.remainder.Scalar)
def remainder(emitter: Emitter, node: fx.Node, x: Any, y: Any) -> SSAValue:
    """It has the sign of the divisor, and the operation of StableHLO that of the dividend."""
    dtype = result_dtype(node)
    divisor = operand(emitter, y, node, dtype)
    zero = operand(emitter, 0, node, dtype)
    rest = emitter.binary("remainder", operand(emitter, x, node, dtype), divisor)
    is_moved = _is_moved(emitter, rest, divisor, zero)
    return emitter.select(is_moved, emitter.binary("add", rest, divisor), rest)


def _compare(direction: str) -> Lowering:
    def lower(emitter: Emitter, node: fx.Node, x: Any, y: Any) -> SSAValue:
        left, right = node.args[0], node.args[1]
        dtype = torch.result_type(_sample(left), _sample(right))
        return emitter.compare(
            direction, operand(emitter, x, node, dtype), operand(emitter, y, node, dtype)
        )

    return lower


def _sample(argument: Any) -> Any:
    return argument.meta["val"] if isinstance(argument, fx.Node) else argument


for _direction in ("eq", "ne", "lt", "le", "gt", "ge"):
    _packet = getattr(aten, _direction)
    lowers(_packet.Tensor, _packet.Scalar)(_compare(_direction.upper()))


# Choices ------------------------------------------------------------------------------------------


@lowers(aten.where.self)
def where(emitter: Emitter, node: fx.Node, condition: SSAValue, x: Any, y: Any) -> SSAValue:
    dtype = result_dtype(node)
    chosen = operand(emitter, condition, node, torch.bool)
    return emitter.select(
        chosen, operand(emitter, x, node, dtype), operand(emitter, y, node, dtype)
    )


@lowers(aten.clamp.default, aten.clamp.Tensor, aten.hardtanh.default)
def clamp(
    emitter: Emitter, node: fx.Node, x: SSAValue, low: Any = None, high: Any = None
) -> SSAValue:
    dtype = result_dtype(node)
    result = emitter.convert(x, dtype)
    if low is not None:
        result = emitter.binary("maximum", result, operand(emitter, low, node, dtype))
    if high is not None:
        result = emitter.binary("minimum", result, operand(emitter, high, node, dtype))
    return result


@lowers(aten.native_dropout.default)
def native_dropout(
    emitter: Emitter, node: fx.Node, x: SSAValue, rate: float, train: bool | None
) -> list[SSAValue]:
    """What is kept, made larger by what is not, and the mask of it."""
    value, mask = node.meta["val"]
    if train is False:
        return [x, emitter.full(mask.shape, True, torch.bool)]
    kept = emitter.draw(node, Drawn(tuple(mask.shape), 1 - rate))
    scale = emitter.full(value.shape, 0.0 if rate == 1 else 1 / (1 - rate), dtype_of(x))
    zero = emitter.full(value.shape, 0, dtype_of(x))
    return [emitter.select(kept, emitter.binary("multiply", x, scale), zero), kept]


# Constants ----------------------------------------------------------------------------------------


@lowers(
    aten.empty.memory_format, aten.empty_strided.default, aten.empty_permuted.default,
    aten.new_empty_strided.default,
)  # fmt: skip
def empty(emitter: Emitter, node: fx.Node, *_: Any, **__: Any) -> SSAValue:
    """What is not initialized is zero."""
    value = node.meta["val"]
    return emitter.full(value.shape, 0, value.dtype)


@lowers(aten.full.default, aten.full_like.default)
def full(emitter: Emitter, node: fx.Node, _: Any, number: Any, **__: Any) -> SSAValue:
    value = node.meta["val"]
    return emitter.full(value.shape, number, value.dtype)


@lowers(aten.scalar_tensor.default)
def scalar_tensor(emitter: Emitter, node: fx.Node, number: Any, **_: Any) -> SSAValue:
    return emitter.scalar(number, result_dtype(node))
