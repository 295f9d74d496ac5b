"""The compiled operation as JSON, and on disk: manifest.json beside kernels/*.cpp.

The top level has the keys of the tt-xla artifact, so that its loaders can read it. Pyttlang's own
keys are under `pyttl`. docs/reference/artifact.md describes every key.
"""

from __future__ import annotations

import json
import reprlib
from dataclasses import asdict, replace
from pathlib import Path

from ttl.diagnostics import Span, UsageError, codes, reading, usage_error, writing

from .operation import Buffer, CompiledOperation, Kernel, Memory, Operand, ThreadKind
from .part import JsonObject, MissingKey
from .reader import CONFIG_TYPES, FORMAT_VERSIONS, MLIR_NAMES, read_artifact

MANIFEST = "manifest.json"


def write_folder(compiled: CompiledOperation, folder: Path) -> None:
    """Write kernels/*.cpp and manifest.json into `folder`, which may exist."""
    kernels = [folder / _kernel_file(kernel) for kernel in compiled.kernels]
    with writing(folder, *kernels, folder / MANIFEST):
        (folder / "kernels").mkdir(parents=True, exist_ok=True)
        for kernel in compiled.kernels:
            (folder / _kernel_file(kernel)).write_text(kernel.cpp_source, encoding="utf-8")
        text = json.dumps(to_json(compiled), indent=2) + "\n"
        (folder / MANIFEST).write_text(text, encoding="utf-8")


def read_folder(folder: Path) -> CompiledOperation:
    """Read the operation in `folder`, with kernels from their files, which users may edit."""
    with reading(folder):
        compiled = from_json(_parse((folder / MANIFEST).read_bytes()))
    return with_sources(compiled, folder)


def with_sources(compiled: CompiledOperation, folder: Path) -> CompiledOperation:
    """Return the operation with the texts of its kernels in `folder`."""
    with reading(folder):
        kernels = tuple(_with_text_of_file(kernel, folder) for kernel in compiled.kernels)
    return replace(compiled, kernels=kernels)


def _with_text_of_file(kernel: Kernel, folder: Path) -> Kernel:
    if not kernel.name.isidentifier():  # it could lead out of the folder
        raise _not_an_artifact(f"{kernel.name!r} is not the name of a kernel")
    try:
        text = (folder / _kernel_file(kernel)).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise _not_an_artifact(f"{_kernel_file(kernel)} is no text: {error}") from None
    marks = kernel.marks if text == kernel.cpp_source else ()  # marks refer to lines
    return replace(kernel, cpp_source=text, marks=marks)


def _parse(text: bytes) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _not_an_artifact(f"it is not JSON: {error}") from None


def _not_an_artifact(problem: str) -> UsageError:
    message = f"this is no compiled operation: {problem}"
    return usage_error(codes.NOT_AN_ARTIFACT, message, "write one with `ttl compile FILE -o DIR`")


def _kernel_file(kernel: Kernel) -> str:
    return f"kernels/{kernel.name}.cpp"


# Writing ------------------------------------------------------------------------------------------


def to_json(compiled: CompiledOperation, format_version: int = 1) -> JsonObject:
    """Return the operation as JSON; version 1 also has the keys of version 2."""
    assert format_version in FORMAT_VERSIONS
    start, end = compiled.core_range
    return {
        "format_version": format_version,
        "kernels": [_kernel_to_json(kernel) for kernel in compiled.kernels],
        "core_range": {"start": list(start), "end": list(end)},
        "cb_configs": [_buffer_to_json(buffer) for buffer in compiled.buffers],
        "num_tensors": len(compiled.operands),
        **({"num_pipe_nets": compiled.pipe_net_count} if format_version == 1 else {}),
        # These semaphores have the numbers 0, 1, ... and start at 0; `pyttl` has initial values.
        "num_pipe_sync_semaphores": max((s.index + 1 for s in compiled.semaphores), default=0),
        "num_pipe_global_semaphores": 0,
        "pipe_sram_scratch_bytes": compiled.pipe_scratch_bytes,
        "operand_metadata": _metadata(compiled.operands),
        "pyttl": _own(compiled),
    }


def _kernel_to_json(kernel: Kernel) -> JsonObject:
    config = asdict(kernel.config) if kernel.config else {}
    return {
        "thread_type": "compute" if kernel.thread is ThreadKind.COMPUTE else "noc",
        "cpp_source": kernel.cpp_source,
        "tensor_indices": list(kernel.tensor_indices),
        "kernel_config": {"type": CONFIG_TYPES[kernel.thread], **config},
    }


def _buffer_to_json(buffer: Buffer) -> JsonObject:
    # tt-xla counts only one block's tiles if the compiler made the buffer.
    counted_blocks = 1 if buffer.compiler_allocated else buffer.block_count
    return {
        "buffer_index": buffer.index,
        "data_format": buffer.data_format,
        "page_size": buffer.page_bytes,
        "num_tiles": buffer.block_tiles * counted_blocks,
        "block_count": buffer.block_count,
        "total_size": buffer.total_bytes,
    }


def _metadata(operands: tuple[Operand, ...]) -> JsonObject:
    return {
        "shapes": [list(operand.shape) for operand in operands],
        "dtypes": [MLIR_NAMES.get(operand.dtype, operand.dtype) for operand in operands],
        "layouts": [operand.layout for operand in operands],
        "mesh_shape": [1, 1],
        "arg_roles": None,
        "shard_spec": None,
    }


def _record(value: object) -> object:
    """Convert a dataclass's dict for JSON: tuples become lists."""
    if isinstance(value, dict):
        return {key: _record(item) for key, item in value.items()}
    return [_record(item) for item in value] if isinstance(value, tuple) else value


def _own(compiled: CompiledOperation) -> JsonObject:
    usual = _record(asdict(Memory()))
    memories = [_record(asdict(operand.memory)) for operand in compiled.operands]
    addresses = [operand.address for operand in compiled.operands]
    return {
        "name": compiled.name,
        "target": compiled.target,
        "device_api": compiled.device_api,
        "operand_names": [operand.name for operand in compiled.operands],
        # Left out if all tensors are interleaved in DRAM.
        **({"memory_configs": memories} if any(memory != usual for memory in memories) else {}),
        **({"operand_addresses": addresses} if any(addresses) else {}),
        "kernels": [_own_of_kernel(compiled, kernel) for kernel in compiled.kernels],
        "buffers": [_own_of_buffer(buffer) for buffer in compiled.buffers],
        "semaphores": [
            {"id": semaphore.index, "initial_value": semaphore.initial}
            for semaphore in compiled.semaphores
        ],
        "pipe_net_count": compiled.pipe_net_count,
        "pipes": [_record(asdict(pipe)) for pipe in compiled.pipes],
    }


_NAMES_OF_KERNELS = ("name", "thread", "source_map", "signposts", "runtime_arg_names")


def names_of(compiled: CompiledOperation) -> JsonObject:
    """Return the names and spans that messages need, without the rest of the operation."""
    own = _own(compiled)
    named = {key: own[key] for key in ("name", "target", "device_api") if own[key]}
    kernels = [{key: kernel[key] for key in _NAMES_OF_KERNELS} for kernel in own["kernels"]]
    counts = [{"block_count": buffer.block_count} for buffer in compiled.buffers]
    buffers = [{**count, **each} for count, each in zip(counts, own["buffers"], strict=True)]
    return {**named, "kernels": kernels, "buffers": buffers}


def _own_of_buffer(buffer: Buffer) -> JsonObject:
    return {
        "name": buffer.name,
        "compiler_allocated": buffer.compiler_allocated,
        "unpack_to_dest_fp32": buffer.unpack_to_dest_fp32,
        "is_row_major": buffer.row_bytes is not None,
        "span": _span_to_json(buffer.span) if buffer.span else None,
        # Only in handwritten programs.
        **({"cores": _record(buffer.cores)} if buffer.cores else {}),
        **({} if buffer.shares is None else {"shares": buffer.shares}),
        # Only in tensor-backed buffers.
        **(
            {}
            if buffer.tensor is None
            else {"tensor": buffer.tensor, "tensor_offset": buffer.tensor_offset}
        ),
    }


def _own_of_kernel(compiled: CompiledOperation, kernel: Kernel) -> JsonObject:
    own = kernel.own
    return {
        "name": kernel.name,
        "file": _kernel_file(kernel),
        "thread": kernel.thread.value,
        "compile_time_args": list(own.compile_time if own else compiled.buffer_indices),
        "uses_tensor_accessors": kernel.uses_tensor_accessors,
        "uses_pipe_scratch": kernel.uses_pipe_scratch,
        "runtime_arg_names": list(kernel.runtime_arg_names),
        "runtime_args": [_record(asdict(arguments)) for arguments in kernel.runtime_args],
        "signposts": [list(pair) for pair in kernel.signposts],
        "marks": [asdict(mark) for mark in kernel.marks],
        "source_map": [[line, _span_to_json(span)] for line, span in kernel.source_map],
        **({} if own is None else {"own": _record(asdict(own))}),
    }


def _span_to_json(span: Span) -> list[object]:
    place = [span.file, span.line, span.column, span.end_line, span.end_column]
    return [*place, [list(each) for each in span.expanded]] if span.expanded else place


# Reading ------------------------------------------------------------------------------------------


def from_json(manifest: object) -> CompiledOperation:
    """Reverse `to_json`; raise UsageError if pyttlang did not write the manifest."""
    if not isinstance(manifest, dict):
        raise _not_an_artifact("it is not a JSON object")
    version = manifest.get("format_version")
    if type(version) is not int or version not in FORMAT_VERSIONS:
        raise _not_an_artifact(f"format_version is {version!r}, and not 1 or 2")
    try:
        compiled = read_artifact(manifest, is_ours=True).operation
        _check_same(manifest, to_json(compiled, version), "")
        return compiled
    except MissingKey as missing:
        raise _not_an_artifact(f"it has no {missing.key!r}") from None
    except ValueError as error:
        raise _not_an_artifact(f"its parts do not fit together: {error}") from None


def _check_same(given: object, written: object, path: str) -> None:
    """Raise ValueError if the manifest differs from its operation, written again.

    Finds unknown keys, and numbers that contradict others.
    """
    if isinstance(given, dict) and isinstance(written, dict):
        for key in {**written, **given}:
            place = f"{path}.{key}" if path else key
            if key not in written:
                raise ValueError(f"{place} is not known here")
            if key not in given:
                raise MissingKey(path, key)
            _check_same(given[key], written[key], place)
    elif isinstance(given, list) and isinstance(written, list) and len(given) == len(written):
        for n, pair in enumerate(zip(given, written, strict=True)):
            _check_same(*pair, f"{path}[{n}]")
    elif type(given) is not type(written) or given != written:
        shown = reprlib.repr(given)
        raise ValueError(f"{path} is {shown}, and by the rest {reprlib.repr(written)}")
