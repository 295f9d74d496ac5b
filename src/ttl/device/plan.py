"""What a launch passes to ttnn, as plain values: no ttnn is needed to compute or to test it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ttl.artifact import (
    Buffer,
    CompiledOperation,
    ComputeConfig,
    Coordinate,
    CoreArguments,
    Kernel,
    Semaphore,
    ThreadKind,
)
from ttl.target import of_all_chips

# The names of the chips' formats in ttnn, which has no float16.
TTNN_DTYPES = {
    "BFloat16": "bfloat16",
    "Float32": "float32",
    "Int32": "int32",
    "UInt32": "uint32",
    "UInt16": "uint16",
    "UInt8": "uint8",
    "BFP_BFloat8": "bfloat8_b",
    "BFP_BFloat4": "bfloat4_b",
}
# tt-metal wants to hear about every buffer that there could be, on any chip.
UNPACK_MODES = of_all_chips("dataflow_buffers")


@dataclass(frozen=True, slots=True)
class TensorPlace:
    """Where kernels find a tensor: its address, and the words of its TensorAccessorArgs."""

    address: int
    accessor_words: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KernelPlan:
    source: str
    thread: ThreadKind
    compile_time_args: tuple[int, ...]
    common_runtime_args: tuple[int, ...]
    runtime_args: tuple[CoreArguments, ...]
    config: ComputeConfig | None  # compute kernels only
    # One for each buffer index, True where the unpacker writes 32 bits to DST; empty if nowhere.
    unpack_to_dest_fp32: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True)
class BufferPlan:
    index: int
    dtype: str  # ttnn's name
    page_bytes: int
    total_bytes: int
    tensor_offset: int = 0  # where it lies in the shards of a tensor


@dataclass(frozen=True, slots=True)
class ProgramPlan:
    core_range: tuple[Coordinate, Coordinate]  # of the kernels, the buffers and the semaphores
    kernels: tuple[KernelPlan, ...]
    buffers: tuple[BufferPlan, ...]
    semaphores: tuple[Semaphore, ...]


def plan_program(
    compiled: CompiledOperation, tensors: Sequence[TensorPlace], scratch: int | None = None
) -> ProgramPlan:
    """The program of an operation whose tensors, and whose pipes' scratch, lie at these places."""
    assert len(tensors) == len(compiled.operands), "one tensor for each operand"
    return ProgramPlan(
        compiled.core_range,
        tuple(_kernel(compiled, kernel, tensors, scratch) for kernel in compiled.kernels),
        tuple(_buffer(buffer) for buffer in compiled.buffers),
        compiled.semaphores,
    )


def _kernel(
    compiled: CompiledOperation,
    kernel: Kernel,
    tensors: Sequence[TensorPlace],
    scratch: int | None,
) -> KernelPlan:
    """The conventions of the arguments are stated in ttl.artifact.operation."""
    accessors = tensors if kernel.uses_tensor_accessors else ()
    words = [word for tensor in accessors for word in tensor.accessor_words]
    is_compute = kernel.thread is ThreadKind.COMPUTE
    addresses = addresses_of(kernel, [tensor.address for tensor in tensors], scratch)
    return KernelPlan(
        source=kernel.cpp_source,
        thread=kernel.thread,
        compile_time_args=(*compiled.buffer_indices, *words),
        common_runtime_args=tuple(addresses),
        runtime_args=kernel.runtime_args,
        config=kernel.config,
        unpack_to_dest_fp32=_unpack_modes(compiled.buffers) if is_compute else (),
    )


def addresses_of(kernel: Kernel, tensors: Sequence[int], scratch: int | None) -> list[int]:
    """The common runtime arguments of a kernel: what differs between calls."""
    addresses = [tensors[index] for index in kernel.tensor_indices]
    if kernel.uses_pipe_scratch:
        assert scratch is not None
        addresses.append(scratch)
    return addresses


def _unpack_modes(buffers: Sequence[Buffer]) -> tuple[bool, ...]:
    wide = {buffer.index for buffer in buffers if buffer.unpack_to_dest_fp32}
    return tuple(index in wide for index in range(UNPACK_MODES)) if wide else ()


def _buffer(buffer: Buffer) -> BufferPlan:
    return BufferPlan(
        buffer.index,
        TTNN_DTYPES[buffer.data_format],
        buffer.page_bytes,
        buffer.total_bytes,
        buffer.tensor_offset,
    )
