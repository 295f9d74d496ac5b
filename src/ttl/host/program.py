"""The runtime's structures (runtime/program.h) and how an operation fills them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, c_char, c_char_p, c_uint8, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any

from ttl.artifact import (
    Buffer,
    CompiledOperation,
    Kernel,
    Rectangles,
    SemaphorePlan,
    ThreadKind,
)
from ttl.target import Target
from ttl.target.data_formats import MATH_FIDELITIES

from .memory import TensorMemory
from .shards import Homes, homes_of, shard_tiles

FIRST_TENSOR_ADDRESS = 0x100000
TENSOR_ADDRESS_STEP = 0x1000

DONE, FAULT, DEADLOCK, UNKNOWN_FORMAT, NO_MEMORY, SPINNING, NOT_RESERVED, STOPPED, NO_DIVISOR = (
    range(9)
)
NO_CALLS, COUNTS, CALLS = range(3)
AWAIT_DATA, AWAIT_SPACE, AWAIT_EQUAL, AWAIT_AT_LEAST = range(4)
WORDS_PER_HEARTBEAT = 8  # running.h
READ_AHEAD = "bool has_room = "  # in kernels that a pass made read ahead (ttkernel_read_ahead.py)
NOBODY = 2**32 - 1  # in the place of a kernel or a semaphore

Mask = ctypes.Array[c_uint8]


def words(names: str) -> list[tuple[str, Any]]:
    """Fields of 32 bits, by their names."""
    return [(name, c_uint32) for name in names.split()]


class BufferStruct(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("format", c_char_p),
        *words("index page_bytes block_pages pages unpack_to_dest_fp32 shares"),
        *words("tensor tensor_offset"),
        ("nodes", POINTER(c_uint8)),
    ]


class TensorStruct(ctypes.Structure):
    _fields_ = [
        ("bytes", c_void_p),
        ("pages", c_uint64),
        ("homes", POINTER(c_uint32)),
        *words("page_bytes aligned_page_bytes address in_dram written row_bytes element_bytes"),
        *words("unit_bytes used_rows used_columns tile_rows is_sharded shard_bytes"),
    ]


class KernelStruct(ctypes.Structure):
    _fields_ = [
        ("entry", c_void_p),
        *words("thread common_argument_count"),
        ("common_arguments", POINTER(c_uint32)),
        ("arguments", POINTER(c_uint32)),
        ("argument_offsets", POINTER(c_uint32)),
        *words("scratch_argument noc phases"),
        ("nodes", POINTER(c_uint8)),
        *words("reads_ahead"),
    ]


class ProgramStruct(ctypes.Structure):
    _fields_ = [
        *words("first_x first_y last_x last_y"),
        *words("buffer_count tensor_count kernel_count"),
        *words("buffer_alignment dram_read_alignment dst_slots fp32_dest_acc_en"),
        *words("semaphore_count scratch_bytes grid_columns grid_rows"),
        *words("trace is_seeded seed stop follows_writes by_hand is_in_turn thread_count"),
        *words("has_ended records rounds_like_chip"),
        ("step_budget", c_uint64),
        ("heartbeats", POINTER(c_uint64)),
        ("threads", POINTER(c_uint64)),
        ("runner", c_void_p),
        ("code_begin", c_uint64),
        ("code_end", c_uint64),
        ("semaphores", POINTER(c_uint32)),
        ("virtual_columns", POINTER(c_uint8)),
        ("virtual_rows", POINTER(c_uint8)),
        ("buffers", POINTER(BufferStruct)),
        ("tensors", POINTER(TensorStruct)),
        ("kernels", POINTER(KernelStruct)),
    ]


class CallSiteStruct(ctypes.Structure):
    _fields_ = [
        ("count", c_uint64),
        *words("kernel line"),
        ("buffers", c_uint32 * 2),
        ("name", c_char * 64),
    ]


class EventStruct(ctypes.Structure):
    _fields_ = [*words("kind node kernel subject"), ("value", c_uint64), *words("line unused")]


class WaitingStruct(ctypes.Structure):
    _fields_ = words("node kernel line awaits subject value wanted")


class LeftoverStruct(ctypes.Structure):
    _fields_ = words("node buffer pages pushed_pages popped_pages producer consumer")


class ClashStruct(ctypes.Structure):
    _fields_ = [
        ("unit", c_uint64),
        *words("tensor is_different node kernel line other_node other_kernel other_line"),
        *words("has_others"),
    ]


class ReportStruct(ctypes.Structure):
    _fields_ = [
        *words("status node kernel line event_count waiting_count leftover_count"),
        ("events", POINTER(EventStruct)),
        ("waiting", POINTER(WaitingStruct)),
        ("leftovers", POINTER(LeftoverStruct)),
        *words("printed_bytes clash_count"),
        ("printed", POINTER(c_uint8)),
        ("call_sites", POINTER(CallSiteStruct)),
        ("calls", c_void_p),
        *words("call_site_count call_count"),
        ("clashes", POINTER(ClashStruct)),
        ("message", c_char * 512),
    ]


@dataclass(frozen=True, slots=True)
class TensorPlan:
    """Where kernels find a tensor."""

    page_bytes: int
    aligned_page_bytes: int
    in_dram: bool
    address: int
    shard_words: tuple[int, ...] = ()

    @property
    def accessor_words(self) -> tuple[int, ...]:
        """The compile-time words of TensorAccessorArgs: kind, aligned page bytes, shards."""
        kind = (2 if self.in_dram else 0) | bool(self.shard_words)
        return (kind, self.aligned_page_bytes, *self.shard_words)


def plan_tensor(
    address: int,
    page_bytes: int,
    memory: str,
    target: Target,
    shard_words: tuple[int, ...] = (),
) -> TensorPlan:
    in_dram = memory == "dram"
    alignment = target.dram_alignment_bytes if in_dram else target.l1_alignment_bytes
    return TensorPlan(
        page_bytes=page_bytes,
        aligned_page_bytes=-(-page_bytes // alignment) * alignment,
        in_dram=in_dram,
        address=address,
        shard_words=shard_words,
    )


@dataclass(frozen=True, slots=True)
class RunOptions:
    trace: bool
    step_budget: int
    seed: int | None = None  # shuffles the order in which transfers land
    threads: int = 1  # that may run nodes
    is_in_turn: bool = False  # the nodes run in the order of one thread
    rounds_like_chip: bool = False
    records: int = NO_CALLS  # what is kept of calls, by kernels whose units record them


@dataclass(frozen=True, slots=True)
class HostProgram:
    """A filled structure and the objects its pointers point into."""

    struct: ProgramStruct
    tensors: ctypes.Array[TensorStruct]
    heartbeats: ctypes.Array[c_uint64]  # change while kernels make calls
    kept_alive: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Parts:
    """Data that all runs of an operation with such tensors share; each run copies it."""

    compiled: CompiledOperation
    plans: tuple[TensorPlan, ...]
    struct: ProgramStruct
    backing: tuple[int, ...]  # the tensors in which buffers lie
    kept_alive: tuple[object, ...]


def program_parts(
    compiled: CompiledOperation,
    target: Target,
    plans: Sequence[TensorPlan],
    entries: Sequence[int],
) -> Parts:
    places = [nodes_mask(compiled, each.cores) for each in compiled.buffers]
    buffers = (BufferStruct * len(compiled.buffers))(*map(_buffer_struct, compiled.buffers, places))
    arguments = [_arguments(compiled, kernel, plans) for kernel in compiled.kernels]
    kernels = (KernelStruct * len(compiled.kernels))(
        *map(_kernel_struct, compiled.kernels, entries, arguments)
    )
    semaphores = _initial_values(compiled.semaphores)
    columns, rows = target.noc_columns, target.noc_rows
    coordinates = (c_uint8 * len(columns))(*columns), (c_uint8 * len(rows))(*rows)
    struct = ProgramStruct(
        buffers=buffers,
        kernels=kernels,
        buffer_count=len(buffers),
        tensor_count=len(plans),
        kernel_count=len(kernels),
        semaphores=semaphores,
        semaphore_count=len(semaphores),
        scratch_bytes=compiled.pipe_scratch_bytes,
        virtual_columns=coordinates[0],
        virtual_rows=coordinates[1],
        grid_columns=len(coordinates[0]),
        grid_rows=len(coordinates[1]),
        follows_writes=not compiled.semaphores and not compiled.pipe_scratch_bytes,
        by_hand=any(kernel.own is not None for kernel in compiled.kernels),
        is_in_turn=must_run_in_turn(compiled),
        **_chip_fields(compiled, target),
    )
    kept = (buffers, places, kernels, arguments, semaphores, coordinates)
    backing = sorted({each.tensor for each in compiled.buffers if each.tensor is not None})
    return Parts(compiled, tuple(plans), struct, tuple(backing), kept)


def make_program(
    parts: Parts, memories: Sequence[TensorMemory], options: RunOptions
) -> HostProgram:
    struct = ProgramStruct.from_buffer_copy(parts.struct)
    tensors = (TensorStruct * len(memories))(*map(_tensor_struct, parts.plans, memories))
    homes = _set_homes(parts, tensors, memories) if parts.backing else []
    heartbeats = (c_uint64 * (options.threads * WORDS_PER_HEARTBEAT))()
    threads = (c_uint64 * options.threads)()
    struct.tensors = tensors
    struct.heartbeats = heartbeats
    struct.threads = threads
    struct.thread_count = options.threads
    struct.step_budget = options.step_budget
    if options.trace:  # these are 0 in the parts
        struct.trace = True
    if options.is_in_turn:
        struct.is_in_turn = True
    if options.records:
        struct.records = options.records
    if options.rounds_like_chip:
        struct.rounds_like_chip = True
    if options.seed is not None:
        struct.is_seeded = True
        struct.seed = options.seed & 0xFFFFFFFF
    return HostProgram(struct, tensors, heartbeats, (parts, memories, homes, threads))


def must_run_in_turn(compiled: CompiledOperation) -> bool:
    """Kernels written by hand may look at any word until it changes and have data of their own that
    all nodes share; what kernels print has an order."""
    return any(each.own is not None or "DPRINT" in each.cpp_source for each in compiled.kernels)


def _set_homes(
    parts: Parts,
    tensors: ctypes.Array[TensorStruct],
    memories: Sequence[TensorMemory],
) -> list[Homes]:
    """Set the addresses of tensors that hold buffers, under all of their names."""
    found, compiled = [], parts.compiled
    for backing in parts.backing:
        alike = [n for n, memory in enumerate(memories) if memory is memories[backing]]
        homes = homes_of(compiled, backing, tensors[backing].pages, nodes_of(compiled))
        found.append(homes)
        for number in alike:
            tensors[number].homes = homes
            tiles = shard_tiles(compiled.operands[backing].memory)
            tensors[number].shard_bytes = tiles * tensors[number].aligned_page_bytes
    return found


def _chip_fields(compiled: CompiledOperation, target: Target) -> dict[str, int]:
    (first_x, first_y), (last_x, last_y) = compiled.core_range
    configs = [kernel.config for kernel in compiled.kernels if kernel.config is not None]
    is_fp32 = any(config.fp32_dest_acc_en for config in configs)
    full_sync = any(config.dst_full_sync_en for config in configs)
    return {
        "first_x": first_x,
        "first_y": first_y,
        "last_x": last_x,
        "last_y": last_y,
        "buffer_alignment": target.dram_alignment_bytes,
        "dram_read_alignment": target.dram_alignment_bytes,
        "dst_slots": target.dst_capacity(fp32=is_fp32, full_sync=full_sync),
        "fp32_dest_acc_en": is_fp32,
    }


def _buffer_struct(buffer: Buffer, nodes: Mask | None) -> BufferStruct:
    return BufferStruct(
        name=buffer.name.encode(),
        format=buffer.data_format.encode(),
        index=buffer.index,
        page_bytes=buffer.page_bytes,
        block_pages=buffer.block_tiles,
        pages=buffer.block_tiles * buffer.block_count,
        unpack_to_dest_fp32=buffer.unpack_to_dest_fp32,
        shares=NOBODY if buffer.shares is None else buffer.shares,
        tensor=NOBODY if buffer.tensor is None else buffer.tensor,
        tensor_offset=buffer.tensor_offset,
        nodes=nodes,
    )


def _tensor_struct(plan: TensorPlan, memory: TensorMemory) -> TensorStruct:
    array = memory.array
    return TensorStruct(
        bytes=array.__array_interface__["data"][0],
        pages=array.nbytes // plan.page_bytes,
        row_bytes=array.strides[-2] if memory.is_in_rows else 0,
        element_bytes=array.itemsize,
        unit_bytes=memory.units.bytes,
        used_rows=memory.units.rows,
        used_columns=memory.units.columns,
        tile_rows=memory.units.tile_rows,
        page_bytes=plan.page_bytes,
        aligned_page_bytes=plan.aligned_page_bytes,
        address=plan.address,
        in_dram=plan.in_dram,
        is_sharded=bool(plan.shard_words),
    )


@dataclass(frozen=True, slots=True)
class _Arguments:
    """The arguments of a kernel: common ones, and those of all nodes one after the other."""

    common: ctypes.Array[c_uint32]
    own: ctypes.Array[c_uint32]
    offsets: ctypes.Array[c_uint32]
    nodes: Mask | None


def _words(values: Sequence[int]) -> ctypes.Array[c_uint32]:
    return (c_uint32 * len(values))(*values)


def _arguments(
    compiled: CompiledOperation, kernel: Kernel, plans: Sequence[TensorPlan]
) -> _Arguments:
    addresses = [plans[index].address for index in kernel.tensor_indices]
    if kernel.own is not None:
        addresses = list(kernel.own.common)
    if kernel.uses_pipe_scratch:
        addresses.append(0)  # the runtime knows it
    of_core = {entry.core: entry.args for entry in kernel.runtime_args}
    own: list[int] = []
    offsets = [0]
    for node in nodes_of(compiled):
        own += of_core.get(node, ())
        offsets.append(len(own))
    nodes = None if kernel.own is None else nodes_mask(compiled, kernel.own.cores)
    return _Arguments(_words(addresses), _words(own), _words(offsets), nodes)


def noc_of(kernel: Kernel) -> int:
    if kernel.own is not None and kernel.own.noc is not None:
        return kernel.own.noc
    return 0 if kernel.thread is ThreadKind.READER else 1


def nodes_mask(compiled: CompiledOperation, cores: Rectangles) -> Mask | None:
    """For each node, whether it is in one of the rectangles; None for no rectangles: all are."""
    if not cores:
        return None
    nodes = nodes_of(compiled)
    inside = [
        any(x0 <= x <= x1 and y0 <= y <= y1 for (x0, y0), (x1, y1) in cores) for x, y in nodes
    ]
    return (c_uint8 * len(nodes))(*inside)


def nodes_of(compiled: CompiledOperation) -> list[tuple[int, int]]:
    """All nodes as (x, y), in the order in which the runtime numbers them."""
    (first_x, first_y), (last_x, last_y) = compiled.core_range
    rows, columns = range(first_y, last_y + 1), range(first_x, last_x + 1)
    return [(x, y) for y in rows for x in columns]


def _kernel_struct(kernel: Kernel, entry: int, arguments: _Arguments) -> KernelStruct:
    return KernelStruct(
        entry=entry,
        thread=list(ThreadKind).index(kernel.thread),
        common_argument_count=len(arguments.common),
        common_arguments=arguments.common,
        arguments=arguments.own if kernel.runtime_args else None,
        argument_offsets=arguments.offsets,
        scratch_argument=len(kernel.tensor_indices) if kernel.uses_pipe_scratch else NOBODY,
        noc=noc_of(kernel),
        phases=_phases(kernel),
        nodes=arguments.nodes,
        reads_ahead=READ_AHEAD in kernel.cpp_source,
    )


def _phases(kernel: Kernel) -> int:
    """Return the phases of products: from 1 for LoFi to 4 for HiFi4."""
    return 0 if kernel.config is None else MATH_FIDELITIES.index(kernel.config.math_fidelity) + 1


def _initial_values(semaphores: Sequence[SemaphorePlan]) -> ctypes.Array[c_uint32]:
    """By id; what lies between those that are declared is garbage."""
    values = [NOBODY] * (max((item.index for item in semaphores), default=-1) + 1)
    for item in semaphores:
        values[item.index] = item.initial & 0xFFFFFFFF
    return _words(values)
