"""Builds descriptors with the real ttnn and prints every field of them as JSON.

Run by the real ttnn's Python: `read_back.py DIR...` for compiled operations on disk,
`read_back.py --call EXAMPLE OPERATION` for an example called with tensors that say they are real,
with `--mesh` also for tensors that say they are spread over a mesh.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import ttnn

from device.standins import SCRATCH_ADDRESS, Device, Mesh, Tensor, TensorAccessorArgs, install
from ttl.artifact import CompiledOperation, read_folder
from ttl.device.descriptors import program_descriptor
from ttl.device.plan import TensorPlace, plan_kernels


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--call", action="store_true")
    parser.add_argument("--mesh", action="store_true")
    parser.add_argument("names", nargs="+")
    options = parser.parse_args()
    assert ttnn.__name__ == "ttnn", f"{ttnn.__file__} is not the real ttnn"
    if options.mesh:
        print(json.dumps(_on_meshes(*options.names)))
        return
    if options.call:
        programs = [_called(*options.names)]
    else:
        programs = [_built(read_folder(Path(name))) for name in options.names]
    print(json.dumps([program_fields(program) for program in programs]))


def _built(compiled: CompiledOperation) -> Any:
    tensors = [Tensor(one.shape, None, None, None, i) for i, one in enumerate(compiled.operands)]
    words = [TensorAccessorArgs(tensor).get_compile_time_args() for tensor in tensors]
    places = [
        TensorPlace(tensor.buffer_address(), tuple(of_tensor))
        for tensor, of_tensor in zip(tensors, words, strict=True)
    ]
    return program_descriptor(ttnn, compiled, plan_kernels(compiled, places, SCRATCH_ADDRESS))


def _called(example: str, operation: str) -> Any:
    """The program that the operation of an example hands to generic_op."""
    launches = install(ttnn)
    tensors = _tensors(Device())
    _operation(example, operation)(*tensors)
    ((given, program),) = launches.calls
    assert given == tensors
    return program


def _on_meshes(example: str, operation: str) -> list[Any]:
    """Ranges and programs of calls on a mesh, on a part of one, and again at other addresses."""
    launches = install(ttnn)
    called = _operation(example, operation)
    shape = ttnn.MeshShape(2, 2)
    whole = list(ttnn.MeshCoordinateRange(shape))
    called(*_tensors(Mesh(shape=shape, coordinates=whole, devices=4)))
    row = [ttnn.MeshCoordinate(1, 0), ttnn.MeshCoordinate(1, 1)]
    called(*_tensors(Mesh(shape=shape, coordinates=row, devices=4)))
    called(*_tensors(Mesh(shape=shape, coordinates=whole, devices=4))[::-1])
    return [
        [[str(part), program_fields(program)] for part, program in mesh_program]
        for _, mesh_program in launches.calls
    ]


def _tensors(device: Device) -> list[Tensor]:
    return [
        Tensor((256, 256), ttnn.bfloat16, ttnn.TILE_LAYOUT, device, position)
        for position in range(4)
    ]


def _operation(example: str, operation: str) -> Any:
    spec = importlib.util.spec_from_file_location("example", example)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(Path(example).parent))
    spec.loader.exec_module(module)
    return getattr(module, operation)


# Fields -------------------------------------------------------------------------------------------


def program_fields(program: Any) -> dict[str, Any]:
    return {
        "kernels": [kernel_fields(kernel) for kernel in program.kernels],
        "cbs": [buffer_fields(buffer) for buffer in program.cbs],
        "semaphores": [semaphore_fields(semaphore) for semaphore in program.semaphores],
        "custom_program_hash": program.custom_program_hash,
    }


def kernel_fields(kernel: Any) -> dict[str, Any]:
    return {
        "kernel_source": kernel.kernel_source,
        "source_type": kernel.source_type.name,
        "core_ranges": core_ranges(kernel.core_ranges),
        "compile_time_args": list(kernel.compile_time_args),
        "named_compile_time_args": list(kernel.named_compile_time_args),
        "defines": list(kernel.defines),
        "runtime_args": runtime_args(kernel),
        "common_runtime_args": list(kernel.common_runtime_args),
        "compiler_include_paths": list(kernel.compiler_include_paths),
        "config": config_fields(kernel.config),
    }


def runtime_args(kernel: Any) -> list[Any]:
    """Those of each core of the range; a core that was never named has none."""
    found: list[Any] = []
    ((start, end),) = core_ranges(kernel.core_ranges)
    if len(kernel.runtime_args) == 0:
        return found
    for y in range(start[1], end[1] + 1):
        for x in range(start[0], end[0] + 1):
            found.append([[x, y], list(kernel.runtime_args[x][y])])
    return found


def config_fields(config: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {"type": type(config).__name__}
    if fields["type"] != "ComputeConfigDescriptor":
        return fields
    return fields | {
        "math_fidelity": config.math_fidelity.name,
        "math_approx_mode": config.math_approx_mode,
        "fp32_dest_acc_en": config.fp32_dest_acc_en,
        "dst_full_sync_en": config.dst_full_sync_en,
        "bfp8_pack_precise": config.bfp8_pack_precise,
        "unpack_to_dest_mode": [mode.name for mode in config.unpack_to_dest_mode],
    }


def buffer_fields(buffer: Any) -> dict[str, Any]:
    return {
        "total_size": buffer.total_size,
        "core_ranges": core_ranges(buffer.core_ranges),
        "has_buffer": buffer.has_buffer(),
        "buffer_address": buffer.buffer_address() if buffer.has_buffer() else None,
        "address_offset": buffer.address_offset,
        "format_descriptors": [
            {
                "buffer_index": pages.buffer_index,
                "data_format": pages.data_format_as_uint8,
                "page_size": pages.page_size,
                "tile": pages.tile,
            }
            for pages in buffer.format_descriptors
        ],
    }


def semaphore_fields(semaphore: Any) -> dict[str, Any]:
    return {
        "id": semaphore.id,
        "core_type": semaphore.core_type.name,
        "core_ranges": core_ranges(semaphore.core_ranges),
        "initial_value": semaphore.initial_value,
    }


def core_ranges(ranges: Any) -> list[Any]:
    return [[[r.start.x, r.start.y], [r.end.x, r.end.y]] for r in ranges.ranges()]


if __name__ == "__main__":
    main()
