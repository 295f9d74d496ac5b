"""The largest and smallest elements and where they are, and sums of all elements so far."""

from __future__ import annotations

from math import prod
from typing import Any

import torch
from torch import fx
from xdsl.ir import SSAValue

from ttl.dialects.stablehlo import shape_of

from .elementwise import result_dtype
from .emitter import Emitter, Lowering, dtype_of, lowers, unsupported
from .indexing import INDEX, check_steps
from .matrix import highest, lowest
from .shapes import pad

aten = torch.ops.aten


def _extreme(
    emitter: Emitter, x: SSAValue, dim: int, largest: bool, left: SSAValue | None = None
) -> tuple[SSAValue, SSAValue]:
    """The largest or smallest of those that are left, and its first place; `dim` stays, of size 1.

    What is no number comes before all others.
    """
    shape, dtype = shape_of(x), dtype_of(x)
    name, neutral = ("maximum", lowest(dtype)) if largest else ("minimum", highest(dtype))
    given = x if left is None else emitter.select(left, x, emitter.full(shape, neutral, dtype))
    found = emitter.reduce(name, given, [dim], neutral, keep=True)
    wide = emitter.broadcast(found, shape)
    here = emitter.compare("EQ", x, wide)
    if dtype.is_floating_point:
        both = emitter.binary("and", emitter.compare("NE", x, x), emitter.compare("NE", wide, wide))
        here = emitter.binary("or", here, both)
    if left is not None:
        here = emitter.binary("and", here, left)
    return found, _first(emitter, here, dim)


def _first(emitter: Emitter, here: SSAValue, dim: int) -> SSAValue:
    """The first place along a dimension that is true, or the size of the dimension."""
    shape = shape_of(here)
    counted = emitter.positions(shape, dim, INDEX)
    place = emitter.select(here, counted, emitter.full(shape, shape[dim], INDEX))
    return emitter.reduce("minimum", place, [dim], torch.iinfo(INDEX).max, keep=True)


def _smallest(emitter: Emitter, x: SSAValue, dim: int, left: SSAValue) -> tuple[SSAValue, SSAValue]:
    """As _extreme(), but what is no number comes behind all others."""
    if not dtype_of(x).is_floating_point:
        return _extreme(emitter, x, dim, False, left)
    is_number = emitter.compare("EQ", x, x)
    found, place = _extreme(emitter, x, dim, False, emitter.binary("and", left, is_number))
    shape = shape_of(place)
    is_there = emitter.compare("LT", place, emitter.full(shape, shape_of(x)[dim], INDEX))
    nan = emitter.full(shape, float("nan"), dtype_of(x))
    place = emitter.select(is_there, place, _first(emitter, left, dim))
    return emitter.select(is_there, found, nan), place


def _place(largest: bool) -> Lowering:
    def lower(
        emitter: Emitter, node: fx.Node, x: SSAValue, dim: int | None = None, keepdim: bool = False
    ) -> SSAValue:
        shape = shape_of(x) if dim is not None and shape_of(x) else (prod(shape_of(x)),)
        x = emitter.reshape(x, shape)
        found = _extreme(emitter, x, (dim or 0) % len(shape), largest)
        return emitter.reshape(found[1], node.meta["val"].shape)

    return lower


def _with_place(largest: bool) -> Lowering:
    def lower(
        emitter: Emitter, node: fx.Node, x: SSAValue, dim: int, keepdim: bool = False
    ) -> list[SSAValue]:
        x = emitter.reshape(x, shape_of(x) or (1,))
        found = _extreme(emitter, x, dim % len(shape_of(x)), largest)
        return [emitter.reshape(each, node.meta["val"][0].shape) for each in found]

    return lower


lowers(aten.argmax.default)(_place(largest=True))
lowers(aten.argmin.default)(_place(largest=False))
lowers(aten.max.dim)(_with_place(largest=True))
lowers(aten.min.dim)(_with_place(largest=False))


@lowers(aten.topk.default)
def topk(
    emitter: Emitter,
    node: fx.Node,
    x: SSAValue,
    count: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
) -> list[SSAValue]:
    """The first, then the first of the others, and so on."""
    shape = shape_of(x)
    if not shape or not count:
        raise unsupported(f"no lowering for {node.target} of {count} of {shape}", node)
    check_steps(node, count)
    dim %= len(shape)
    left = emitter.full(shape, True, torch.bool)
    counted, found = emitter.positions(shape, dim, INDEX), []
    for _ in range(count):
        next_one = (
            _extreme(emitter, x, dim, True, left) if largest else _smallest(emitter, x, dim, left)
        )
        found.append(next_one)
        taken = emitter.broadcast(found[-1][1], shape)
        left = emitter.binary("and", left, emitter.compare("NE", counted, taken))
    return [emitter.concatenate(list(each), dim) for each in zip(*found, strict=True)]


@lowers(aten.sort.default, aten.sort.stable)
def sort(
    emitter: Emitter,
    node: fx.Node,
    x: SSAValue,
    dim: int = -1,
    descending: bool = False,
    stable: bool | None = None,
) -> list[SSAValue]:
    """As many of the first as there are."""
    return topk(emitter, node, x, shape_of(x)[dim], dim, descending)  # type: ignore[return-value]


# Running sums -------------------------------------------------------------------------------------


def _running(name: str, neutral: int) -> Lowering:
    """In steps of 1, 2, 4, ...: each element takes in what stands that far before it."""

    def lower(emitter: Emitter, node: fx.Node, x: SSAValue, dim: int, **_: Any) -> SSAValue:
        dtype, shape = result_dtype(node), shape_of(x)
        wide = torch.float32 if dtype in (torch.bfloat16, torch.float16) else dtype
        x = emitter.convert(x, wide)
        step, axis = 1, dim % max(1, len(shape))
        while shape and step < shape[axis]:
            moved = emitter.cut(x, axis, 0, shape[axis] - step)
            x = emitter.binary(name, x, pad(emitter, moved, axis, step, 0, neutral))
            step *= 2
        return emitter.convert(x, dtype)

    return lower


lowers(aten.cumsum.default)(_running("add", 0))
lowers(aten.cumprod.default)(_running("multiply", 1))
