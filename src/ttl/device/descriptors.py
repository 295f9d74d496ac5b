"""Describe an operation with ttnn's descriptors. Only this module constructs objects of ttnn."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from ttl.artifact import Buffer, CompiledOperation, Coordinate, Kernel, ThreadKind

from .plan import TTNN_DTYPES, KernelLaunch


class DeviceTensor(Protocol):
    """A tensor of the real ttnn."""

    def device(self) -> Any: ...

    def device_coords(self) -> Sequence[object]: ...

    def buffer_address(self) -> int: ...


def program_descriptor(
    ttnn: ModuleType, compiled: CompiledOperation, kernels: Sequence[KernelLaunch]
) -> Any:
    """Return the ttnn.ProgramDescriptor of an operation; `ttnn` is the real module."""
    cores = _core_ranges(ttnn, *compiled.core_range)
    return ttnn.ProgramDescriptor(
        kernels=[_kernel(ttnn, kernel, cores) for kernel in kernels],
        semaphores=[
            ttnn.SemaphoreDescriptor(id=each.index, core_ranges=cores, initial_value=each.initial)
            for each in compiled.semaphores
        ],
        cbs=[_buffer(ttnn, buffer, cores) for buffer in compiled.buffers],
    )


def device_count(device: object) -> int:
    return int(getattr(device, "get_num_devices", lambda: 1)())


def is_mesh(device: object) -> bool:
    """Does it have several devices? ttnn also calls a single one a mesh."""
    return device_count(device) > 1


def mesh_program(ttnn: ModuleType, program: object, tensors: Sequence[DeviceTensor]) -> object:
    """Return the program for every device of the mesh that the tensors are spread over.

    A single device gets the program itself. Devices without a part of the tensors run nothing.
    """
    device = tensors[0].device()
    if not is_mesh(device):
        return program
    on_mesh = ttnn.MeshProgramDescriptor()
    for part in _mesh_ranges(ttnn, tensors[0]):
        on_mesh[part] = program
    return on_mesh


def _mesh_ranges(ttnn: ModuleType, tensor: DeviceTensor) -> list[object]:
    """Return the whole mesh if the tensor has a part on each of its devices, else each of these."""
    mesh, coordinates = tensor.device(), list(tensor.device_coords())
    if len(coordinates) == mesh.get_num_devices():
        return [ttnn.MeshCoordinateRange(mesh.shape)]
    return [ttnn.MeshCoordinateRange(each, each) for each in coordinates]


def pipe_scratch(
    ttnn: ModuleType, compiled: CompiledOperation, device: object
) -> DeviceTensor | None:
    """Make a tensor of zeros with a shard in every core's L1, all at the same address.

    Each launch needs a new one: its counters start at 0.
    """
    if not compiled.pipe_scratch_bytes:
        return None
    words = compiled.pipe_scratch_bytes // 4
    (first_x, first_y), (last_x, last_y) = compiled.core_range
    cores = (last_x - first_x + 1) * (last_y - first_y + 1)
    shards = ttnn.ShardSpec(
        _core_ranges(ttnn, *compiled.core_range),
        (1, words),
        ttnn.ShardOrientation.ROW_MAJOR,
    )
    layout = ttnn.TensorMemoryLayout.HEIGHT_SHARDED
    memory = ttnn.MemoryConfig(layout, ttnn.BufferType.L1, shards)
    zeros = np.zeros((cores, words), np.uint32)
    options = {}
    if is_mesh(device):
        options["mesh_mapper"] = ttnn.replicate_tensor_to_mesh_mapper(device)
    layout, dtype = ttnn.ROW_MAJOR_LAYOUT, ttnn.uint32
    made: DeviceTensor = ttnn.Tensor(zeros, dtype, device, layout, memory, **options)
    return made


def _core_ranges(ttnn: ModuleType, start: Coordinate, end: Coordinate) -> object:
    corners = ttnn.CoreRange(ttnn.CoreCoord(*start), ttnn.CoreCoord(*end))
    return ttnn.CoreRangeSet([corners])


def _kernel(ttnn: ModuleType, plan: KernelLaunch, cores: object) -> object:
    runtime_args = plan.kernel.runtime_args
    return ttnn.KernelDescriptor(
        kernel_source=plan.kernel.cpp_source,
        source_type=ttnn.KernelDescriptor.SourceType.SOURCE_CODE,
        core_ranges=cores,
        compile_time_args=list(plan.compile_time_args),
        runtime_args=[(ttnn.CoreCoord(*each.core), list(each.args)) for each in runtime_args],
        common_runtime_args=list(plan.common_runtime_args),
        config=_config(ttnn, plan.kernel, plan.unpack_to_dest_fp32),
    )


def _config(ttnn: ModuleType, kernel: Kernel, unpack_to_dest_fp32: Sequence[bool]) -> object:
    if kernel.thread is ThreadKind.READER:
        return ttnn.ReaderConfigDescriptor()
    if kernel.thread is ThreadKind.WRITER:
        return ttnn.WriterConfigDescriptor()
    assert kernel.config is not None
    config = ttnn.ComputeConfigDescriptor(
        math_fidelity=getattr(ttnn.MathFidelity, kernel.config.math_fidelity),
        math_approx_mode=kernel.config.math_approx_mode,
        fp32_dest_acc_en=kernel.config.fp32_dest_acc_en,
        dst_full_sync_en=kernel.config.dst_full_sync_en,
        bfp8_pack_precise=kernel.config.bfp8_pack_precise,
    )
    mode = ttnn.UnpackToDestMode
    config.unpack_to_dest_mode = [
        mode.UnpackToDestFp32 if is_wide else mode.Default for is_wide in unpack_to_dest_fp32
    ]
    return config


def _buffer(ttnn: ModuleType, buffer: Buffer, cores: object) -> object:
    pages = ttnn.CBFormatDescriptor(
        buffer_index=buffer.index,
        data_format=getattr(ttnn, TTNN_DTYPES[buffer.data_format]),
        page_size=buffer.page_bytes,
    )
    descriptor = ttnn.CBDescriptor(
        total_size=buffer.total_bytes, core_ranges=cores, format_descriptors=[pages]
    )
    if buffer.tensor_offset:
        descriptor.address_offset = buffer.tensor_offset
    return descriptor


def bind_to_tensors(
    ttnn: ModuleType, program: Any, compiled: CompiledOperation, tensors: Sequence[object]
) -> None:
    """Put buffers that are in shards into those of these tensors, at their addresses."""
    for descriptor, buffer in zip(program.cbs, compiled.buffers, strict=True):
        if buffer.tensor is not None:
            backing = tensors[buffer.tensor]
            there = ttnn.cb_descriptor_from_sharded_tensor(buffer.index, backing)
            descriptor.set_buffer_from_cb(there)
