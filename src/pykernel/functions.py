"""The functions for threads."""

from __future__ import annotations

import math as python_math
from collections.abc import Iterable
from typing import Any

from ttl.diagnostics import RuleBroken
from ttl.language import math
from ttl.language.block import Block, BlockExpression
from ttl.language.described import described
from ttl.language.engine import engine
from ttl.semantics.ops import is_number

from .mistakes import refused
from .objects import MemTx, StreamBlock, check_cores, check_remote, rectangle


def core_index(dim: int) -> int:
    """Return the coordinate of the core: dimension 0 is y, 1 is x."""
    check_dim(dim)
    return engine("core_index()").node()[1 - dim]


def check_dim(dim: object) -> None:
    if isinstance(dim, bool) or dim not in (0, 1):
        raise refused(f"core_index({dim!r})", "write core_index(0) for y, core_index(1) for x")


def dma(src: object, dst: object, core: object = None, mcast: object = None) -> MemTx:
    """Start a transfer between a stream and a block, two blocks, or a block and those of others.

    With `core` and `mcast` the block goes to the same place on all cores of a rectangle, but not to
    this core if `src` is `dst`.
    """
    running: Any = engine("dma()")
    running.require_data_movement("dma()")
    check_cores(core, mcast)
    check_remote(isinstance(src, StreamBlock), isinstance(dst, StreamBlock), core)
    for end in (src, dst):
        if not isinstance(end, (StreamBlock, Block)):
            raise no_end(described(end))
    if core is not None:
        nodes = rectangle(core, mcast, running.grid)
        from ttl.sim.multicast import start_multicast  # where dma() runs, the simulator is loaded
        from ttl.sim.place import place_at

        return start_multicast(running, src, dst, nodes, place_at(1))
    if isinstance(src, StreamBlock):
        src = src.part(running)
    elif isinstance(dst, StreamBlock):
        dst = dst.part(running)
    transfer: MemTx = running.copy(src, dst)
    return transfer


def no_end(what: str) -> RuleBroken:
    return refused(
        f"dma() moves blocks, not {what}",
        "write dma(stream[y, x], block), dma(block, stream[y, x]) or dma(block, block)",
    )


# Block math, all of the op table ------------------------------------------------------------------

exp, recip, rsqrt, transpose = math.exp, math.recip, math.rsqrt, math.transpose
maximum = math.max


def sqrt(x: Any) -> Any:
    """Return the square root of a block or of a number."""
    return python_math.sqrt(x) if is_number(x) else math.sqrt(x)


def fill(value: float, shape: Iterable[int]) -> BlockExpression:
    """Return a block of `shape` tiles filled with one value."""
    return math.fill(value, shape=tuple(shape))


def rowmax(x: object, other: object = None) -> BlockExpression:
    """Return the largest element of each row as one column of tiles, at least `other`."""
    largest = math.reduce_max(x, dims=[-1])
    return largest if other is None else math.max(largest, other)


def rowsum(x: object) -> BlockExpression:
    """Return the sum of each row as one column of tiles."""
    return math.reduce_sum(x, dims=[-1])


def bcast(x: object, like: object) -> BlockExpression:
    """Return the first column of `x` in all columns of a block with the shape of `like`."""
    return math.broadcast(x, dims=[-1], shape=shape_like(like))


def shape_like(like: object) -> tuple[int, ...]:
    shape: Any = like.type.shape if isinstance(like, (Block, BlockExpression)) else like
    return tuple(shape)
