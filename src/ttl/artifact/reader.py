"""Reads and checks artifacts of any writer; all code that reads artifacts uses this module.

All artifacts have the keys of tt-xla. Other writers leave out pyttlang's own keys under `pyttl`,
which have defaults. ValueError reports what is wrong and where. docs/reference/artifact.md
describes the keys.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, TypeVar

from ttl.target import DEVICE_APIS, TARGETS, load
from ttl.target.data_formats import MATH_FIDELITIES

from .fits import check_fits
from .operation import (
    MARK_KINDS,
    PAGE_BYTES,
    Buffer,
    CompiledOperation,
    ComputeConfig,
    CoreArguments,
    Kernel,
    Mark,
    Memory,
    NamedPipe,
    Operand,
    OwnArguments,
    Rectangle,
    SemaphorePlan,
    ThreadKind,
)
from .part import Part

T = TypeVar("T")
FORMAT_VERSIONS = (1, 2)
CONFIG_TYPES = {
    ThreadKind.COMPUTE: "ComputeKernelConfig",
    ThreadKind.READER: "ReaderKernelConfig",
    ThreadKind.WRITER: "WriterKernelConfig",
}
_THREADS = {name: thread for thread, name in CONFIG_TYPES.items()}
_DATA_FORMATS = (*PAGE_BYTES, "BFP_Float8", "BFP_Float4")  # our kernels lack the last two
_FLAGS = tuple(field.name for field in fields(ComputeConfig) if field.name != "math_fidelity")

# tt-xla's names of element types; block floats have none.
MLIR_NAMES = {
    "bfloat16": "bf16",
    "float16": "f16",
    "float32": "f32",
    "int32": "i32",
    "uint32": "ui32",
    "uint16": "ui16",
    "uint8": "ui8",
}
_ELEMENTS = {mlir: name for name, mlir in MLIR_NAMES.items()} | {
    name: name for name in ("bfloat8_b", "bfloat4_b")
}
LAYOUTS = ("TILE", "ROW_MAJOR")
# More than any chip has; larger numbers would take long to process before a check fails.
_MOST_SEMAPHORES = 1024
_MOST_CORES = 2**16


@dataclass(frozen=True, slots=True)
class Artifact:
    """An artifact; `operation` uses the first of `core_ranges`, and unknown facts are empty."""

    operation: CompiledOperation
    core_ranges: tuple[Rectangle, ...]
    global_semaphores: int
    has_names: bool


def read_artifact(value: object, *, is_ours: bool = False) -> Artifact:
    """Read parsed JSON of version 1 or 2; `is_ours` requires all keys that pyttlang writes."""
    if not isinstance(value, dict):
        raise ValueError("the root is not an object")
    version = value.get("format_version")
    if type(version) is not int or version not in FORMAT_VERSIONS:
        raise ValueError(f"unsupported format_version (expected 1 or 2), found {version!r}")
    return _Reader(Part(value, ""), version, is_ours).artifact()


def blocks_of(total: int, page: int, count: int) -> tuple[int, int]:
    """Return the pages per block and the blocks; one block if `count` does not divide the pages."""
    if not page or not total or total % page:
        raise ValueError(f"a circular buffer of {total} bytes in pages of {page}")
    pages = total // page
    return (pages // count, count) if pages % count == 0 else (pages, 1)


class _Reader:
    def __init__(self, root: Part, version: int, is_ours: bool):
        self.root, self.version, self.is_ours = root, version, is_ours
        self.own = self._own(root, "pyttl", Part.object, Part({}, "pyttl"))

    def _own(self, part: Part, key: str, read: Callable[[Part], T], default: T) -> T:
        """Read a key that only pyttlang has to write."""
        return read(part.member(key)) if self.is_ours else part.get(key, read, default)

    def artifact(self) -> Artifact:
        waiting, global_semaphores = (
            self._count(f"num_pipe_{kind}_semaphores", _MOST_SEMAPHORES)
            for kind in ("sync", "global")
        )
        ranges = self._core_ranges()
        operation = CompiledOperation(
            name=self._own(self.own, "name", Part.text, ""),
            target=self._own(self.own, "target", lambda part: part.one_of(TARGETS), ""),
            device_api=self._own(self.own, "device_api", lambda part: part.one_of(DEVICE_APIS), ""),
            kernels=self._kernels(),
            buffers=tuple(
                self._buffer(*each)
                for each in self._beside("buffers", self.root.member("cb_configs").items())
            ),
            operands=self._operands() if self.is_ours else (),
            core_range=ranges[0],
            semaphores=self._semaphores(waiting),
            pipe_net_count=self.own.get("pipe_net_count", Part.u32, 0),
            pipes=self.own.get("pipes", partial(_each, NamedPipe), ()),
            pipe_scratch_bytes=self._count("pipe_sram_scratch_bytes"),
        )
        if self.is_ours:
            check_fits(operation, load(operation.target))
        return Artifact(operation, ranges, global_semaphores, bool(self.own.value))

    def _count(self, name: str, most: int = 2**32 - 1) -> int:
        """Read a count, required in version 2 and optional in version 1."""
        if self.version == 2:
            self.root.member(name)
        return self.root.get(name, lambda part: part.u32(most), 0)

    def _core_ranges(self) -> tuple[Rectangle, ...]:
        if "core_range_set" not in self.root.value:
            return (_cores(self.root.member("core_range")),)
        several = self.root.member("core_range_set")
        found = several.each(_cores)
        if not found:
            raise several.wrong("has no rectangle")
        return found

    def _beside(self, name: str, parts: Sequence[Part]) -> list[tuple[int, Part, Part]]:
        """Return each part with its position and pyttlang's details about it."""
        nothing = [Part({}, f"pyttl.{name}") for _ in parts]
        details = self._own(self.own, name, Part.items, nothing)
        if len(details) != len(parts):
            entries = f"has {len(details)} entries, and there are {len(parts)} {name}"
            raise ValueError(f"pyttl.{name} {entries}")
        return list(zip(range(len(parts)), parts, details, strict=True))

    # Kernels

    def _kernels(self) -> tuple[Kernel, ...]:
        parts = self.root.member("kernels").items()
        if not parts:
            raise ValueError("kernels is empty")
        return tuple(self._kernel(*each) for each in self._beside("kernels", parts))

    def _kernel(self, position: int, part: Part, own: Part) -> Kernel:
        source = part.member("cpp_source").text()
        config, thread = self._thread(part, own)
        return Kernel(
            thread=thread,
            cpp_source=source,
            config=self._compute_config(config) if thread is ThreadKind.COMPUTE else None,
            tensor_indices=self._own(part, "tensor_indices", Part.numbers, ()),
            runtime_args=self._own(own, "runtime_args", lambda part: part.each(_core_args), ()),
            name=self._own(own, "name", Part.text, f"kernel_{position}"),
            source_map=self._own(own, "source_map", Part.source_map, ()),
            runtime_arg_names=self._own(own, "runtime_arg_names", Part.texts, ()),
            signposts=own.get("signposts", Part.named, ()),
            uses_pipe_scratch=own.get("uses_pipe_scratch", Part.flag, False),
            marks=own.get("marks", partial(_each, Mark), ()),
            own=own.get("own", partial(_one, OwnArguments), None),
        )

    def _thread(self, part: Part, own: Part) -> tuple[Part, ThreadKind]:
        kind = part.member("thread_type").one_of(("compute", "noc"))
        config = part.member("kernel_config").object()
        name = config.member("type").text()
        thread = _THREADS.get(name)
        if thread is None or (thread is ThreadKind.COMPUTE) != (kind == "compute"):
            raise config.wrong(f"of type '{name}' does not fit thread_type '{kind}'")
        values = [each.value for each in ThreadKind]
        given = self._own(own, "thread", lambda part: part.one_of(values), thread.value)
        if given != thread.value:
            raise config.wrong(f"of type '{name}' does not fit thread '{given}'")
        return config, thread

    def _compute_config(self, config: Part) -> ComputeConfig:
        """Read the configuration; like tt-mlir, treat an unknown fidelity as HiFi4."""
        unknown = sorted(config.value.keys() - {"type", "math_fidelity", *_FLAGS})
        if self.is_ours and unknown:
            raise config.wrong(f"has no '{unknown[0]}'")
        flags = {name: config.get(name, Part.flag, False) for name in _FLAGS}
        if self.is_ours:
            fidelity = config.member("math_fidelity").one_of(MATH_FIDELITIES)
        else:
            fidelity = config.get("math_fidelity", lambda part: str(part.value), "")
            fidelity = fidelity.rpartition(".")[2]
        known = fidelity if fidelity in MATH_FIDELITIES else "HiFi4"
        return ComputeConfig(math_fidelity=known, **flags)

    # Buffers, semaphores and tensors

    def _buffer(self, position: int, part: Part, own: Part) -> Buffer:
        index = part.member("buffer_index").u32()
        formats = PAGE_BYTES if self.is_ours else _DATA_FORMATS
        data_format = part.member("data_format").one_of(formats)
        page, total = (part.member(key).u32() for key in ("page_size", "total_size"))
        given = self._own(part, "block_count", Part.positive, 1)
        try:
            tiles, count = blocks_of(total, page, given)
        except ValueError as error:
            raise part.wrong(f"is {error}") from None
        is_allocated = self._own(own, "compiler_allocated", Part.flag, False)
        counted = tiles * (1 if is_allocated else count)
        if self._own(part, "num_tiles", Part.u32, counted) != counted and self.is_ours:
            raise part.wrong(f"has {counted} tiles by its size, and another number of them")
        is_row_major = own.get("is_row_major", Part.flag, page != PAGE_BYTES.get(data_format))
        return Buffer(
            name=self._own(own, "name", Part.text, f"buffer_{index}"),
            index=index,
            data_format=data_format,
            block_tiles=tiles,
            block_count=count,
            unpack_to_dest_fp32=self._own(own, "unpack_to_dest_fp32", Part.flag, False),
            span=self._own(own, "span", lambda part: part.span() if part.value else None, None),
            compiler_allocated=is_allocated,
            row_bytes=page if is_row_major else None,
            cores=own.get("cores", _READERS["Rectangles"], ()),
            shares=own.get("shares", Part.u32, None),
            tensor=own.get("tensor", Part.u32, None),
            tensor_offset=own.get("tensor_offset", Part.u32, 0),
        )

    def _semaphores(self, count: int) -> tuple[SemaphorePlan, ...]:
        """Return the semaphores; other writers mean the first `count`, starting at 0."""
        values = {} if self.is_ours else dict.fromkeys(range(count), 0)
        given: list[Part] = []
        for part in self._own(self.own, "semaphores", Part.items, given):
            index = part.member("id").u32(_MOST_SEMAPHORES)
            values[index] = part.member("initial_value").word()
        return tuple(SemaphorePlan(*each) for each in sorted(values.items()))

    def _operands(self) -> tuple[Operand, ...]:
        metadata = self.root.member("operand_metadata").object()
        names = self.own.member("operand_names").texts()
        shapes = metadata.member("shapes").each(Part.numbers)
        dtypes = metadata.member("dtypes").each(lambda part: _ELEMENTS[part.one_of(_ELEMENTS)])
        layouts = metadata.member("layouts").each(lambda part: part.one_of(LAYOUTS))
        usual = (Memory(),) * len(names)
        memories = self.own.get("memory_configs", partial(_each, Memory), usual)
        unknown: tuple[int | None, ...] = (None,) * len(names)
        addresses = self.own.get("operand_addresses", Part.numbers, unknown)
        lists = (names, shapes, dtypes, layouts, memories, addresses)
        if len({len(each) for each in lists}) != 1:
            raise ValueError("names, shapes, types and layouts are not those of the same tensors")
        return tuple(Operand(*each) for each in zip(*lists, strict=True))


def _cores(part: Part) -> Rectangle:
    (x0, y0), (x1, y1) = corners = part.object().rectangle()
    if (x1 - x0 + 1) * (y1 - y0 + 1) > _MOST_CORES:
        raise part.wrong(f"has more than {_MOST_CORES} cores")
    return corners


def _core_args(part: Part) -> CoreArguments:
    return CoreArguments(part.member("core").coordinate(), part.member("args").each(Part.word))


# By the annotation of a field.
_READERS: dict[str, Callable[[Part], Any]] = {
    "int": Part.u32,
    "int | None": lambda part: None if part.value is None else part.u32(),
    "str": Part.line,
    "MarkKind": lambda part: part.one_of(MARK_KINDS),
    "Coordinate": Part.coordinate,
    "tuple[int, ...]": Part.numbers,
    "tuple[tuple[str, int], ...]": lambda part: part.pairs(Part.line, Part.u32),
    "tuple[tuple[str, str], ...]": lambda part: part.pairs(Part.line, Part.line),
    "Rectangles": lambda part: part.pairs(Part.coordinate, Part.coordinate),
}


def _one(kind: type[T], part: Part) -> T:
    """Read an object with a key for each field of a dataclass."""
    types = {field.name: str(field.type) for field in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: _READERS[of](part.member(name)) for name, of in types.items()})


def _each(kind: type[T], part: Part) -> tuple[T, ...]:
    return part.each(partial(_one, kind))
