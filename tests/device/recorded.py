"""A program of the real ttnn, read back field by field, as a compiled operation again.

Nothing else of the operation is known here: what the executor runs is what ttnn was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ttl.artifact import (
    PAGE_BYTES,
    Buffer,
    CompiledOperation,
    ComputeConfig,
    CoreArguments,
    Kernel,
    Operand,
    SemaphorePlan,
    ThreadKind,
)

# tt-metal's numbers of the formats, as its headers have them.
FORMAT_NUMBERS = {
    "Float32": 0,
    "BFloat16": 5,
    "BFP_BFloat8": 6,
    "BFP_BFloat4": 7,
    "Int32": 8,
    "UInt16": 9,
    "UInt32": 24,
    "UInt8": 30,
}
THREADS = {
    "ReaderConfigDescriptor": ThreadKind.READER,
    "WriterConfigDescriptor": ThreadKind.WRITER,
    "ComputeConfigDescriptor": ThreadKind.COMPUTE,
}

Fields = dict[str, Any]


def recorded_operation(
    fields: Fields,
    operands: Sequence[Operand],
    addresses: Sequence[int],
    words: Sequence[Sequence[int]],
    scratch_bytes: int,
    target: str,
) -> CompiledOperation:
    """`words` are those of the accessor of each tensor, `addresses` where ttnn put the tensors."""
    wide = _wide_buffers(fields["kernels"])
    (cores,) = {str(kernel["core_ranges"]) for kernel in fields["kernels"]}
    (corners,) = fields["kernels"][0]["core_ranges"]
    assert all(str(each["core_ranges"]) == cores for each in fields["cbs"] + fields["semaphores"])
    indices = [each["format_descriptors"][0]["buffer_index"] for each in fields["cbs"]]
    expected = [*indices, *(word for each in words for word in each)]
    return CompiledOperation(
        name="recorded",
        target=target,
        device_api="0.81",
        kernels=tuple(
            _kernel(each, number, indices, expected, addresses)
            for number, each in enumerate(fields["kernels"])
        ),
        buffers=tuple(_buffer(each, wide, addresses) for each in fields["cbs"]),
        operands=tuple(operands),
        core_range=(tuple(corners[0]), tuple(corners[1])),
        semaphores=tuple(SemaphorePlan(s["id"], s["initial_value"]) for s in fields["semaphores"]),
        pipe_scratch_bytes=scratch_bytes,
    )


def _wide_buffers(kernels: Sequence[Fields]) -> set[int]:
    """The indices whose tiles the unpacker writes to DST in 32 bits."""
    modes = [kernel["config"].get("unpack_to_dest_mode", []) for kernel in kernels]
    return {i for of_kernel in modes for i, m in enumerate(of_kernel) if m == "UnpackToDestFp32"}


def _kernel(
    fields: Fields, number: int, indices: list[int], words: list[int], addresses: Sequence[int]
) -> Kernel:
    thread = THREADS[fields["config"]["type"]]
    config = fields["config"]
    assert fields["source_type"] == "SOURCE_CODE"
    # The executor gives its own addresses and words in these places.
    assert fields["compile_time_args"] == (indices if thread is ThreadKind.COMPUTE else words)
    tensors = [each for each in fields["common_runtime_args"] if each in addresses]
    others = fields["common_runtime_args"][len(tensors) :]
    assert fields["common_runtime_args"] == [*tensors, *others] and len(others) <= 1
    return Kernel(
        f"kernel_{number}",
        thread,
        fields["kernel_source"],
        tuple(addresses.index(each) for each in tensors),
        _config(config) if thread is ThreadKind.COMPUTE else None,
        runtime_args=tuple(
            CoreArguments((core[0], core[1]), tuple(args)) for core, args in fields["runtime_args"]
        ),
        uses_pipe_scratch=bool(others),
    )


def _config(fields: Fields) -> ComputeConfig:
    return ComputeConfig(
        fields["math_fidelity"],
        fields["fp32_dest_acc_en"],
        fields["dst_full_sync_en"],
        fields["math_approx_mode"],
        fields["bfp8_pack_precise"],
    )


def _buffer(fields: Fields, wide: set[int], addresses: Sequence[int]) -> Buffer:
    (pages,) = fields["format_descriptors"]
    names = {number: name for name, number in FORMAT_NUMBERS.items()}
    name, index, size = names[pages["data_format"]], pages["buffer_index"], pages["page_size"]
    rows = None if size == PAGE_BYTES[name] else size
    count = fields["total_size"] // size
    place = fields["buffer_address"]
    return Buffer(
        f"buffer_{index}",
        index,
        name,
        count,
        1,
        index in wide,
        row_bytes=rows,
        tensor=None if place is None else addresses.index(place),
        tensor_offset=fields["address_offset"],
    )
