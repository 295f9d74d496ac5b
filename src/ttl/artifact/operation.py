"""What compilation produces: everything a launcher needs, and nothing of the compiler.

Argument conventions, the same for every launcher:
* compile-time arguments of a compute kernel: the buffer indices 0..n-1; of a data movement kernel:
  those, then the TensorAccessor arguments of all tensors of the operation in order;
* common runtime arguments: the addresses of the tensors in `tensor_indices`, in that order, then
  the address of the pipes' scratch memory if the kernel uses it: the same on every node, zeroed
  before each launch;
* runtime arguments of a core: those of the kernel's `runtime_args`, what differs between nodes.
A kernel that was written by hand has OwnArguments in the place of the first two. Its tensors have
addresses, since these may be anywhere among its arguments.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from enum import Enum
from operator import itemgetter

from ttl.diagnostics import Span
from ttl.target.data_formats import PAGE_BYTES as PAGE_BYTES

Coordinate = tuple[int, int]
Rectangle = tuple[Coordinate, Coordinate]  # inclusive corners
Rectangles = tuple[Rectangle, ...]


class ThreadKind(Enum):
    COMPUTE = "compute"
    READER = "reader"
    WRITER = "writer"


@dataclass(frozen=True, slots=True)
class ComputeConfig:
    math_fidelity: str = "HiFi4"  # ttnn's default too
    fp32_dest_acc_en: bool = False
    dst_full_sync_en: bool = False
    math_approx_mode: bool = False
    bfp8_pack_precise: bool = False


@dataclass(frozen=True, slots=True)
class CoreArguments:
    """The runtime arguments of a kernel on one core: 32-bit words, floats as their bits."""

    core: Coordinate
    args: tuple[int, ...]


# Those of ttl.trace.EventKind; `await`: what follows waits; `..._ends`: of all that began.
MarkKind = str
MARK_KINDS = (
    "pipe_send",
    "pipe_send_end",
    "pipe_receive",
    "pipe_receive_end",
    "semaphore_set",
    "semaphore_inc",
    "semaphore_wait",
    "await",
    "pipe_send_ends",
    "pipe_receive_ends",
)


@dataclass(frozen=True, slots=True)
class Mark:
    """An event of a pipe or a semaphore that the executor records before a line of a kernel.

    `place` and `value` are C++. The place of a pipe is among those of the node that begin there, or
    end there; -1 if it is not known: then the oldest transfer ends that has not ended yet.
    """

    cpp_line: int
    kind: MarkKind
    subject: str  # the net or the semaphore; empty if it is not known
    place: str
    value: str
    line: int  # the program's


@dataclass(frozen=True, slots=True)
class Pipe:
    """As the program names it."""

    net: str
    name: str
    source: Coordinate
    first: Coordinate
    last: Coordinate


@dataclass(frozen=True, slots=True)
class OwnArguments:
    """What a kernel that was written by hand gets, and where it runs."""

    compile_time: tuple[int, ...] = ()
    named: tuple[tuple[str, int], ...] = ()
    defines: tuple[tuple[str, str], ...] = ()
    common: tuple[int, ...] = ()
    noc: int | None = None  # data movement kernels; None: that of the processor
    cores: Rectangles = ()


@dataclass(frozen=True, slots=True)
class Kernel:
    """One C++ string for one kind of processor."""

    name: str
    thread: ThreadKind
    cpp_source: str
    tensor_indices: tuple[int, ...] = ()
    config: ComputeConfig | None = None  # compute kernels only
    source_map: tuple[tuple[int, Span], ...] = ()  # (C++ line, Python span), ascending
    runtime_arg_names: tuple[str, ...] = ()  # what get_arg_val(0), get_arg_val(1), ... are
    runtime_args: tuple[CoreArguments, ...] = ()  # of every core, or of none
    signposts: tuple[tuple[str, str], ...] = ()  # (the profiler's name, the program's)
    uses_pipe_scratch: bool = False
    marks: tuple[Mark, ...] = ()  # in the order of the C++
    own: OwnArguments | None = None

    @property
    def uses_tensor_accessors(self) -> bool:
        """Do the words of the tensors' accessors follow the buffer indices?"""
        return self.own is None and self.thread is not ThreadKind.COMPUTE

    def span_of(self, cpp_line: int) -> Span | None:
        """The Python that a C++ line comes from."""
        after = bisect_right(self.source_map, cpp_line, key=itemgetter(0))
        return self.source_map[after - 1][1] if after else None


@dataclass(frozen=True, slots=True)
class Buffer:
    """A dataflow buffer as the chip sees it: a circular buffer of pages."""

    name: str
    index: int
    data_format: str  # a key of PAGE_BYTES
    block_tiles: int
    block_count: int
    unpack_to_dest_fp32: bool = False
    span: Span | None = None
    compiler_allocated: bool = False  # not one of the program's own
    row_bytes: int | None = None  # where a page is a row, not a tile: with the room after it
    cores: Rectangles = ()  # all, unless some are given
    shares: int | None = None  # the position of the buffer whose memory it has
    tensor: int | None = None  # the operand in whose shards it lies, and where in each, in bytes
    tensor_offset: int = 0

    @property
    def page_bytes(self) -> int:
        return PAGE_BYTES[self.data_format] if self.row_bytes is None else self.row_bytes

    @property
    def total_bytes(self) -> int:
        return self.block_tiles * self.block_count * self.page_bytes

    @property
    def own_bytes(self) -> int:
        """Of L1 that it takes beside other buffers and tensors."""
        return self.total_bytes if self.shares is None and self.tensor is None else 0


@dataclass(frozen=True, slots=True)
class Semaphore:
    index: int
    initial: int = 0


@dataclass(frozen=True, slots=True)
class Memory:
    """Where a tensor lies, in the words of ttnn.MemoryConfig.

    A sharded one has the ranges of its cores (inclusive corners) and the size of a shard; shards of
    any number of dimensions also say how they are given to cores.
    """

    buffer_type: str = "DRAM"
    memory_layout: str = "INTERLEAVED"
    cores: Rectangles = ()
    shard_shape: tuple[int, ...] = ()
    orientation: str = "ROW_MAJOR"
    distribution: str = ""

    @property
    def shard_cores(self) -> list[Coordinate]:
        """Those of the shards, in their order."""
        found = []
        for (left, top), (right, bottom) in self.cores:
            across = [(x, y) for y in range(top, bottom + 1) for x in range(left, right + 1)]
            down = sorted(across)
            found += across if self.orientation == "ROW_MAJOR" else down
        return found


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor argument as it was when the operation was compiled."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    layout: str
    memory: Memory = Memory()
    address: int | None = None  # where the arguments of kernels have it


@dataclass(frozen=True, slots=True)
class CompiledOperation:
    name: str
    target: str
    device_api: str
    kernels: tuple[Kernel, ...]
    buffers: tuple[Buffer, ...]
    operands: tuple[Operand, ...]
    core_range: Rectangle
    semaphores: tuple[Semaphore, ...] = ()
    pipe_net_count: int = 0
    pipes: tuple[Pipe, ...] = ()  # in the order of their nets and in these; for traces
    pipe_scratch_bytes: int = 0  # of L1 on every node

    @property
    def buffer_indices(self) -> tuple[int, ...]:
        """The compile-time arguments with which those of every kernel begin."""
        return tuple(buffer.index for buffer in self.buffers)
