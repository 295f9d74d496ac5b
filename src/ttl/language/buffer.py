"""Dataflow buffers."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from ttl.diagnostics import RuleBroken, Span, UsageError, codes
from ttl.diagnostics.frames import calling_span
from ttl.semantics.dtypes import DType, dtype_of, find_dtype
from ttl.semantics.html import html_table
from ttl.semantics.layout import TILE_LAYOUT, Layout, layout_of
from ttl.semantics.shards import HeightShards
from ttl.semantics.types import Shape, block_bytes, is_block_shape, tile_count

from .block import Block
from .engine import Engine, engine, running_engine, scope


@dataclass(frozen=True, slots=True, eq=False)
class Backing:
    """The tensor whose shards hold a dataflow buffer, and the buffer's first tile in each shard."""

    tensor: Any
    first_tile: int
    shards: HeightShards


class BufferState(NamedTuple):
    """The blocks of a dataflow buffer on one node: the oldest's position, and counts by state."""

    head: int
    visible: int  # pushed and not popped
    reserved: int  # and not pushed
    free: int


@dataclass(slots=True, eq=False, repr=False)
class DataflowBuffer:
    """A queue of blocks between two kernels of a node."""

    index: int
    shape: Shape
    dtype: DType
    block_count: int
    span: Span | None
    layout: Layout = TILE_LAYOUT
    name: str = ""  # the user's name once the body has run
    backing: Backing | None = None

    def __post_init__(self) -> None:
        self.name = self.name or f"dataflow_buffer_{self.index}"

    def __repr__(self) -> str:
        return f"<dataflow buffer {', '.join(f'{n}: {v}' for n, v in self._facts().items())}>"

    def _repr_html_(self) -> str:
        """Show the buffer in notebooks."""
        return html_table("dataflow buffer", self._facts())

    def _facts(self) -> dict[str, object]:
        """Return the declaration and, in a kernel, the counts of blocks by state."""
        unit = "tiles" if self.layout is TILE_LAYOUT else "elements"
        blocks = f"{self.block_count} of {self.shape} {unit}, {self.dtype}"
        facts: dict[str, object] = {"name": self.name, "blocks": blocks}
        if running_engine(None) is None:
            return facts
        with suppress(Exception, RuleBroken):  # an engine without blocks
            state = self.stats()
            facts["now"] = f"{state.visible} pushed, {state.reserved} reserved, {state.free} free"
        return facts

    @property
    def block_tiles(self) -> int:
        return tile_count(self.shape)

    @property
    def block_bytes(self) -> int:
        return block_bytes(self.shape, self.dtype, self.layout)

    @property
    def capacity_bytes(self) -> int:
        return self.block_bytes * self.block_count

    @property
    def size_bytes(self) -> int:
        """The L1 bytes that it takes: none if a tensor's shards hold it."""
        return self.capacity_bytes if self.backing is None else 0

    @property
    def capacity_tiles(self) -> int:
        return self.block_tiles * self.block_count

    def stats(self) -> BufferState:
        """In kernels: return the current state; other kernels may change it at any time."""
        return engine("stats() of a dataflow buffer").buffer_state(self)

    @property
    def head(self) -> int:
        return self.stats().head

    @property
    def visible(self) -> int:
        return self.stats().visible

    @property
    def reserved(self) -> int:
        return self.stats().reserved

    @property
    def free(self) -> int:
        return self.stats().free

    def reset(self) -> None:
        """Do nothing, as launches start with empty buffers; raise an error if it loses blocks."""
        if running_engine(None) is not None and self.stats().free != self.block_count:
            raise codes.WRONG_ARGUMENT.broken(
                f"reset() of `{self.name}` would lose blocks that are not popped",
                "pop them; at the next launch the buffer is empty in any case",
            )

    def reserve(self, name: str | None = None) -> Block:
        """Return space for one block to write; wait until there is some. `name` has no effect."""
        running: Engine | None = running_engine(None)
        if running is None:
            running = engine("reserve() of a dataflow buffer")
        return running.reserve(self)

    def wait(self, name: str | None = None) -> Block:
        """Return the next block to read; wait until one is pushed. `name` has no effect."""
        running: Engine | None = running_engine(None)
        if running is None:
            running = engine("wait() of a dataflow buffer")
        return running.wait(self)

    def push(self) -> None:
        """Push the oldest block that this kernel has reserved; blocks themselves have push()."""
        engine("push() of a dataflow buffer").release_oldest(self, is_push=True)

    def pop(self) -> None:
        """Pop the oldest block that this kernel has waited for; blocks themselves have pop()."""
        engine("pop() of a dataflow buffer").release_oldest(self, is_push=False)

    def publish(self) -> None:
        """Make the tensor of a tensor-backed buffer readable: push all blocks, once."""
        running = engine("publish() of a dataflow buffer")
        running.begin_publish(self)
        for _ in range(self.block_count):
            running.publish_block(running.reserve(self))

    def can_reserve(self) -> bool:
        """Return whether reserve() would return at once; lets other kernels run first."""
        return engine("can_reserve() of a dataflow buffer").can_reserve(self)

    def can_wait(self) -> bool:
        """Return whether wait() would return at once; lets other kernels run first."""
        return engine("can_wait() of a dataflow buffer").can_wait(self)


def make_dataflow_buffer_like(
    tensor: object = None,
    shape: Shape | int | None = None,
    block_count: int | None = None,
    *,
    buffer_factor: int | None = None,
    likeness_tensor: object = None,
) -> DataflowBuffer:
    """Make a dataflow buffer with blocks of `shape`, like `tensor` in element type and layout.

    The two innermost sizes of `shape` count tiles, the others elements; a single size counts the
    tiles of a row. All count elements if the tensor is row-major. The buffer holds `block_count`
    blocks, by default 2; `buffer_factor` is the older name, and public versions call the tensor
    `likeness_tensor`.
    """
    operation = scope("ttl.make_dataflow_buffer_like()")
    span = calling_span()
    if block_count is not None and buffer_factor is not None:
        raise UsageError(_both_names("block_count", "buffer_factor").at(span))
    if tensor is not None and likeness_tensor is not None:
        raise UsageError(_both_names("tensor", "likeness_tensor").at(span))
    tensor = likeness_tensor if tensor is None else tensor
    sizes: Any = (shape,) if type(shape) is int else shape
    given = block_count if buffer_factor is None else buffer_factor
    block_count = 2 if given is None else given
    if problem := wrong_argument(tensor, sizes, block_count):
        raise UsageError(problem.at(span))
    buffer = DataflowBuffer(
        len(operation.buffers), tuple(sizes), dtype_of(tensor), block_count, span, layout_of(tensor)
    )
    operation.buffers.append(buffer)
    return buffer


def _both_names(name: str, other: str) -> RuleBroken:
    return codes.WRONG_ARGUMENT.broken(
        f"{name}= and {other}= are two names of one thing", f"give {name}= only"
    )


def wrong_argument(tensor: object, shape: object, block_count: object) -> RuleBroken | None:
    """Return what is wrong with the arguments of a dataflow buffer, or None."""
    if find_dtype(tensor) is None:
        return codes.NOT_A_TENSOR.broken(
            f"a dataflow buffer takes its element type from a ttnn tensor, not from {tensor!r}",
            "pass one of the operation's tensor arguments",
        )
    if not is_block_shape(shape):
        return codes.BUFFER_SIZES.broken(
            f"shape={shape!r}: a block has one or more positive sizes",
            "write for example shape=(2, 2)",
        )
    if not isinstance(block_count, int) or isinstance(block_count, bool) or block_count < 1:
        return codes.BUFFER_SIZES.broken(
            f"block_count={block_count!r}: a dataflow buffer holds at least one block",
            "use 2 to let producer and consumer overlap",
        )
    return None
