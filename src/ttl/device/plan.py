"""Compute a launch's arguments for kernels as plain values, without ttnn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ttl.artifact import Buffer, CompiledOperation, Kernel, ThreadKind
from ttl.target import of_all_chips

# ttnn's names of the chips' formats; it has no float16.
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
# tt-metal expects a mode for every possible buffer on any chip.
UNPACK_MODES = of_all_chips("dataflow_buffers")


@dataclass(frozen=True, slots=True)
class TensorPlace:
    """A tensor's place for kernels: its address, and the words of its TensorAccessorArgs."""

    address: int
    accessor_words: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """A kernel with its arguments."""

    kernel: Kernel
    compile_time_args: tuple[int, ...]
    common_runtime_args: tuple[int, ...]
    # One for each buffer index, True if the unpacker writes 32 bits to DST; empty if none does.
    unpack_to_dest_fp32: tuple[bool, ...]


def plan_kernels(
    compiled: CompiledOperation, tensors: Sequence[TensorPlace], scratch: int | None = None
) -> tuple[KernelLaunch, ...]:
    """Plan an operation's kernels, with its tensors and its pipes' scratch at these places.

    ttl.artifact.operation describes the conventions of the arguments.
    """
    assert len(tensors) == len(compiled.operands), "one tensor for each operand"
    words = [word for tensor in tensors for word in tensor.accessor_words]
    places = [tensor.address for tensor in tensors]
    modes = _unpack_modes(compiled.buffers)
    return tuple(
        KernelLaunch(
            kernel,
            (*compiled.buffer_indices, *(words if kernel.uses_tensor_accessors else ())),
            tuple(addresses_of(kernel, places, scratch)),
            modes if kernel.thread is ThreadKind.COMPUTE else (),
        )
        for kernel in compiled.kernels
    )


def addresses_of(kernel: Kernel, tensors: Sequence[int], scratch: int | None) -> list[int]:
    """Return a kernel's common runtime arguments, which differ between calls."""
    addresses = [tensors[index] for index in kernel.tensor_indices]
    if kernel.uses_pipe_scratch:
        assert scratch is not None
        addresses.append(scratch)
    return addresses


def _unpack_modes(buffers: Sequence[Buffer]) -> tuple[bool, ...]:
    wide = {buffer.index for buffer in buffers if buffer.unpack_to_dest_fp32}
    return tuple(index in wide for index in range(UNPACK_MODES)) if wide else ()
