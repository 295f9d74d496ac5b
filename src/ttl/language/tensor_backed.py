"""Dataflow buffers in the shards of a tensor, without a copy."""

from __future__ import annotations

from math import prod
from typing import Any

from ttl.diagnostics import RuleBroken, UsageError, codes
from ttl.diagnostics.frames import calling_span
from ttl.semantics.dtypes import bfloat16, dtype_of, float32
from ttl.semantics.layout import TILE_LAYOUT, layout_of
from ttl.semantics.shards import HeightShards, height_shards, memory_words
from ttl.semantics.types import Shape, tile_count, tiles_of

from .buffer import Backing, DataflowBuffer, wrong_argument
from .engine import scope

HELP = (
    "ttnn.to_memory_config() puts a tensor into shards; "
    "ttl.make_dataflow_buffer_like() makes a buffer of its own"
)


def make_tensor_backed_dfb(
    tensor: object, shape: Shape | int, block_count: int = 1, byte_offset: int = 0
) -> DataflowBuffer:
    """Make a dataflow buffer in the node's own shard of a tensor, without a copy.

    The tensor has tiles of bfloat16 or float32 and is height-sharded in L1. The blocks follow each
    other, tile by tile as in the shard, from `byte_offset` on, which must be whole tiles. Pushed
    blocks are in the tensor; the tensor's own data is readable after publish().
    """
    operation = scope("ttl.make_tensor_backed_dfb()")
    span = calling_span()
    sizes: Any = (shape,) if type(shape) is int else shape
    problem = wrong_argument(tensor, sizes, block_count)
    problem = problem or _wrong_tensor(tensor) or _wrong_offset(tensor, byte_offset)
    if problem:
        raise UsageError(problem.at(span))
    dtype, shards = dtype_of(tensor), height_shards(tensor)
    assert shards is not None
    first = byte_offset // dtype.tile_bytes
    problem = _too_large(shards, tuple(sizes), block_count, first)
    if problem := problem or _without_shard(tensor, shards, operation.grid):
        raise UsageError(problem.at(span))
    backing = Backing(tensor, first, shards)
    buffer = DataflowBuffer(
        len(operation.buffers), tuple(sizes), dtype, block_count, span, TILE_LAYOUT, backing=backing
    )
    operation.buffers.append(buffer)
    return buffer


def _refusal(cause: str, help_text: str = HELP) -> RuleBroken:
    return codes.TENSOR_BACKED.broken(cause, help_text)


def _wrong_tensor(tensor: object) -> RuleBroken | None:
    where = "a tensor-backed dataflow buffer lies in the shards of a height-sharded tensor in L1"
    if layout_of(tensor) is not TILE_LAYOUT:
        return _refusal(f"{where}, of tiles; this one is row-major", "use ttnn.TILE_LAYOUT")
    dtype = dtype_of(tensor)
    if dtype not in (bfloat16, float32):
        return _refusal(f"{where}, of bfloat16 or float32; this one is {dtype.spelling}")
    if height_shards(tensor) is None:
        return _refusal(f"{where}; this one is {memory_words(tensor)}")
    return None


def _wrong_offset(tensor: object, byte_offset: object) -> RuleBroken | None:
    page = dtype_of(tensor).tile_bytes
    if type(byte_offset) is int and byte_offset >= 0 and byte_offset % page == 0:
        return None
    return _refusal(
        f"byte_offset={byte_offset!r}: a block starts at a whole tile, and a tile has {page} bytes",
        f"use a multiple of {page}",
    )


def _too_large(
    shards: HeightShards, shape: Shape, block_count: int, first: int
) -> RuleBroken | None:
    block = tile_count(shape)
    if first + block * block_count <= shards.tiles:
        return None
    fitting = max(0, shards.tiles - first) // block
    after = f" after the first {first}" if first else ""
    return _refusal(
        f"{block_count} {'block' if block_count == 1 else 'blocks'} of {shape} tiles are "
        f"{block * block_count} tiles; a shard of {(shards.rows, shards.columns)} has "
        f"{shards.tiles - first}{after}",
        f"block_count={fitting} fits" if fitting else "use smaller blocks, or larger shards",
    )


def _without_shard(tensor: Any, shards: HeightShards, grid: Shape) -> RuleBroken | None:
    """Return what is wrong if a node of the grid has no shard, or an empty one."""
    rows = prod(tiles_of(tuple(tensor.shape))[:-1])
    holders = set(shards.cores[: -(-rows // shards.rows)])
    for node in ((x, y) for y in range(grid[1]) for x in range(grid[0])):
        if node not in holders:
            return _refusal(
                f"node {node} has no shard of the tensor, which is on {len(holders)} cores; the "
                f"grid of the operation is {tuple(grid)}",
                "use a grid of the nodes that have shards, or spread the tensor over the grid",
            )
    return None
