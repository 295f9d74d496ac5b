"""Lowers random numbers as functions of a seed, an argument of the graph, and their position.

A seed gives the same numbers wherever and in any order they are computed, and each run gets its own
seed. Their distribution is that of torch on the CPU, down to the bits of each type, but the numbers
differ.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi, prod
from typing import Any

import torch
from xdsl.dialects.builtin import IntegerType, Signedness, TensorType
from xdsl.ir import SSAValue

from ttgraph.dialects import stablehlo
from ttgraph.dialects.stablehlo import shape_of

from .along import sorted_with_places
from .emitter import RANDOM, Emitter, Lowering, dtype_of, lowers, tensor_type, unsupported

aten = torch.ops.aten
_STATE = TensorType(IntegerType(64, Signedness.UNSIGNED), [2])
_DIGITS = {torch.bfloat16: 8, torch.float16: 11}  # binary digits of a uniform number; otherwise 24
_WORD = 2**32


def _bits(emitter: Emitter, count: int) -> SSAValue:
    """Return a list of uint32, with its own 2**32 counters."""
    assert emitter.seed is not None
    counter = torch.tensor([0, emitter.drawn], dtype=torch.uint32)
    emitter.drawn += 1
    words = emitter.concatenate([emitter.seed, emitter.constant(counter)], 0)
    pairs = emitter.reshape(words, (2, 2))
    state = emitter.add(stablehlo.BitcastConvertOp.create(operands=[pairs], result_types=[_STATE]))
    made = stablehlo.RngBitGeneratorOp.of(state, count)
    emitter.block.add_op(made)
    return made.output


def _words(emitter: Emitter, name: str, value: SSAValue, number: int) -> SSAValue:
    return emitter.binary(name, value, emitter.full(shape_of(value), number, torch.uint32))


def _scaled(emitter: Emitter, value: SSAValue, factor: float, more: float = 0.0) -> SSAValue:
    if factor != 1:
        number = emitter.full(shape_of(value), factor, dtype_of(value))
        value = emitter.binary("multiply", value, number)
    if more != 0:
        value = emitter.binary("add", value, emitter.full(shape_of(value), more, dtype_of(value)))
    return value


def _uniform(emitter: Emitter, count: int, dtype: torch.dtype = torch.float32) -> SSAValue:
    """Return numbers in [0, 1)."""
    digits = _DIGITS.get(dtype, 24)
    bits = _words(emitter, "shift_right_logical", _bits(emitter, count), 32 - digits)
    return _scaled(emitter, emitter.convert(bits, dtype), 2.0**-digits)


def _normal(emitter: Emitter, count: int) -> SSAValue:
    """Return normal numbers by Box-Muller: two uniform numbers give two of them."""
    pairs = -(-count // 2)
    both = _uniform(emitter, 2 * pairs)
    first, second = (emitter.cut(both, 0, k * pairs, (k + 1) * pairs) for k in (0, 1))
    logs = emitter.unary("log", _scaled(emitter, first, -1.0, 1.0))
    radius = emitter.unary("sqrt", _scaled(emitter, logs, -2.0))
    angle = _scaled(emitter, second, 2 * pi)
    parts = [
        emitter.binary("multiply", radius, emitter.unary(name, angle))
        for name in ("cosine", "sine")
    ]
    return emitter.cut(emitter.concatenate(parts, 0), 0, 0, count)


def _exponential(emitter: Emitter, count: int) -> SSAValue:
    """Return -log(u), where u is neither 0 nor 1, because callers divide by it."""
    bits = _words(emitter, "shift_right_logical", _bits(emitter, count), 8)
    odd = emitter.convert(_words(emitter, "or", bits, 1), torch.float32)
    return emitter.unary("negate", emitter.unary("log", _scaled(emitter, odd, 2.0**-24)))


def _kept(emitter: Emitter, count: int, probability: float) -> SSAValue:
    """Return booleans that are true with this probability."""
    below = emitter.full((count,), probability, torch.float32)
    return emitter.compare("LT", _uniform(emitter, count), below)


def _placed(emitter: Emitter, value: SSAValue) -> SSAValue:
    """Convert a list to the node's shape and type."""
    return emitter.reshape(emitter.convert(value, emitter.dtype), emitter.shape)


def lowers_random(*ops: Any) -> Callable[[Lowering], Lowering]:
    """Register the decorated function for these operations, which draw new numbers each time."""
    RANDOM.update(ops)
    return lowers(*ops)


@lowers_random(aten.rand.default, aten.rand_like.default)
def uniform(emitter: Emitter, *_: Any, **__: Any) -> SSAValue:
    return _placed(emitter, _uniform(emitter, prod(emitter.shape), emitter.dtype))


@lowers_random(aten.randn.default, aten.randn_like.default)
def normal(emitter: Emitter, *_: Any, **__: Any) -> SSAValue:
    return _placed(emitter, _normal(emitter, prod(emitter.shape)))


@lowers_random(aten.uniform.default)
def uniform_between(
    emitter: Emitter, x: SSAValue, low: float = 0, high: float = 1, **_: Any
) -> SSAValue:
    drawn = _uniform(emitter, prod(emitter.shape), emitter.dtype)
    return _placed(emitter, _scaled(emitter, drawn, high - low, low))


@lowers_random(aten.normal_functional.default)
def normal_of(emitter: Emitter, x: SSAValue, mean: float = 0, std: float = 1, **_: Any) -> SSAValue:
    return _placed(emitter, _scaled(emitter, _normal(emitter, prod(emitter.shape)), std, mean))


@lowers_random(aten.exponential.default)
def exponential(emitter: Emitter, x: SSAValue, rate: float = 1, **_: Any) -> SSAValue:
    drawn = _exponential(emitter, prod(emitter.shape))
    return _placed(emitter, _scaled(emitter, drawn, 1 / rate))


@lowers_random(aten.bernoulli.p)
def bernoulli(emitter: Emitter, x: SSAValue, probability: float = 0.5, **_: Any) -> SSAValue:
    if not 0 <= probability <= 1:
        node = emitter.node
        raise unsupported(f"{node.target} with {probability}, which is no probability", node)
    return _placed(emitter, _kept(emitter, prod(emitter.shape), probability))


@lowers_random(aten.native_dropout.default)
def native_dropout(
    emitter: Emitter, x: SSAValue, rate: float, train: bool | None
) -> list[SSAValue]:
    """Return the kept elements, scaled up for the dropped ones, and the mask."""
    shape = shape_of(x)
    if rate == 0 or train is False:
        return [x, emitter.full(shape, True, torch.bool)]
    kept = emitter.reshape(_kept(emitter, prod(shape), 1 - rate), shape)
    scale = emitter.full(shape, 0.0 if rate == 1 else 1 / (1 - rate), dtype_of(x))
    zero = emitter.full(shape, 0, dtype_of(x))
    return [emitter.select(kept, emitter.binary("multiply", x, scale), zero), kept]


def _integers(emitter: Emitter, low: int, high: int) -> SSAValue:
    """Return integers by a remainder, as on the CPU; a negative `low` wraps around."""
    if not -(2**31) <= low < high <= 2**31 or high - low >= _WORD:
        node = emitter.node
        raise unsupported(f"no lowering for {node.target} of more than 32 bits", node)
    rest = _words(emitter, "remainder", _bits(emitter, prod(emitter.shape)), high - low)
    moved = _words(emitter, "add", rest, low % _WORD)
    result = tensor_type(shape_of(moved), torch.int32)
    signed = stablehlo.BitcastConvertOp.create(operands=[moved], result_types=[result])
    return _placed(emitter, emitter.add(signed))


@lowers_random(
    aten.randint.default,
    aten.randint.low,
    aten.randint_like.default,
    aten.randint_like.low_dtype,
)
def randint(emitter: Emitter, *given: Any, **_: Any) -> SSAValue:
    """Return integers; overloads may have a leading tensor and a lower limit."""
    target: Any = emitter.node.target
    named = dict(zip((each.name for each in target._schema.arguments), given, strict=False))
    return _integers(emitter, named.get("low", 0), named["high"])


@lowers_random(aten.randperm.default)
def randperm(emitter: Emitter, count: int, *_: Any, **__: Any) -> SSAValue:
    """Return the positions of sorted random numbers."""
    places = sorted_with_places(emitter, _bits(emitter, count), 0, False)[1]
    return _placed(emitter, places)
