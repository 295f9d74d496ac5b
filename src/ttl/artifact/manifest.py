"""The compiled operation on disk: manifest.json beside kernels/*.cpp.

The top level has the keys of the tt-xla artifact, so that its loaders can read it; what only pyttl
knows stands under `pyttl`.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ttl.diagnostics import Span, file_not_usable

from .operation import (
    Buffer,
    CompiledOperation,
    ComputeConfig,
    Kernel,
    Operand,
    Semaphore,
    ThreadKind,
)

FORMAT_VERSION = 2
MANIFEST = "manifest.json"


def write_folder(compiled: CompiledOperation, folder: Path) -> None:
    """Write kernels/*.cpp and manifest.json into `folder`, which may exist."""
    try:
        (folder / "kernels").mkdir(parents=True, exist_ok=True)
        for kernel in compiled.kernels:
            (folder / _kernel_file(kernel)).write_text(kernel.cpp_source)
        (folder / MANIFEST).write_text(json.dumps(to_json(compiled), indent=2) + "\n")
    except OSError as error:
        raise file_not_usable(folder, error) from None


def read_folder(folder: Path) -> CompiledOperation:
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        sources = [(folder / kernel["file"]).read_text() for kernel in manifest["kernels"]]
    except OSError as error:
        raise file_not_usable(folder, error) from None
    return from_json(manifest, sources)


def _kernel_file(kernel: Kernel) -> str:
    return f"kernels/{kernel.name}.cpp"


def to_json(compiled: CompiledOperation) -> dict[str, Any]:
    start, end = compiled.core_range
    return {
        "format_version": FORMAT_VERSION,
        "kernels": [_kernel_to_json(kernel) for kernel in compiled.kernels],
        "core_range": {"start": list(start), "end": list(end)},
        "cb_configs": [_buffer_to_json(buffer) for buffer in compiled.buffers],
        "num_tensors": len(compiled.operands),
        "num_pipe_sync_semaphores": 0,
        "num_pipe_global_semaphores": 0,
        "pipe_sram_scratch_bytes": 0,
        "operand_metadata": {
            "shapes": [list(operand.shape) for operand in compiled.operands],
            "dtypes": [operand.dtype for operand in compiled.operands],
            "layouts": [operand.layout for operand in compiled.operands],
            "mesh_shape": [1, 1],
            "arg_roles": None,
            "shard_spec": None,
        },
        "pyttl": {
            "name": compiled.name,
            "target": compiled.target,
            "device_api": compiled.device_api,
            "operand_names": [operand.name for operand in compiled.operands],
            "semaphores": [asdict(semaphore) for semaphore in compiled.semaphores],
            "kernels": [
                {
                    "name": kernel.name,
                    "thread": kernel.thread.value,
                    "source_map": [[line, _span(span)] for line, span in kernel.source_map],
                }
                for kernel in compiled.kernels
            ],
            "buffers": [
                {
                    "name": buffer.name,
                    "unpack_to_dest_fp32": buffer.unpack_to_dest_fp32,
                    "span": buffer.span and _span(buffer.span),
                }
                for buffer in compiled.buffers
            ],
        },
    }


_CONFIG_TYPES = {
    ThreadKind.COMPUTE: "ComputeKernelConfig",
    ThreadKind.READER: "ReaderKernelConfig",
    ThreadKind.WRITER: "WriterKernelConfig",
}


def _kernel_to_json(kernel: Kernel) -> dict[str, Any]:
    config = asdict(kernel.config) if kernel.config else {}
    return {
        "file": _kernel_file(kernel),
        "thread_type": "compute" if kernel.thread is ThreadKind.COMPUTE else "noc",
        "tensor_indices": list(kernel.tensor_indices),
        "kernel_config": {"type": _CONFIG_TYPES[kernel.thread], **config},
    }


def _buffer_to_json(buffer: Buffer) -> dict[str, Any]:
    return {
        "buffer_index": buffer.index,
        "data_format": buffer.data_format,
        "page_size": buffer.page_bytes,
        "num_tiles": buffer.block_tiles * buffer.block_count,
        "block_count": buffer.block_count,
        "total_size": buffer.total_bytes,
    }


def _span(span: Span) -> list[Any]:
    return [span.file, span.line, span.column, span.end_line, span.end_column]


def from_json(manifest: dict[str, Any], sources: list[str]) -> CompiledOperation:
    own = manifest["pyttl"]
    metadata = manifest["operand_metadata"]
    operands = zip(
        own["operand_names"],
        metadata["shapes"],
        metadata["dtypes"],
        metadata["layouts"],
        strict=True,
    )
    core_range = manifest["core_range"]
    return CompiledOperation(
        name=own["name"],
        target=own["target"],
        device_api=own["device_api"],
        kernels=tuple(map(_kernel_from_json, manifest["kernels"], own["kernels"], sources)),
        buffers=tuple(map(_buffer_from_json, manifest["cb_configs"], own["buffers"])),
        operands=tuple(Operand(n, tuple(s), d, layout) for n, s, d, layout in operands),
        core_range=(tuple(core_range["start"]), tuple(core_range["end"])),
        semaphores=tuple(Semaphore(**semaphore) for semaphore in own["semaphores"]),
    )


def _kernel_from_json(kernel: dict[str, Any], own: dict[str, Any], source: str) -> Kernel:
    thread = ThreadKind(own["thread"])
    settings = {key: value for key, value in kernel["kernel_config"].items() if key != "type"}
    return Kernel(
        name=own["name"],
        thread=thread,
        cpp_source=source,
        tensor_indices=tuple(kernel["tensor_indices"]),
        config=ComputeConfig(**settings) if thread is ThreadKind.COMPUTE else None,
        source_map=tuple((line, Span(*span)) for line, span in own["source_map"]),
    )


def _buffer_from_json(buffer: dict[str, Any], own: dict[str, Any]) -> Buffer:
    return Buffer(
        name=own["name"],
        index=buffer["buffer_index"],
        data_format=buffer["data_format"],
        block_tiles=buffer["num_tiles"] // buffer["block_count"],
        block_count=buffer["block_count"],
        unpack_to_dest_fp32=own["unpack_to_dest_fp32"],
        span=Span(*own["span"]) if own["span"] else None,
    )
