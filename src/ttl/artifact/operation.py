"""The result of compilation: all that a launcher needs, without the compiler.

Argument conventions of all launchers:
* compile-time arguments of a compute kernel: the buffer indices 0..n-1; of a data movement kernel:
  those, then the TensorAccessor arguments of all tensors of the operation in order;
* common runtime arguments: the addresses of the tensors in `tensor_indices`, in that order, then
  the address of the pipes' scratch memory if the kernel uses it: the same on every node, zeroed
  before each launch;
* runtime arguments of a core: the kernel's `runtime_args`, which may differ between nodes.
A handwritten kernel has OwnArguments instead of the first two. Its tensors have addresses, which
may be anywhere among its arguments.
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


# As in ttl.trace.EventKind. `await`: the next line waits. `..._ends`: ends all that began.
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

    `place` and `value` are C++. The place of a pipe counts the pipes that begin, or end, at the
    node; -1 if unknown: then the oldest open transfer ends.
    """

    cpp_line: int
    kind: MarkKind
    subject: str  # the net or the semaphore; empty if unknown
    place: str
    value: str
    line: int  # the program's


@dataclass(frozen=True, slots=True)
class NamedPipe:
    """A pipe, with the names of the program."""

    net: str
    name: str
    source: Coordinate
    first: Coordinate
    last: Coordinate


@dataclass(frozen=True, slots=True)
class OwnArguments:
    """The arguments of a handwritten kernel, and the cores that run it."""

    compile_time: tuple[int, ...] = ()
    named: tuple[tuple[str, int], ...] = ()
    defines: tuple[tuple[str, str], ...] = ()
    common: tuple[int, ...] = ()
    noc: int | None = None  # data movement kernels; None: the processor's own
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
    runtime_arg_names: tuple[str, ...] = ()  # of get_arg_val(0), get_arg_val(1), ...
    runtime_args: tuple[CoreArguments, ...] = ()  # for every core, or for none
    signposts: tuple[tuple[str, str], ...] = ()  # (the profiler's name, the program's)
    uses_pipe_scratch: bool = False
    marks: tuple[Mark, ...] = ()  # in the order of the C++
    own: OwnArguments | None = None

    @property
    def uses_tensor_accessors(self) -> bool:
        """Whether the words of the tensors' accessors follow the buffer indices."""
        return self.own is None and self.thread is not ThreadKind.COMPUTE

    def span_of(self, cpp_line: int) -> Span | None:
        """Return the Python source of a C++ line."""
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
    compiler_allocated: bool = False  # added by the compiler
    row_bytes: int | None = None  # if a page is a row instead of a tile, with the room after it
    cores: Rectangles = ()  # all, unless some are given
    shares: int | None = None  # the position of the buffer whose memory it has
    tensor: int | None = None  # the operand whose shards hold it, at `tensor_offset` bytes
    tensor_offset: int = 0

    @property
    def page_bytes(self) -> int:
        return PAGE_BYTES[self.data_format] if self.row_bytes is None else self.row_bytes

    @property
    def total_bytes(self) -> int:
        return self.block_tiles * self.block_count * self.page_bytes

    @property
    def own_bytes(self) -> int:
        """The L1 bytes that it takes in addition to other buffers and tensors."""
        return self.total_bytes if self.shares is None and self.tensor is None else 0


@dataclass(frozen=True, slots=True)
class SemaphorePlan:
    index: int
    initial: int = 0


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of a tensor, in the words of ttnn.MemoryConfig.

    A sharded tensor has the ranges of its cores (inclusive corners) and the size of a shard; shards
    with any number of dimensions also have a distribution to cores.
    """

    buffer_type: str = "DRAM"
    memory_layout: str = "INTERLEAVED"
    cores: Rectangles = ()
    shard_shape: tuple[int, ...] = ()
    orientation: str = "ROW_MAJOR"
    distribution: str = ""

    @property
    def shard_cores(self) -> list[Coordinate]:
        """The cores of the shards, in their order."""
        found = []
        for (left, top), (right, bottom) in self.cores:
            across = [(x, y) for y in range(top, bottom + 1) for x in range(left, right + 1)]
            down = sorted(across)
            found += across if self.orientation == "ROW_MAJOR" else down
        return found


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor argument at compile time."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    layout: str
    memory: Memory = Memory()
    address: int | None = None  # if arguments of kernels contain it


@dataclass(frozen=True, slots=True)
class CompiledOperation:
    name: str
    target: str
    device_api: str
    kernels: tuple[Kernel, ...]
    buffers: tuple[Buffer, ...]
    operands: tuple[Operand, ...]
    core_range: Rectangle
    semaphores: tuple[SemaphorePlan, ...] = ()
    pipe_net_count: int = 0
    pipes: tuple[NamedPipe, ...] = ()  # in the order of their nets and in these; for traces
    pipe_scratch_bytes: int = 0  # of L1 on every node

    @property
    def buffer_indices(self) -> tuple[int, ...]:
        """The compile-time arguments that every kernel begins with."""
        return tuple(buffer.index for buffer in self.buffers)
