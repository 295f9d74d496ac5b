"""Lowers arithmetic, comparisons, selection and constants, mostly rows of the table."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from xdsl.ir import SSAValue

from ttgraph import graph_ops
from ttgraph.graph_ops import GRAPH_OPS

from .emitter import Emitter, Lowering, lowers, overloads

aten = torch.ops.aten


def operand(emitter: Emitter, value: Any, dtype: torch.dtype) -> SSAValue:
    """Return a value or number in the result's shape and in the type of the computation."""
    if isinstance(value, SSAValue):
        return emitter.broadcast(emitter.convert(value, dtype), emitter.shape)
    return emitter.full(emitter.shape, value, dtype)


# Rows of the table --------------------------------------------------------------------------------


def _unary(name: str) -> Lowering:
    def lower(emitter: Emitter, x: SSAValue) -> SSAValue:
        return emitter.unary(name, emitter.convert(x, emitter.dtype))

    return lower


def _binary(name: str) -> Lowering:
    """Make a lowering; add and sub have a factor for the second operand."""

    def lower(
        emitter: Emitter, x: Any, y: Any, alpha: Any = 1, rounding_mode: str = ""
    ) -> SSAValue:
        dtype = emitter.dtype
        second = operand(emitter, y, dtype)
        if alpha != 1:
            second = emitter.binary("multiply", second, operand(emitter, alpha, dtype))
        return emitter.binary(name, operand(emitter, x, dtype), second)

    return lower


def _compare(direction: str) -> Lowering:
    def lower(emitter: Emitter, x: Any, y: Any) -> SSAValue:
        given = emitter.node.args
        samples = [each.meta["val"] if isinstance(each, fx.Node) else each for each in given]
        dtype = torch.result_type(*samples)
        left, right = (operand(emitter, each, dtype) for each in (x, y))
        return emitter.compare(direction, left, right)

    return lower


def _lowering(name: str) -> Lowering:
    kind, _, direction = GRAPH_OPS[name].stablehlo.partition(".")[2].partition(" ")
    if direction:
        return _compare(direction)
    return _unary(kind) if name in graph_ops.UNARY else _binary(kind)


for _name in (*graph_ops.UNARY, *graph_ops.BINARY):
    lowers(*overloads(_name))(_lowering(_name))
# Only the division of integers, towards 0, is left of these.
lowers(aten.div.Tensor_mode, aten.div.Scalar_mode)(_binary("divide"))


# Selection ----------------------------------------------------------------------------------------


@lowers(*overloads("where"))
def where(emitter: Emitter, condition: SSAValue, x: Any, y: Any) -> SSAValue:
    chosen = operand(emitter, condition, torch.bool)
    values = [operand(emitter, each, emitter.dtype) for each in (x, y)]
    return emitter.select(chosen, *values)


@lowers(aten.clamp.default, aten.clamp.Tensor)
def clamp(emitter: Emitter, x: SSAValue, low: Any = None, high: Any = None) -> SSAValue:
    dtype = emitter.dtype
    result = emitter.convert(x, dtype)
    for name, limit in (("maximum", low), ("minimum", high)):
        if limit is not None:
            result = emitter.binary(name, result, operand(emitter, limit, dtype))
    return result


# Constants ----------------------------------------------------------------------------------------


@lowers(*overloads("empty"))
def empty(emitter: Emitter, *_: Any, **__: Any) -> SSAValue:
    """Emit zeros for an uninitialized tensor."""
    return emitter.full(emitter.shape, 0, emitter.dtype)


@lowers(*overloads("full"))
def full(emitter: Emitter, _: Any, number: Any, **__: Any) -> SSAValue:
    return emitter.full(emitter.shape, number, emitter.dtype)


@lowers(aten.scalar_tensor.default)
def scalar_tensor(emitter: Emitter, number: Any, **_: Any) -> SSAValue:
    return emitter.scalar(number, emitter.dtype)


@lowers(*overloads("arange"))
def arange(emitter: Emitter, start: Any, stop: Any, step: Any = 1, **_: Any) -> SSAValue:
    dtype = emitter.dtype
    counted = emitter.positions(emitter.shape, 0, dtype)
    if step != 1:
        counted = emitter.binary("multiply", counted, operand(emitter, step, dtype))
    if start != 0:
        counted = emitter.binary("add", counted, operand(emitter, start, dtype))
    return counted
