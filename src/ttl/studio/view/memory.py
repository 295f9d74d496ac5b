"""Maps the L1 of a node while an operation runs.

Buffers start at the beginning of program memory, in the artifact's order, then come the words of
pipes; tensors are at the other end, where ttnn allocates them.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, prod

from ttl.artifact import Buffer, CompiledOperation, Operand
from ttl.semantics.dtypes import DTYPES
from ttl.semantics.types import tiles_of
from ttl.target import Target, load

from .sources import PageValues


def l1_map(compiled: CompiledOperation) -> PageValues:
    """Return the regions by address, and the bytes that a node has for programs."""
    target = load(compiled.target)
    low = list(_from_below(compiled, target))
    used = max((each["start"] + each["bytes"] for each in low), default=0)
    high = list(_from_above(compiled, target))
    end = min((each["start"] for each in high), default=target.worker_l1_bytes)
    free = {"kind": "free", "name": "free", "start": used, "bytes": max(0, end - used)}
    return {"bytes": target.worker_l1_bytes, "regions": [*low, free, *reversed(high)]}


def _from_below(compiled: CompiledOperation, target: Target) -> Iterator[PageValues]:
    starts: list[int] = []
    top = 0
    for number, buffer in enumerate(compiled.buffers):
        starts.append(top if buffer.shares is None else starts[buffer.shares])
        if buffer.tensor is None:
            yield _of_buffer(buffer, number, starts[-1])
            top = max(top, starts[-1] + _align(buffer.total_bytes, target))
    if compiled.pipe_scratch_bytes:
        yield {
            "kind": "pipes",
            "name": "words of pipes",
            "start": top,
            "bytes": compiled.pipe_scratch_bytes,
        }


def _of_buffer(buffer: Buffer, number: int, start: int) -> PageValues:
    kind = "compiler" if buffer.compiler_allocated else "buffer"
    return {
        "kind": kind,
        "name": buffer.name,
        "start": start,
        "bytes": buffer.total_bytes,
        "buffer": number,
        "cores": buffer.cores,
    }


def _align(size: int, target: Target) -> int:
    return ceil(size / target.dram_alignment_bytes) * target.dram_alignment_bytes


def _from_above(compiled: CompiledOperation, target: Target) -> Iterator[PageValues]:
    top = target.worker_l1_bytes
    for operand in compiled.operands:
        if operand.memory.buffer_type != "L1":
            continue
        size = _align(count_node_bytes(operand, target), target)
        top -= size
        yield {
            "kind": "tensor",
            "name": operand.name,
            "start": top,
            "bytes": size,
            "cores": operand.memory.cores,
        }


def count_node_bytes(operand: Operand, target: Target) -> int:
    """Return the bytes of one shard, or of a node's pages of a tensor without shards."""
    dtype = DTYPES[operand.dtype]
    shape = operand.memory.shard_shape or operand.shape
    if operand.layout == "TILE":
        size = prod(tiles_of(shape)) * dtype.tile_bytes
    else:
        size = prod(shape) * dtype.element_bytes
    if operand.memory.shard_shape:
        return size
    return ceil(size / prod(target.default_grid))
