"""Objects for threads: circular buffers, streams, semaphores, transfers.

They wrap the language's dataflow buffers, tensors, semaphores and transfers, and ask the same
engine. `Scope` releases a block at the end of the body that acquired it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from ttl.diagnostics import RuleBroken, codes
from ttl.diagnostics.frames import calling_span
from ttl.language import DataflowBuffer
from ttl.language import Semaphore as LanguageSemaphore
from ttl.language.block import Block as TensorBlock
from ttl.language.described import Described
from ttl.language.engine import Engine, engine
from ttl.language.transfer import Transfer as MemTx
from ttl.semantics.block_protocol import State
from ttl.semantics.tensors import TensorSlice
from ttl.semantics.types import Shape

from .mistakes import NotImplementedYet, diagnostic, refused, wrong_type
from .operands import Argument

__all__ = ["BlockScope", "CircularBuffer", "MemTx", "Semaphore", "Stream", "TensorBlock"]


class Stream(Described):
    """A tensor argument whose blocks a datamovement thread reads: `stream[i, j]`.

    The block at grid coordinate (i, j) has the tiles that core (i, j) would have.
    """

    __slots__ = ("argument", "name", "operand", "span")

    noun = "a stream"
    instead = {"shape": "index it by a coordinate of the grid: stream[y, x]"}  # noqa: RUF012

    def __init__(self, tensor: object, num_buffers: int | None = None):
        span = calling_span()
        if num_buffers is not None:
            text = f"Stream(num_buffers={num_buffers!r}) is not implemented"
            help_text = "leave num_buffers out: a stream has two buffers"
            raise NotImplementedYet(diagnostic(text, help_text, span))
        name = next((name for name, each in ARGUMENTS.get().items() if each is tensor), None)
        if name is None:
            raise wrong_type(
                "Stream must be created from a top level tensor argument",
                "give it a tensor that the function decorated with @pykernel_gen was called with",
                span,
            )
        self.name = name
        self.argument, self.span = tensor, span
        STREAMS.get().append(self)
        self.operand: Argument  # set when the program is called

    @property
    def key_parts(self) -> tuple[object, ...]:
        return self.name, self.operand.grid, self.operand.layout.logical_shape

    def __getitem__(self, index: object) -> StreamBlock:
        return StreamBlock(self, check_index(self, index))


class StreamBlock:
    """A block of a stream."""

    __slots__ = ("index", "stream")

    def __init__(self, stream: Stream, index: tuple[object, ...]):
        self.stream = stream
        self.index = index

    def part(self, running: Engine) -> TensorSlice:
        """Return the block's slice of the tensor."""
        operand = self.stream.operand
        return running.slice(operand.tensor, operand.part(self.index))


def check_index(stream: Stream, index: object) -> tuple[object, ...]:
    """Check a grid coordinate, each part as far as it is known."""
    items = index if isinstance(index, tuple) else (index,)
    if len(items) != len(stream.operand.grid):
        raise refused(
            f"{len(items)} indices for the stream of `{stream.name}`",
            "write stream[y, x], a coordinate of the grid",
            codes.SLICE_OUT_OF_RANGE,
        )
    for dim, (item, size) in enumerate(zip(items, stream.operand.grid, strict=True)):
        if item is None or isinstance(item, (slice, float, str)):
            raise refused(
                f"index {item!r} of the stream of `{stream.name}`",
                "a block is named by integers, a coordinate of the grid: stream[y, x]",
                codes.SLICE_OUT_OF_RANGE,
            )
        if isinstance(item, int) and not 0 <= item < size:
            raise out_of_range(stream, dim, item)
    return items


def out_of_range(stream: Stream, dim: int, index: int) -> RuleBroken:
    size, shape = stream.operand.grid[dim], stream.operand.device_shape
    return codes.SLICE_OUT_OF_RANGE.broken(
        f"index {index} of the stream of `{stream.name}`: dimension {dim} of its grid has {size} "
        f"{'rows' if dim == 0 else 'columns'}, 0 to {size - 1}",
        "index a stream by grid coordinates, for example stream[cy, cx]",
        notes=(f"on the device `{stream.name}` has the shape {list(shape)}: grid, then tiles",),
    )


# The tensors of the running function decorated with @pykernel_gen, by name.
ARGUMENTS: ContextVar[Mapping[str, object]] = ContextVar("pykernel_arguments", default={})  # noqa: B039
# The streams made by that function.
STREAMS: ContextVar[list[Stream]] = ContextVar("pykernel_streams", default=[])  # noqa: B039


class CircularBuffer(Described):
    """A queue of blocks of one tensor argument, between two threads of a core."""

    __slots__ = ("buffer", "is_aliased", "is_streamed", "is_taken", "operand", "stays")

    noun = "a circular buffer"
    names = ("pop", "reserve")
    instead = {  # noqa: RUF012
        "wait": "write pop(), which waits for the next block",
        "push": "leave it out: what was reserved is pushed at the end of its body",
    }

    def __init__(self, buffer: DataflowBuffer, operand: Argument):
        self.buffer, self.operand = buffer, operand
        # Is it the output, with one block that is the core's shard, held from reserve to the end?
        self.is_aliased = False
        # Does another thread take the output's blocks? Then each is pushed when it is published.
        self.is_taken = False
        # Does that thread write them by dma(block, stream[y, x])?
        self.is_streamed = False
        self.stays: dict[int, TensorBlock] = {}  # by the running kernel

    @property
    def name(self) -> str:
        return self.buffer.name

    @property
    def key_parts(self) -> tuple[object, ...]:
        """Return the dependencies of compiled kernels: see driver/signature.py."""
        return self.buffer, self.is_aliased, self.is_taken, self.is_streamed

    def pop(self, scope: Any = None) -> TensorBlock:  # rule SCOPE of bodies.py passes it
        """Return the next block to read; after reserve() in the same thread, its data are ready."""
        running = engine("CircularBuffer.pop()")
        held = self.stays.get(id(running))
        if held is not None:
            if self.is_taken:
                self._push(running)
            else:
                _publish(held)
            return held
        block: TensorBlock = running.wait(self.buffer)
        is_written = self.is_taken and not self.is_streamed
        scope.hold(block, (lambda: self._write(running, block)) if is_written else block.pop)
        return block

    def reserve(self, scope: Any = None) -> TensorBlock:
        """Return space for one block to write."""
        running = engine("CircularBuffer.reserve()")
        held = self.stays.get(id(running))
        if held is not None:
            return held
        block: TensorBlock = running.reserve(self.buffer)
        if self.is_aliased:
            self.stays[id(running)] = block
        if self.is_taken:
            scope.hold(block, lambda: self._push(running))
        elif not self.is_aliased:
            scope.hold(block, block.push)
        return block

    def _push(self, running: Engine) -> None:
        """Push the held block, at most once."""
        held = self.stays.pop(id(running), None)
        if held is not None:
            held.push()

    def push_shard(self) -> None:
        """Push the output's shard, because the thread that writes it has ended."""
        held = self.stays.pop(id(engine("push_shard()")), None)
        if held is None:
            raise codes.BLOCK_STATE.broken(
                f"the output's block of `{self.name}` cannot be pushed now: nothing has been "
                "written to it on this core",
                "reserve the output and store into it on every core",
            )
        _publish(held)
        held.push()

    def fill(self, index: Shape | None = None) -> None:
        """Fill the next block with the tensor's part at `index`, or with the core's shard."""
        running = engine("fill()")
        block = running.reserve(self.buffer)
        running.copy(self._part(running, index), block).wait()
        block.push()

    def empty(self, index: Shape | None = None) -> None:
        """Write the next block to the tensor's part at `index`, or to the core's shard."""
        running = engine("empty()")
        self._write(running, running.wait(self.buffer), index)

    def _write(self, running: Engine, block: TensorBlock, index: Shape | None = None) -> None:
        running.copy(block, self._part(running, index)).wait()
        block.pop()

    def _part(self, running: Engine, index: Shape | None) -> TensorSlice:
        place = running.node()[::-1] if index is None else index
        return running.slice(self.operand.tensor, self.operand.part(place))


def _publish(block: Any) -> None:
    """Mark stored data as consumed, so that the block may be stored to again."""
    if block.state is State.MUST_READ:
        block.state = State.READ_WRITE


class BlockScope:
    """The body of a thread, a loop or a branch, which releases its blocks at its end."""

    __slots__ = ("held",)

    def __init__(self, outer: BlockScope | None = None) -> None:
        self.held: list[tuple[Any, Callable[[], object]]] = []

    def __enter__(self) -> BlockScope:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        for block, release in self.held if error is None else ():
            _publish(block)
            place = block.place
            try:
                release()
            except RuleBroken as broken:  # report it at the acquire
                raise broken.with_place(broken.place or place) from None

    def hold(self, block: TensorBlock, release: Callable[[], object]) -> None:
        self.held.append((block, release))

    def store(self, block: Any, value: object) -> None:
        """Store a value; accumulate a matrix product onto the block's contents."""
        if getattr(value, "is_product", False):
            engine("store()").accumulate(block, value)
            return
        if isinstance(block, TensorBlock):
            _publish(block)  # the new value replaces the old one
        block.store(value)


class Semaphore(Described):
    """A value on each core, 0 at the start; datamovement threads change and wait for it."""

    __slots__ = ("semaphore",)

    noun = "a semaphore"
    names = ("inc", "set", "wait")

    def __init__(self, semaphore: LanguageSemaphore):
        self.semaphore = semaphore

    @property
    def key_parts(self) -> tuple[object, ...]:
        return self.semaphore.index, self.semaphore.name

    def set(self, value: int, core: object = None, mcast: object = None) -> None:
        """Set the value here and, with `core`, on all cores of a rectangle."""
        check_set(core, mcast)
        running = engine("Semaphore.set()")
        running.semaphore_set(self.semaphore, (running.node(),), value, "Semaphore.set()")
        if core is not None:
            nodes = rectangle(core, mcast, running.grid)
            running.semaphore_set(self.semaphore, nodes, value, "Semaphore.set()")

    def inc(self, value: int, core: object = None, mcast: object = None) -> None:
        """Add to the value on another core."""
        check_inc(core, mcast)
        running = engine("Semaphore.inc()")
        running.require_data_movement("Semaphore.inc()")
        (node,) = rectangle(core, (1, 1), running.grid)
        running.semaphore_inc(self.semaphore, node, value)

    def wait(self, value: int, reset: int | None = None) -> None:
        """Wait until the value here is `value`; then set it to `reset`."""
        running = engine("Semaphore.wait()")
        running.require_data_movement("Semaphore.wait()")
        running.semaphore_wait(self.semaphore, value, at_least=False)
        if reset is not None:
            running.semaphore_set(self.semaphore, (running.node(),), reset, "Semaphore.wait()")


# Arguments of dma() and semaphores ----------------------------------------------------------------


def check_set(core: object, mcast: object) -> None:
    if (core is None) != (mcast is None):
        raise refused(
            "Semaphore.set() on a single other core" if mcast is None else "mcast without core",
            "set(v) is for the own core, set(v, core=(y, x), mcast=(rows, columns)) for "
            "several; inc(v, core=(y, x)) changes one other core",
        )


def check_inc(core: object, mcast: object) -> None:
    if mcast is not None:
        raise refused(
            "Semaphore.inc() has no multicast",
            "inc(v, core=(y, x)) for each core, or set(v, core, mcast)",
        )
    if core is None:
        raise refused(
            "Semaphore.inc() changes the value on another core",
            "name the core: inc(v, core=(y, x)); the own value is changed by set(v)",
        )


def check_cores(core: object, mcast: object) -> None:
    if (core is None) != (mcast is None):
        raise refused(
            f"dma() with {'core' if mcast is None else 'mcast'} alone",
            "write both: core=(y, x) of the first receiver, mcast=(rows, columns) of them",
        )


def check_remote(from_stream: bool, to_stream: bool, core: object) -> None:
    if from_stream and to_stream:
        raise refused(
            "dma() from a stream to a stream",
            "read into a block of a circular buffer, then write from it",
        )
    if core is not None and (from_stream or to_stream):
        raise refused(
            "dma() of a stream with core and mcast: reads and writes of streams have one end",
            "dma(stream[y, x], block).wait(), then dma(block, block, core=..., mcast=...)",
        )


def pair(value: object, what: str) -> tuple[Any, Any]:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise refused(f"{what} is {value!r}", f"write {what}=(y, x)")
    return value[0], value[1]


def rectangle(core: object, mcast: object, grid: Sequence[int]) -> tuple[Shape, ...]:
    """Return the nodes (x, y) of `mcast` rows and columns starting at `core`."""
    y, x = pair(core, "core")
    rows, columns = pair(mcast, "mcast")
    if rows < 1 or columns < 1 or y < 0 or x < 0 or x + columns > grid[0] or y + rows > grid[1]:
        raise codes.NODE_OUTSIDE_GRID.broken(
            f"core=({y}, {x}), mcast=({rows}, {columns}) is not in the grid of {grid[1]} rows "
            f"and {grid[0]} columns",
            "core is (y, x) of the first receiver, mcast the rows and columns of them",
        )
    return tuple((x + i, y + j) for j in range(rows) for i in range(columns))
