"""The compiled operation as JSON, and on disk: manifest.json beside kernels/*.cpp.

The top level has the keys of the tt-xla artifact, so that its loaders can read it; what only pyttl
knows stands under `pyttl`. docs/reference/artifact.md describes every key.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields, is_dataclass, replace
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from ttl.diagnostics import RuleBroken, Span, UsageError, codes, file_not_usable
from ttl.target import TARGETS, load

from .operation import (
    PAGE_BYTES,
    Buffer,
    CompiledOperation,
    ComputeConfig,
    CoreArguments,
    Kernel,
    Mark,
    Memory,
    Operand,
    Pipe,
    Semaphore,
    ThreadKind,
)

FORMAT_VERSIONS = (1, 2)
MANIFEST = "manifest.json"

# The names that tt-xla gives to element types; block floats have none.
MLIR_NAMES = {
    "bfloat16": "bf16",
    "float16": "f16",
    "float32": "f32",
    "int32": "i32",
    "uint32": "ui32",
    "uint16": "ui16",
    "uint8": "ui8",
}
BLOCK_FLOATS = ("bfloat8_b", "bfloat4_b")
LAYOUTS = ("TILE", "ROW_MAJOR")
_NAMES = {mlir: name for name, mlir in MLIR_NAMES.items()}


def write_folder(compiled: CompiledOperation, folder: Path) -> None:
    """Write kernels/*.cpp and manifest.json into `folder`, which may exist."""
    try:
        (folder / "kernels").mkdir(parents=True, exist_ok=True)
        for kernel in compiled.kernels:
            (folder / _kernel_file(kernel)).write_text(kernel.cpp_source, encoding="utf-8")
        text = json.dumps(to_json(compiled), indent=2) + "\n"
        (folder / MANIFEST).write_text(text, encoding="utf-8")
    except OSError as error:
        raise file_not_usable(folder, error) from None


def read_folder(folder: Path) -> CompiledOperation:
    """The operation in `folder`; the text of a kernel is that of its file, which may be edited."""
    try:
        compiled = from_json(_parse((folder / MANIFEST).read_text(encoding="utf-8")))
    except OSError as error:
        raise file_not_usable(folder, error) from None
    return with_sources(compiled, folder)


def with_sources(compiled: CompiledOperation, folder: Path) -> CompiledOperation:
    """The operation with the texts that its kernels have in `folder`."""
    try:
        kernels = tuple(_with_text_of_file(kernel, folder) for kernel in compiled.kernels)
    except OSError as error:
        raise file_not_usable(folder, error) from None
    return replace(compiled, kernels=kernels)


def _with_text_of_file(kernel: Kernel, folder: Path) -> Kernel:
    if not kernel.name.isidentifier():  # it could lead out of the folder
        raise _not_an_artifact(f"{kernel.name!r} is not the name of a kernel")
    text = (folder / _kernel_file(kernel)).read_text(encoding="utf-8")
    marks = kernel.marks if text == kernel.cpp_source else ()  # they count lines
    return replace(kernel, cpp_source=text, marks=marks)


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise _not_an_artifact(f"it is not JSON: {error}") from None


def _not_an_artifact(problem: str) -> UsageError:
    broken = RuleBroken(
        codes.NOT_AN_ARTIFACT,
        f"this is no compiled operation: {problem}",
        helps=("write one with `ttl compile FILE -o DIR`",),
    )
    return UsageError(broken.at(None))


def _kernel_file(kernel: Kernel) -> str:
    return f"kernels/{kernel.name}.cpp"


# Writing ------------------------------------------------------------------------------------------


def to_json(compiled: CompiledOperation, format_version: int = 1) -> dict[str, Any]:
    """Everything about the operation. Version 1 has the keys of version 2 as well."""
    assert format_version in FORMAT_VERSIONS
    start, end = compiled.core_range
    return {
        "format_version": format_version,
        "kernels": [_kernel_to_json(kernel) for kernel in compiled.kernels],
        "core_range": {"start": list(start), "end": list(end)},
        "cb_configs": [_buffer_to_json(buffer) for buffer in compiled.buffers],
        "num_tensors": len(compiled.operands),
        **({"num_pipe_nets": compiled.pipe_net_count} if format_version == 1 else {}),
        # Such semaphores have the numbers 0, 1, ... and start at 0: those in `pyttl` say more.
        "num_pipe_sync_semaphores": max((s.index + 1 for s in compiled.semaphores), default=0),
        "num_pipe_global_semaphores": 0,
        "pipe_sram_scratch_bytes": compiled.pipe_scratch_bytes,
        "operand_metadata": _metadata(compiled.operands),
        "pyttl": _own(compiled),
    }


CONFIG_TYPES = {
    ThreadKind.COMPUTE: "ComputeKernelConfig",
    ThreadKind.READER: "ReaderKernelConfig",
    ThreadKind.WRITER: "WriterKernelConfig",
}


def _kernel_to_json(kernel: Kernel) -> dict[str, Any]:
    config = asdict(kernel.config) if kernel.config else {}
    return {
        "thread_type": "compute" if kernel.thread is ThreadKind.COMPUTE else "noc",
        "cpp_source": kernel.cpp_source,
        "tensor_indices": list(kernel.tensor_indices),
        "kernel_config": {"type": CONFIG_TYPES[kernel.thread], **config},
    }


def _buffer_to_json(buffer: Buffer) -> dict[str, Any]:
    # tt-xla counts the tiles of one block only where the compiler made the buffer.
    counted_blocks = 1 if buffer.compiler_allocated else buffer.block_count
    return {
        "buffer_index": buffer.index,
        "data_format": buffer.data_format,
        "page_size": buffer.page_bytes,
        "num_tiles": buffer.block_tiles * counted_blocks,
        "block_count": buffer.block_count,
        "total_size": buffer.total_bytes,
    }


def _metadata(operands: tuple[Operand, ...]) -> dict[str, Any]:
    return {
        "shapes": [list(operand.shape) for operand in operands],
        "dtypes": [MLIR_NAMES.get(operand.dtype, operand.dtype) for operand in operands],
        "layouts": [operand.layout for operand in operands],
        "mesh_shape": [1, 1],
        "arg_roles": None,
        "shard_spec": None,
    }


def _memory_configs(operands: tuple[Operand, ...]) -> dict[str, Any]:
    """Nothing where all tensors are interleaved in DRAM."""
    if all(operand.memory == Memory() for operand in operands):
        return {}
    return {"memory_configs": [_memory_to_json(operand.memory) for operand in operands]}


def _memory_to_json(memory: Memory) -> dict[str, Any]:
    cores = [[list(start), list(end)] for start, end in memory.cores]
    return asdict(memory) | {"cores": cores, "shard_shape": list(memory.shard_shape)}


def _memory(given: dict[str, Any]) -> Memory:
    cores = tuple((_coordinate(start), _coordinate(end)) for start, end in given["cores"])
    return Memory(**given | {"cores": cores, "shard_shape": tuple(given["shard_shape"])})


def _own(compiled: CompiledOperation) -> dict[str, Any]:
    return {
        "name": compiled.name,
        "target": compiled.target,
        "device_api": compiled.device_api,
        "operand_names": [operand.name for operand in compiled.operands],
        **_memory_configs(compiled.operands),
        "kernels": [_own_of_kernel(compiled, kernel) for kernel in compiled.kernels],
        "buffers": [
            {
                "name": buffer.name,
                "compiler_allocated": buffer.compiler_allocated,
                "unpack_to_dest_fp32": buffer.unpack_to_dest_fp32,
                "is_row_major": buffer.row_bytes is not None,
                "span": _span_to_json(buffer.span) if buffer.span else None,
            }
            for buffer in compiled.buffers
        ],
        "semaphores": [
            {"id": semaphore.index, "initial_value": semaphore.initial}
            for semaphore in compiled.semaphores
        ],
        "pipe_net_count": compiled.pipe_net_count,
        "pipes": [_pipe_to_json(pipe) for pipe in compiled.pipes],
    }


def _own_of_kernel(compiled: CompiledOperation, kernel: Kernel) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "file": _kernel_file(kernel),
        "thread": kernel.thread.value,
        "compile_time_args": list(compiled.buffer_indices),
        "uses_tensor_accessors": kernel.uses_tensor_accessors,
        "uses_pipe_scratch": kernel.uses_pipe_scratch,
        "runtime_arg_names": list(kernel.runtime_arg_names),
        "runtime_args": [
            {"core": list(arguments.core), "args": list(arguments.args)}
            for arguments in kernel.runtime_args
        ],
        "signposts": [list(pair) for pair in kernel.signposts],
        "marks": [asdict(mark) for mark in kernel.marks],
        "source_map": [[line, _span_to_json(span)] for line, span in kernel.source_map],
    }


def _pipe_to_json(pipe: Pipe) -> dict[str, Any]:
    corners = {"source": pipe.source, "first": pipe.first, "last": pipe.last}
    named = {key: list(node) for key, node in corners.items()}
    return {"net": pipe.net, "name": pipe.name, **named}


def _span_to_json(span: Span) -> list[Any]:
    return [span.file, span.line, span.column, span.end_line, span.end_column]


# Reading ------------------------------------------------------------------------------------------


def from_json(manifest: Any) -> CompiledOperation:
    """What `to_json` was given; UsageError if pyttl did not write the manifest."""
    if not isinstance(manifest, dict):
        raise _not_an_artifact("it is not a JSON object")
    version = manifest.get("format_version")
    if version not in FORMAT_VERSIONS:
        raise _not_an_artifact(f"format_version is {version!r}, and not 1 or 2")
    try:
        compiled = _operation(manifest)
        _check_types(compiled, CompiledOperation, "the operation")
        _check_names(compiled)
        return compiled
    except KeyError as missing:
        raise _not_an_artifact(f"it has no {missing.args[0]!r}") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise _not_an_artifact(f"its parts do not fit together: {error}") from None


def _check_types(value: Any, hint: Any, where: str) -> None:
    """ValueError if a value is not of the type that is declared for it, or has parts that are not.

    JSON says nothing about types, and a folder may have been edited.
    """
    parts = get_args(hint)
    if isinstance(hint, UnionType):
        hint = next((part for part in parts if isinstance(value, _class_of(part))), parts[0])
        parts = get_args(hint)
    if not isinstance(value, _class_of(hint)) or (hint is int and isinstance(value, bool)):
        raise ValueError(f"{where} cannot be {value!r}")
    if is_dataclass(value):
        hints = get_type_hints(type(value))
        for field in fields(value):
            _check_types(getattr(value, field.name), hints[field.name], field.name)
    elif isinstance(value, tuple):
        each = [parts[0]] * len(value) if parts[-1] is Ellipsis else parts
        for part, part_hint in zip(value, each, strict=True):
            _check_types(part, part_hint, where)


def _class_of(hint: Any) -> type:
    found: type = get_origin(hint) or hint
    return found


def _check_names(compiled: CompiledOperation) -> None:
    """ValueError if a chip, a type, a format or a buffer is one that nobody knows."""
    known = {
        "target": (TARGETS, {compiled.target}),
        "data format": (PAGE_BYTES, {buffer.data_format for buffer in compiled.buffers}),
        "element type": ((*MLIR_NAMES, *BLOCK_FLOATS), {each.dtype for each in compiled.operands}),
        "layout": (LAYOUTS, {each.layout for each in compiled.operands}),
    }
    for kind, (names, used) in known.items():
        if unknown := sorted(used - set(names)):
            raise ValueError(f"there is no {kind} {unknown[0]!r}")
    limit = load(compiled.target).dataflow_buffers
    for number, index in enumerate(compiled.buffer_indices):
        if index not in range(limit) or index in compiled.buffer_indices[:number]:
            raise ValueError(f"buffer {number} cannot have the index {index}")


def _operation(manifest: dict[str, Any]) -> CompiledOperation:
    own = manifest["pyttl"]
    core_range = manifest["core_range"]
    own_kernels = zip(manifest["kernels"], own["kernels"], strict=True)
    own_buffers = zip(manifest["cb_configs"], own["buffers"], strict=True)
    return CompiledOperation(
        name=own["name"],
        target=own["target"],
        device_api=own["device_api"],
        kernels=tuple(_kernel(*parts) for parts in own_kernels),
        buffers=tuple(_buffer(*parts) for parts in own_buffers),
        operands=_operands(manifest["operand_metadata"], own),
        core_range=(_coordinate(core_range["start"]), _coordinate(core_range["end"])),
        semaphores=tuple(Semaphore(s["id"], s["initial_value"]) for s in own["semaphores"]),
        pipe_net_count=own.get("pipe_net_count", 0),
        pipes=tuple(_pipe(pipe) for pipe in own.get("pipes", ())),
        pipe_scratch_bytes=manifest["pipe_sram_scratch_bytes"],
    )


def _pipe(own: dict[str, Any]) -> Pipe:
    corners = (_coordinate(own[key]) for key in ("source", "first", "last"))
    return Pipe(own["net"], own["name"], *corners)


def _operands(metadata: dict[str, Any], own: dict[str, Any]) -> tuple[Operand, ...]:
    names = own["operand_names"]
    memories = [_memory(each) for each in own.get("memory_configs", ())] or [Memory()] * len(names)
    lists = (names, metadata["shapes"], metadata["dtypes"], metadata["layouts"], memories)
    return tuple(
        Operand(name, tuple(shape), _NAMES.get(dtype, dtype), layout, memory)
        for name, shape, dtype, layout, memory in zip(*lists, strict=True)
    )


def _kernel(kernel: dict[str, Any], own: dict[str, Any]) -> Kernel:
    thread = ThreadKind(own["thread"])
    settings = {key: value for key, value in kernel["kernel_config"].items() if key != "type"}
    return Kernel(
        name=own["name"],
        thread=thread,
        cpp_source=kernel["cpp_source"],
        tensor_indices=tuple(kernel["tensor_indices"]),
        config=ComputeConfig(**settings) if thread is ThreadKind.COMPUTE else None,
        source_map=tuple((line, Span(*span)) for line, span in own["source_map"]),
        runtime_arg_names=tuple(own["runtime_arg_names"]),
        signposts=tuple((zone, name) for zone, name in own.get("signposts", ())),
        uses_pipe_scratch=own.get("uses_pipe_scratch", False),
        marks=tuple(Mark(**mark) for mark in own.get("marks", ())),
        runtime_args=tuple(
            CoreArguments(_coordinate(arguments["core"]), tuple(arguments["args"]))
            for arguments in own["runtime_args"]
        ),
    )


def _buffer(buffer: dict[str, Any], own: dict[str, Any]) -> Buffer:
    counted_blocks = 1 if own["compiler_allocated"] else buffer["block_count"]
    return Buffer(
        name=own["name"],
        index=buffer["buffer_index"],
        data_format=buffer["data_format"],
        block_tiles=buffer["num_tiles"] // counted_blocks,
        block_count=buffer["block_count"],
        unpack_to_dest_fp32=own["unpack_to_dest_fp32"],
        span=Span(*own["span"]) if own["span"] else None,
        compiler_allocated=own["compiler_allocated"],
        row_bytes=buffer["page_size"] if own.get("is_row_major") else None,
    )


def _coordinate(pair: list[int]) -> tuple[int, int]:
    x, y = pair
    return x, y
