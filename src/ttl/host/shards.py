"""Which node of a run has which page of a tensor, where buffers lie in its shards."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import c_uint32

from ttl.artifact import CompiledOperation, Memory

TILE_SIZE = 32
NOWHERE = 2**32 - 1

Homes = ctypes.Array[c_uint32]  # of each page the node, and the page of the shard there


def shard_tiles(memory: Memory) -> int:
    height, width = memory.shard_shape
    return -(-height // TILE_SIZE) * -(-width // TILE_SIZE)


def homes_of(
    compiled: CompiledOperation, operand: int, pages: int, nodes: Sequence[tuple[int, int]]
) -> Homes:
    """The pages of a height-sharded tensor, shard by shard."""
    memory = compiled.operands[operand].memory
    tiles, cores = shard_tiles(memory), memory.shard_cores
    positions = {node: position for position, node in enumerate(nodes)}
    homes: list[int] = []
    for page in range(pages):
        shard, place = divmod(page, tiles)
        homes += (positions.get(cores[shard], NOWHERE), place)
    return (c_uint32 * len(homes))(*homes)
