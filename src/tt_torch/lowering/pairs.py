"""Complex numbers: pairs along one more dimension, the last, as torch.view_as_real has them.

What is needed to turn positions by them is here: products, sums, and what moves elements.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx
from xdsl.ir import SSAValue

from ttl.dialects.stablehlo import GatherOp, shape_of

from . import shapes
from .emitter import PAIRS, Emitter, Lowering, is_complex, overloads, unsupported

aten = torch.ops.aten


def lowers_pairs(*ops: Any) -> Callable[[Lowering], Lowering]:
    """The decorated function lowers these operations where they have complex numbers."""

    def add(function: Lowering) -> Lowering:
        PAIRS.update(dict.fromkeys(ops, function))
        return function

    return add


def _shape(node: fx.Node) -> tuple[int, ...]:
    return tuple(int(size) for size in node.meta["val"].shape)


def _parts(emitter: Emitter, value: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The real parts and the imaginary ones."""
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


def _operands(emitter: Emitter, node: fx.Node, *values: Any) -> list[tuple[SSAValue, SSAValue]]:
    """Both parts of each operand, in the shape and the type of the result."""
    shape, dtype = _shape(node), node.meta["val"].dtype.to_real()
    found = []
    for value, own in zip(values, node.args, strict=False):
        if isinstance(value, SSAValue) and is_complex(own):
            parts = _parts(emitter, value)
        elif isinstance(value, SSAValue):
            parts = value, emitter.full(shape, 0, dtype)
        else:
            number = complex(value)
            parts = (
                emitter.full(shape, number.real, dtype), emitter.full(shape, number.imag, dtype)
            )  # fmt: skip
        first, second = (emitter.broadcast(emitter.convert(each, dtype), shape) for each in parts)
        found.append((first, second))
    return found


# Arithmetic ---------------------------------------------------------------------------------------


@lowers_pairs(aten.mul.Tensor, aten.mul.Scalar)
def multiply(emitter: Emitter, node: fx.Node, x: Any, y: Any) -> SSAValue:
    (a, b), (c, d) = _operands(emitter, node, x, y)

    def product(first: SSAValue, second: SSAValue) -> SSAValue:
        return emitter.binary("multiply", first, second)

    real = emitter.binary("subtract", product(a, c), product(b, d))
    return _pairs(emitter, real, emitter.binary("add", product(a, d), product(b, c)))


def _of_both(name: str) -> Lowering:
    def lower(emitter: Emitter, node: fx.Node, x: Any, y: Any, alpha: Any = 1) -> SSAValue:
        if alpha != 1:
            raise unsupported(f"no lowering for {node.target} of complex numbers with alpha", node)
        parts = zip(*_operands(emitter, node, x, y), strict=True)
        return _pairs(emitter, *(emitter.binary(name, *each) for each in parts))

    return lower


PAIRS |= {aten.add.Tensor: _of_both("add"), aten.sub.Tensor: _of_both("subtract")}


@lowers_pairs(aten.neg.default)
def negate(emitter: Emitter, node: fx.Node, x: SSAValue) -> SSAValue:
    return emitter.unary("negate", x)


@lowers_pairs(aten._conj.default, aten.conj_physical.default)
def conjugate(emitter: Emitter, node: fx.Node, x: SSAValue) -> SSAValue:
    real, imaginary = _parts(emitter, x)
    return _pairs(emitter, real, emitter.unary("negate", imaginary))


@lowers_pairs(aten.polar.default)
def polar(emitter: Emitter, node: fx.Node, length: SSAValue, angle: SSAValue) -> SSAValue:
    parts = [
        emitter.binary("multiply", length, emitter.unary(name, angle))
        for name in ("cosine", "sine")
    ]
    return _pairs(emitter, *parts)


@lowers_pairs(aten.complex.default)
def of_parts(emitter: Emitter, node: fx.Node, real: SSAValue, imaginary: SSAValue) -> SSAValue:
    return _pairs(emitter, real, imaginary)


@lowers_pairs(aten.abs.default)
def length(emitter: Emitter, node: fx.Node, x: SSAValue) -> SSAValue:
    real, imaginary = (emitter.binary("multiply", each, each) for each in _parts(emitter, x))
    return emitter.unary("sqrt", emitter.binary("add", real, imaginary))


@lowers_pairs(aten.sum.dim_IntList)
def total(
    emitter: Emitter, node: fx.Node, x: SSAValue, dims: Sequence[int], keep: bool = False, **_: Any
) -> SSAValue:
    rank = len(shape_of(x)) - 1
    chosen = [dim % rank for dim in dims] or list(range(rank))
    return emitter.reduce("add", x, chosen, 0, keep)


# What moves elements ------------------------------------------------------------------------------


@lowers_pairs(aten.view_as_complex.default, aten.view_as_real.default, operator.getitem)
def same(emitter: Emitter, node: fx.Node, x: Any, *index: int) -> SSAValue:
    found: SSAValue = x[index[0]] if index else x
    return found


@lowers_pairs(*overloads("typecast"))
def copy(emitter: Emitter, node: fx.Node, x: SSAValue, *_: Any, **__: Any) -> SSAValue:
    dtype = node.meta["val"].dtype
    if not is_complex(node.args[0]):
        number = emitter.convert(x, dtype.to_real())
        return _pairs(emitter, number, emitter.full(shape_of(x), 0, dtype.to_real()))
    if not dtype.is_complex:  # torch warns about it
        return emitter.convert(_parts(emitter, x)[0], dtype)
    return emitter.convert(x, dtype.to_real())


@lowers_pairs(*overloads("reshape"))
def reshape(emitter: Emitter, node: fx.Node, x: SSAValue, *_: Any) -> SSAValue:
    return emitter.reshape(x, (*_shape(node), 2))


@lowers_pairs(*overloads("expand"))
def expand(emitter: Emitter, node: fx.Node, x: SSAValue, *_: Any, **__: Any) -> SSAValue:
    return emitter.broadcast(x, (*_shape(node), 2))


@lowers_pairs(*overloads("permute"))
def permute(emitter: Emitter, node: fx.Node, x: SSAValue, order: Sequence[int]) -> SSAValue:
    return emitter.transpose(x, [*(dim % len(order) for dim in order), len(order)])


@lowers_pairs(*overloads("full"))
def full(emitter: Emitter, node: fx.Node, _: Any, number: complex, **__: Any) -> SSAValue:
    ((first, second),) = _operands(emitter, node, number)
    return _pairs(emitter, first, second)


@lowers_pairs(*overloads("concat"))
def cat(emitter: Emitter, node: fx.Node, parts: Sequence[SSAValue], dim: int = 0) -> SSAValue:
    return emitter.concatenate(parts, dim % len(_shape(node)))


def _along(lowering: Lowering) -> Lowering:
    """What goes along a dimension, which is counted from the first."""

    def lower(
        emitter: Emitter, node: fx.Node, x: SSAValue, dim: int = 0, *args: Any
    ) -> SSAValue | list[SSAValue]:
        return lowering(emitter, node, x, dim % (len(shape_of(x)) - 1), *args)

    return lower


def _selected(emitter: Emitter, node: fx.Node, x: SSAValue, dim: int, index: int) -> SSAValue:
    index %= shape_of(x)[dim]
    return emitter.reshape(emitter.cut(x, dim, index, index + 1), (*_shape(node), 2))


@lowers_pairs(aten.index_select.default)
def index_select(
    emitter: Emitter, node: fx.Node, x: SSAValue, dim: int, index: SSAValue
) -> SSAValue:
    taken = emitter.add(GatherOp.of(x, dim % len(_shape(node)), index))
    return emitter.reshape(taken, (*_shape(node), 2))


@lowers_pairs(*overloads("embedding"))
def embedding(
    emitter: Emitter, node: fx.Node, weight: SSAValue, index: SSAValue, *_: Any
) -> SSAValue:
    return emitter.add(GatherOp.of(weight, 0, index))


PAIRS |= {
    aten.slice.Tensor: _along(shapes.slice_tensor),
    aten.select.int: _along(_selected),
}
