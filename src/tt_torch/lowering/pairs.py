"""Lowers complex numbers as pairs along a new last dimension, like torch.view_as_real.

Has the products and sums that rotary embeddings need. Operations that move elements, in shapes.py,
accept pairs, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from xdsl.ir import SSAValue

from ttgraph.dialects.stablehlo import shape_of

from .emitter import PAIRS, Emitter, Lowering, is_complex, overloads, unsupported

aten = torch.ops.aten


def lowers_pairs(*ops: Any) -> Callable[[Lowering], Lowering]:
    """Register the decorated function for these operations on complex numbers."""

    def add(function: Lowering) -> Lowering:
        PAIRS.update(dict.fromkeys(ops, function))
        return function

    return add


def _parts(emitter: Emitter, value: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Return the real and the imaginary parts."""
    *shape, _ = shape_of(value)
    last = len(shape)
    first, second = (
        emitter.reshape(emitter.cut(value, last, place, place + 1), shape) for place in (0, 1)
    )
    return first, second


def _pairs(emitter: Emitter, real: SSAValue, imaginary: SSAValue) -> SSAValue:
    shape = (*shape_of(real), 1)
    parts = [emitter.reshape(each, shape) for each in (real, imaginary)]
    return emitter.concatenate(parts, len(shape) - 1)


def _operands(emitter: Emitter, *values: Any) -> list[tuple[SSAValue, SSAValue]]:
    """Return both parts of each operand, in the result's shape and type."""
    shape, dtype = emitter.shape[:-1], emitter.dtype
    found = []
    for value, own in zip(values, emitter.node.args, strict=False):
        if isinstance(value, SSAValue) and is_complex(own):
            parts = _parts(emitter, value)
        elif isinstance(value, SSAValue):
            parts = value, emitter.full(shape, 0, dtype)
        else:
            number = complex(value)
            parts = (
                emitter.full(shape, number.real, dtype),
                emitter.full(shape, number.imag, dtype),
            )
        first, second = (emitter.broadcast(emitter.convert(each, dtype), shape) for each in parts)
        found.append((first, second))
    return found


# Arithmetic ---------------------------------------------------------------------------------------


@lowers_pairs(aten.mul.Tensor, aten.mul.Scalar)
def multiply(emitter: Emitter, x: Any, y: Any) -> SSAValue:
    (a, b), (c, d) = _operands(emitter, x, y)

    def product(first: SSAValue, second: SSAValue) -> SSAValue:
        return emitter.binary("multiply", first, second)

    real = emitter.binary("subtract", product(a, c), product(b, d))
    return _pairs(emitter, real, emitter.binary("add", product(a, d), product(b, c)))


def _of_both(name: str) -> Lowering:
    def lower(emitter: Emitter, x: Any, y: Any, alpha: Any = 1) -> SSAValue:
        if alpha != 1:
            node = emitter.node
            raise unsupported(f"no lowering for {node.target} of complex numbers with alpha", node)
        parts = zip(*_operands(emitter, x, y), strict=True)
        return _pairs(emitter, *(emitter.binary(name, *each) for each in parts))

    return lower


lowers_pairs(aten.add.Tensor)(_of_both("add"))
lowers_pairs(aten.sub.Tensor)(_of_both("subtract"))


@lowers_pairs(aten.neg.default)
def negate(emitter: Emitter, x: SSAValue) -> SSAValue:
    return emitter.unary("negate", x)


@lowers_pairs(aten._conj.default, aten.conj_physical.default)
def conjugate(emitter: Emitter, x: SSAValue) -> SSAValue:
    real, imaginary = _parts(emitter, x)
    return _pairs(emitter, real, emitter.unary("negate", imaginary))


@lowers_pairs(aten.polar.default)
def polar(emitter: Emitter, length: SSAValue, angle: SSAValue) -> SSAValue:
    parts = [
        emitter.binary("multiply", length, emitter.unary(name, angle))
        for name in ("cosine", "sine")
    ]
    return _pairs(emitter, *parts)


@lowers_pairs(aten.complex.default)
def of_parts(emitter: Emitter, real: SSAValue, imaginary: SSAValue) -> SSAValue:
    return _pairs(emitter, real, imaginary)


@lowers_pairs(aten.abs.default)
def length(emitter: Emitter, x: SSAValue) -> SSAValue:
    real, imaginary = (emitter.binary("multiply", each, each) for each in _parts(emitter, x))
    return emitter.unary("sqrt", emitter.binary("add", real, imaginary))


@lowers_pairs(aten.sum.dim_IntList)
def total(
    emitter: Emitter, x: SSAValue, dims: Sequence[int], keep: bool = False, **_: Any
) -> SSAValue:
    rank = len(shape_of(x)) - 1
    chosen = [dim % rank for dim in dims] or list(range(rank))
    return emitter.reduce("add", x, chosen, 0, keep)


# Conversions --------------------------------------------------------------------------------------


@lowers_pairs(aten.view_as_complex.default, aten.view_as_real.default)
def same(emitter: Emitter, x: SSAValue) -> SSAValue:
    return x


@lowers_pairs(*overloads("typecast"))
def copy(emitter: Emitter, x: SSAValue, *given: Any, **__: Any) -> SSAValue:
    if not is_complex(emitter.node.args[0]):
        number = emitter.convert(x, emitter.dtype)
        return _pairs(emitter, number, emitter.full(shape_of(x), 0, emitter.dtype))
    if not is_complex(emitter.node):  # torch warns about it
        x, _ = _parts(emitter, x)
    return emitter.convert(x, emitter.dtype)


@lowers_pairs(*overloads("full"))
def full(emitter: Emitter, _: Any, number: complex, **__: Any) -> SSAValue:
    ((first, second),) = _operands(emitter, number)
    return _pairs(emitter, first, second)
