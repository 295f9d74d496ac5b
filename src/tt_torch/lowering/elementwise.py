"""Arithmetic, comparisons, choices and constants; most of it rows of the table."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from xdsl.ir import SSAValue

from ttl.semantics import graph_ops
from ttl.semantics.graph_ops import GRAPH_OPS

from .emitter import Emitter, Lowering, lowers, overloads

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


# Rows of the table --------------------------------------------------------------------------------

def _unary(name: str) -> Lowering:
    def lower(emitter: Emitter, node: fx.Node, x: SSAValue) -> SSAValue:
        return emitter.unary(name, emitter.convert(x, result_dtype(node)))

    return lower


def _binary(name: str) -> Lowering:
    """add and sub have a factor for the second operand."""

    def lower(
        emitter: Emitter, node: fx.Node, x: Any, y: Any, alpha: Any = 1, rounding_mode: str = ""
    ) -> SSAValue:
        dtype = result_dtype(node)
        second = operand(emitter, y, node, dtype)
        if alpha != 1:
            second = emitter.binary("multiply", second, operand(emitter, alpha, node, dtype))
        return emitter.binary(name, operand(emitter, x, node, dtype), second)

    return lower


def _compare(direction: str) -> Lowering:
    def lower(emitter: Emitter, node: fx.Node, x: Any, y: Any) -> SSAValue:
        samples = [each.meta["val"] if isinstance(each, fx.Node) else each for each in node.args]
        dtype = torch.result_type(*samples)
        left, right = (operand(emitter, each, node, dtype) for each in (x, y))
        return emitter.compare(direction, left, right)

    return lower


def _lowering(name: str) -> Lowering:
    kind, _, direction = GRAPH_OPS[name].stablehlo.partition(".")[2].partition(" ")
    if direction:
        return _compare(direction)
    return _unary(kind) if name in graph_ops.UNARY else _binary(kind)


for _name in (*graph_ops.UNARY, *graph_ops.BINARY):
    lowers(*overloads(_name))(_lowering(_name))
# What is left of these is the division of whole numbers, towards 0.
lowers(aten.div.Tensor_mode, aten.div.Scalar_mode)(_binary("divide"))


# Choices ------------------------------------------------------------------------------------------


@lowers(*overloads("where"))
def where(emitter: Emitter, node: fx.Node, condition: SSAValue, x: Any, y: Any) -> SSAValue:
    chosen = operand(emitter, condition, node, torch.bool)
    values = [operand(emitter, each, node, result_dtype(node)) for each in (x, y)]
    return emitter.select(chosen, *values)


@lowers(aten.clamp.default, aten.clamp.Tensor)
def clamp(
    emitter: Emitter, node: fx.Node, x: SSAValue, low: Any = None, high: Any = None
) -> SSAValue:
    dtype = result_dtype(node)
    result = emitter.convert(x, dtype)
    for name, limit in (("maximum", low), ("minimum", high)):
        if limit is not None:
            result = emitter.binary(name, result, operand(emitter, limit, node, dtype))
    return result


# Constants ----------------------------------------------------------------------------------------


@lowers(*overloads("empty"))
def empty(emitter: Emitter, node: fx.Node, *_: Any, **__: Any) -> SSAValue:
    """What is not initialized is zero."""
    return emitter.full(node.meta["val"].shape, 0, result_dtype(node))


@lowers(*overloads("full"))
def full(emitter: Emitter, node: fx.Node, _: Any, number: Any, **__: Any) -> SSAValue:
    return emitter.full(node.meta["val"].shape, number, result_dtype(node))


@lowers(aten.scalar_tensor.default)
def scalar_tensor(emitter: Emitter, node: fx.Node, number: Any, **_: Any) -> SSAValue:
    return emitter.scalar(number, result_dtype(node))


@lowers(*overloads("arange"))
def arange(
    emitter: Emitter, node: fx.Node, start: Any, stop: Any, step: Any = 1, **_: Any
) -> SSAValue:
    dtype = result_dtype(node)
    counted = emitter.positions(node.meta["val"].shape, 0, dtype)
    if step != 1:
        counted = emitter.binary("multiply", counted, operand(emitter, step, node, dtype))
    if start != 0:
        counted = emitter.binary("add", counted, operand(emitter, start, node, dtype))
    return counted
