"""A ProgramDescriptor of the flatbuffer as compiled operations that the executor runs.

Compile-time arguments follow one convention: the indices of all buffers, then, for data movement
kernels, the accessors of the tensors. The markers of these are replaced when the operation is
launched, by the words of the buffers that are there then.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ttl.artifact import (
    PAGE_BYTES,
    Buffer,
    CompiledOperation,
    ComputeConfig,
    CoreArguments,
    Kernel,
    Operand,
    Semaphore,
    ThreadKind,
    check_includes,
)
from ttl.diagnostics import Span
from ttl.target import TARGETS, Target
from ttl.target import load as load_target

from .program import GenericStep, TensorDescription, rectangles
from .reader import Malformed

_THREADS = {
    "ComputeKernelConfig": ThreadKind.COMPUTE,
    "ReaderKernelConfig": ThreadKind.READER,
    "WriterKernelConfig": ThreadKind.WRITER,
}


def compiled_operations(
    step: GenericStep, tensors: Sequence[TensorDescription], target: Target
) -> list[CompiledOperation]:
    """One for each rectangle of cores; Malformed where the parts do not fit together."""
    debug = _Debug(step.debug)
    if debug.target not in (None, target.name):
        raise Malformed(f"its kernels were compiled for {debug.target}, not {target.name}")
    kernels, semaphores = step.program["kernels"], step.program["semaphores"]
    cores = _common_cores(step.program)
    _check_cores(cores, target)
    if step.semaphores or (len(cores) > 1 and semaphores):
        what = "global semaphores" if step.semaphores else "semaphores between rectangles of cores"
        raise Malformed(f"{what} are not known to this runtime")
    buffers = _buffers(step.program["cbs"], debug, target)
    operation = CompiledOperation(
        name=debug.text(("name",), "generic"),
        target=target.name,
        device_api=debug.text(("device_api",), target.device_api),
        kernels=tuple(
            _kernel(kernel, position, buffers, len(tensors), debug)
            for position, kernel in enumerate(kernels)
        ),
        buffers=buffers,
        operands=tuple(
            Operand(f"tensor_{n}", each.shape, each.dtype.name, each.layout.name)
            for n, each in enumerate(tensors)
        ),
        core_range=cores[0],
        semaphores=_semaphores(semaphores, target),
    )
    _check_kernels(operation)
    check_includes(operation)
    return [replace(operation, core_range=corners) for corners in cores]


def _check_kernels(operation: CompiledOperation) -> None:
    threads = [kernel.thread for kernel in operation.kernels]
    if not threads:
        raise Malformed("a generic operation without kernels")
    if len(set(threads)) != len(threads):
        raise Malformed("two kernels for the same processor")


def _common_cores(program: Mapping[str, Any]) -> list[Any]:
    """All kernels, buffers and semaphores are on the same cores."""
    sets = [kernel["core_ranges"] for kernel in program["kernels"]]
    sets += [buffer["core_range"] for buffer in program["cbs"]]
    sets += [semaphore["core_ranges"] for semaphore in program["semaphores"]]
    found = [rectangles(each) for each in sets]
    if not found:
        raise Malformed("a generic operation without kernels")
    if any(each != found[0] for each in found):
        raise Malformed("kernels and buffers on different cores are not known to this runtime")
    return found[0]


def _check_cores(cores: list[Any], target: Target) -> None:
    for position, (first, last) in enumerate(cores):
        if any(corner >= size for corner, size in zip(last, target.grid, strict=True)):
            raise Malformed(f"core {last} is not in the {target.grid} grid of {target.name}")
        for other, end in cores[:position]:
            apart = (first[i] > end[i] or other[i] > last[i] for i in range(2))
            if not any(apart):
                raise Malformed("rectangles of cores overlap")


def _kernel(
    value: Mapping[str, Any],
    position: int,
    buffers: Sequence[Buffer],
    tensors: int,
    debug: _Debug,
) -> Kernel:
    if value["source_type"] != "SOURCE_CODE":
        raise Malformed("a kernel that is a path, not C++, is not run")
    if value["config"] is None or next(iter(value["config"])) not in _THREADS:
        raise Malformed(f"kernel {position} has no configuration that is known here")
    ((kind, config),) = value["config"].items()
    thread = _THREADS[kind]
    _check_compile_time(value, thread, buffers, tensors)
    path = ("kernels", position)
    return Kernel(
        name=debug.identifier((*path, "name"), f"kernel_{position}"),
        thread=thread,
        cpp_source=value["source"],
        tensor_indices=_tensor_indices(value["common_rt_args"], tensors),
        config=_compute_config(config) if thread is ThreadKind.COMPUTE else None,
        source_map=debug.source_map((*path, "source_map")),
        runtime_args=tuple(_core_arguments(each) for each in value["rt_args"]),
        signposts=debug.pairs((*path, "signposts")),
    )


def _compute_config(value: Mapping[str, Any]) -> ComputeConfig:
    names = ComputeConfig.__dataclass_fields__
    return ComputeConfig(**{name: value[name] for name in names})


def _arguments(value: Any) -> list[tuple[str, Mapping[str, int]]]:
    given = value["args"] if isinstance(value, dict) else value
    found = []
    for argument in given or ():
        if argument["arg"] is None:
            raise Malformed("an argument of a kernel without a value")
        found.append(next(iter(argument["arg"].items())))
    return found


def _check_compile_time(
    value: Mapping[str, Any], thread: ThreadKind, buffers: Sequence[Buffer], tensors: int
) -> None:
    """The convention of the artifact; a scratch tensor of pipes has no accessor."""
    given = _arguments(value["ct_args"])
    indices = [("KernelArgCBBufferIndex", {"buffer_index": each.index}) for each in buffers]
    if given[: len(indices)] != indices:
        raise Malformed("compile-time arguments of a kernel do not begin with all its buffers")
    markers = [fields for kind, fields in given[len(indices) :]]
    kinds = {kind for kind, _ in given[len(indices) :]}
    if kinds - {"KernelArgTensorAccessorArgs"} or (markers and thread is ThreadKind.COMPUTE):
        raise Malformed("compile-time arguments of a kernel that are not known to this runtime")
    for position, fields in enumerate(markers):
        if fields["operand_index"] >= tensors:
            raise Malformed(f"an accessor of tensor {fields['operand_index']} of {tensors}")
        if fields["operand_index"] != position:
            raise Malformed("accessors of tensors in another order are not known to this runtime")


def _tensor_indices(value: Any, tensors: int) -> tuple[int, ...]:
    found = []
    for kind, fields in _arguments(value):
        if kind != "KernelArgBufferAddressOfTensor":
            raise Malformed(f"a common runtime argument that is a {kind}")
        if fields["tensor_idx"] >= tensors:
            raise Malformed(f"the address of tensor {fields['tensor_idx']} of {tensors}")
        found.append(fields["tensor_idx"])
    return tuple(found)


def _core_arguments(value: Mapping[str, Any]) -> CoreArguments:
    words = []
    for kind, fields in _arguments(value["args"]):
        if kind != "KernelArgScalar":
            raise Malformed(f"a runtime argument that is a {kind}")
        words.append(fields["value"])
    if value["core_coord"] is None:
        raise Malformed("runtime arguments without a core")
    return CoreArguments((value["core_coord"]["x"], value["core_coord"]["y"]), tuple(words))


def _buffers(values: Sequence[Any], debug: _Debug, target: Target) -> tuple[Buffer, ...]:
    buffers = tuple(_buffer(value, position, debug) for position, value in enumerate(values))
    indices = [buffer.index for buffer in buffers]
    if len(set(indices)) != len(indices) or any(i >= target.dataflow_buffers for i in indices):
        raise Malformed(f"{indices} are not the numbers of circular buffers of {target.name}")
    return buffers


def _buffer(value: Mapping[str, Any], position: int, debug: _Debug) -> Buffer:
    if len(value["formats"]) != 1:
        raise Malformed("a circular buffer with several formats is not known to this runtime")
    (form,) = value["formats"]
    page, total = form["page_size"], value["total_size"]
    if form["dtype"] not in PAGE_BYTES:
        raise Malformed(f"buffers of {form['dtype']} are not known to this runtime")
    if not page or not total or total % page:
        raise Malformed(f"a circular buffer of {total} bytes in pages of {page}")
    pages = total // page
    count = debug.number(("buffers", position, "block_count"), 1)
    count = count if count and pages % count == 0 else 1
    return Buffer(
        name=debug.text(("buffers", position, "name"), f"buffer_{form['buffer_index']}"),
        index=form["buffer_index"],
        data_format=form["dtype"],
        block_tiles=pages // count,
        block_count=count,
        span=debug.span(("buffers", position, "span")),
        row_bytes=None if page == PAGE_BYTES[form["dtype"]] else page,
    )


def _semaphores(values: Sequence[Any], target: Target) -> tuple[Semaphore, ...]:
    found = tuple(Semaphore(each["id"], each["initial_value"]) for each in values)
    if any(each.index >= target.semaphores for each in found):
        raise Malformed(f"{target.name} has {target.semaphores} semaphores")
    return found


Path = tuple[str | int, ...]


class _Debug:
    """What pyttl wrote beside the program so that messages name things. It may be anything."""

    def __init__(self, text: str):
        try:
            self.value = json.loads(text) if text else {}
        except (ValueError, RecursionError):
            self.value = {}

    @property
    def target(self) -> str | None:
        name = self._at(("target",))
        return name if isinstance(name, str) and name in TARGETS else None

    def _at(self, path: Path) -> Any:
        value = self.value
        for part in path:
            try:
                value = value[part]
            except (KeyError, IndexError, TypeError):
                return None
        return value

    def text(self, path: Path, default: str) -> str:
        found = self._at(path)
        return found if isinstance(found, str) and found.isprintable() and found else default

    def identifier(self, path: Path, default: str) -> str:
        """The name becomes that of a file of C++ in messages of the compiler."""
        found = self.text(path, default)
        return found if found.isidentifier() and found.isascii() else default

    def number(self, path: Path, default: int) -> int:
        found = self._at(path)
        return found if type(found) is int and found > 0 else default

    def span(self, path: Path) -> Span | None:
        return _span(self._at(path))

    def source_map(self, path: Path) -> tuple[tuple[int, Span], ...]:
        found = self._at(path)
        entries = []
        for each in found if isinstance(found, list) else ():
            span = _span(each[1]) if isinstance(each, list) and len(each) == 2 else None
            if span is not None and type(each[0]) is int:
                entries.append((each[0], span))
        return tuple(sorted(entries, key=lambda entry: entry[0]))

    def pairs(self, path: Path) -> tuple[tuple[str, str], ...]:
        found = self._at(path)
        pairs = [
            (each[0], each[1])
            for each in (found if isinstance(found, list) else ())
            if isinstance(each, list) and len(each) == 2 and all(isinstance(p, str) for p in each)
        ]
        return tuple(pairs)


def _span(value: Any) -> Span | None:
    if not isinstance(value, list) or len(value) != 5 or not isinstance(value[0], str):
        return None
    if not all(type(number) is int and number > 0 for number in value[1:]):
        return None
    return Span(*value)


def target_of(programs: Sequence[Mapping[str, Any]]) -> Target:
    """The chip of the first kernels that say for which they were compiled."""
    operations = [operation for program in programs for operation in program["operations"]]
    named = (_Debug(operation["debug_info"]).target for operation in operations)
    return load_target(next((name for name in named if name is not None), TARGETS[0]))
