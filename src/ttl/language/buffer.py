"""Dataflow buffers."""

from __future__ import annotations

from typing import Any

from ttl.diagnostics import RuleBroken, Span, UsageError, codes
from ttl.diagnostics.frames import calling_span
from ttl.semantics.dtypes import DType
from ttl.semantics.types import BlockType, Shape, is_block_shape, tile_count

from .block import Block
from .engine import engine, scope


class DataflowBuffer:
    """A queue of blocks between two kernels of a node."""

    __slots__ = ("block_count", "dtype", "index", "name", "shape", "span")

    def __init__(
        self, index: int, shape: Shape, dtype: DType, block_count: int, span: Span | None
    ):
        self.index = index
        self.name = f"dataflow_buffer_{index}"  # the user's name once the body has run
        self.shape = shape
        self.dtype = dtype
        self.block_count = block_count
        self.span = span

    @property
    def block_type(self) -> BlockType:
        return BlockType(self.shape, self.dtype)

    @property
    def block_tiles(self) -> int:
        return tile_count(self.shape)

    @property
    def size_bytes(self) -> int:
        return self.block_tiles * self.block_count * self.dtype.tile_bytes

    def reserve(self) -> Block:
        """Space for one block to write; waits until there is some."""
        return engine("reserve() of a dataflow buffer").reserve(self)

    def wait(self) -> Block:
        """The next block to read; waits until one was pushed."""
        return engine("wait() of a dataflow buffer").wait(self)


def make_dataflow_buffer_like(tensor: Any, shape: Shape, block_count: int = 2) -> DataflowBuffer:
    """A dataflow buffer with blocks of `shape` (in tiles) and the element type of `tensor`."""
    operation = scope("ttl.make_dataflow_buffer_like()")
    span = calling_span()
    if problem := _wrong_argument(tensor, shape, block_count):
        raise UsageError(problem.at(span))
    buffer = DataflowBuffer(
        len(operation.buffers), tuple(shape), tensor.dtype, block_count, span
    )
    operation.buffers.append(buffer)
    return buffer


def _wrong_argument(tensor: Any, shape: Any, block_count: Any) -> RuleBroken | None:
    if not isinstance(getattr(tensor, "dtype", None), DType):
        return RuleBroken(
            codes.NOT_A_TENSOR,
            f"a dataflow buffer takes its element type from a ttnn tensor, not from {tensor!r}",
            helps=("pass one of the operation's tensor arguments",),
        )
    if not is_block_shape(shape):
        return RuleBroken(
            codes.WRONG_ARGUMENT,
            f"shape={shape!r}: a block of tiles has two or more positive sizes",
            helps=("write for example shape=(2, 2)",),
        )
    if not isinstance(block_count, int) or block_count < 1:
        return RuleBroken(
            codes.WRONG_ARGUMENT,
            f"block_count={block_count!r}: a dataflow buffer holds at least one block",
            helps=("use 2 to let producer and consumer overlap",),
        )
    return None
