"""The artifact of a TT-Lang operation, read from JSON and checked: nothing in it is believed.

ValueError with what is wrong and where. docs/reference/artifact.md describes the keys.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from ttl.semantics.kernel_config import MATH_FIDELITIES
from ttl.target.data_formats import PAGE_BYTES

FORMAT_VERSIONS = (1, 2)
DATA_FORMATS = (*PAGE_BYTES, "BFP_Float8", "BFP_Float4")  # the last two no kernel of ours has
CONFIG_TYPES = {
    "compute": ("ComputeKernelConfig",),
    "noc": ("ReaderKernelConfig", "WriterKernelConfig"),
}
_FLAGS = ("fp32_dest_acc_en", "dst_full_sync_en", "bfp8_pack_precise", "math_approx_mode")
_VERSION_2 = ("num_pipe_sync_semaphores", "num_pipe_global_semaphores", "pipe_sram_scratch_bytes")
# More than any chip has: such numbers make work before anybody looks at them.
_MOST = {"num_pipe_sync_semaphores": 1024, "num_pipe_global_semaphores": 1024}

Coordinate = tuple[int, int]
Rectangle = tuple[Coordinate, Coordinate]


@dataclass(frozen=True, slots=True)
class ArtifactKernel:
    source: str
    config_type: str
    tensor_indices: tuple[int, ...]
    math_fidelity: str = "HiFi4"
    flags: dict[str, bool] = field(default_factory=dict)
    runtime_args: tuple[tuple[Coordinate, tuple[int, ...]], ...] = ()

    @property
    def is_compute(self) -> bool:
        return self.config_type == "ComputeKernelConfig"


@dataclass(frozen=True, slots=True)
class ArtifactBuffer:
    index: int
    data_format: str
    page_size: int
    total_size: int
    unpack_to_dest_fp32: bool = False


@dataclass(frozen=True, slots=True)
class KernelArtifact:
    kernels: tuple[ArtifactKernel, ...]
    buffers: tuple[ArtifactBuffer, ...]
    core_ranges: tuple[Rectangle, ...]
    semaphores: tuple[tuple[int, int], ...]  # id, initial value
    global_semaphores: int
    scratch_bytes: int
    debug: dict[str, Any]  # names and lines, for messages only

    @property
    def num_cores(self) -> int:
        return sum(
            prod(last - first + 1 for first, last in zip(*corners, strict=True))
            for corners in self.core_ranges
        )


class _Part:
    """A value of the JSON and how to say where it stands."""

    def __init__(self, value: Any, path: str):
        self.value, self.path = value, path

    def wrong(self, problem: str) -> ValueError:
        return ValueError(f"{self.path} {problem}")

    def object(self) -> _Part:
        if not isinstance(self.value, dict):
            raise self.wrong("is not an object")
        return self

    def get(self, key: str) -> _Part | None:
        if key not in self.object().value:
            return None
        return _Part(self.value[key], f"{self.path}.{key}" if self.path else key)

    def member(self, key: str) -> _Part:
        found = self.get(key)
        if found is None:
            raise ValueError(f"{self.path + ': ' if self.path else ''}missing key '{key}'")
        return found

    def items(self) -> list[_Part]:
        if not isinstance(self.value, list):
            raise self.wrong("is not an array")
        return [_Part(item, f"{self.path}[{n}]") for n, item in enumerate(self.value)]

    def integer(self) -> int:
        if type(self.value) is not int:
            raise self.wrong("is not an integer")
        return self.value

    def u32(self, most: int = 2**32 - 1) -> int:
        number = self.integer()
        if not 0 <= number < 2**32:
            raise self.wrong(f"= {number} is out of range for uint32_t")
        if number > most:
            raise self.wrong(f"= {number} is more than {most}")
        return number

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self.wrong("is not a string")
        return self.value

    def one_of(self, names: tuple[str, ...]) -> str:
        if self.text() not in names:
            raise self.wrong(f"= '{self.value}' is not one of {', '.join(names)}")
        return self.text()

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            raise self.wrong("is not a boolean")
        return self.value


def read_artifact(text: str) -> KernelArtifact:
    """ValueError if it is no artifact of version 1 or 2."""
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is not valid JSON: {error}") from None
    if not isinstance(parsed, dict):
        raise ValueError("the root is not an object")
    root = _Part(parsed, "")
    version = parsed.get("format_version")
    if type(version) is not int or version not in FORMAT_VERSIONS:
        raise ValueError(f"unsupported format_version (expected 1 or 2), found {version!r}")
    counts = {name: _count(root, name, version) for name in _VERSION_2}
    own = _Part(parsed.get("pyttl", {}), "pyttl").object()
    ranges = _core_ranges(root)
    return KernelArtifact(
        kernels=_kernels(root, own),
        buffers=_buffers(root, own),
        core_ranges=ranges,
        semaphores=_semaphores(own, counts["num_pipe_sync_semaphores"]),
        global_semaphores=counts["num_pipe_global_semaphores"],
        scratch_bytes=counts["pipe_sram_scratch_bytes"],
        debug=_debug(root, own),
    )


def _count(root: _Part, name: str, version: int) -> int:
    """Required in version 2, read where they are in version 1."""
    found = root.get(name) if version == 1 else root.member(name)
    return 0 if found is None else found.u32(_MOST.get(name, 2**32 - 1))


def _core_ranges(root: _Part) -> tuple[Rectangle, ...]:
    several = root.get("core_range_set")
    if several is None:
        return (_rectangle(root.member("core_range")),)
    found = tuple(_rectangle(item) for item in several.items())
    if not found:
        raise several.wrong("has no rectangle")
    return found


def _rectangle(part: _Part) -> Rectangle:
    first, last = (_coordinate(part.object().member(key)) for key in ("start", "end"))
    if first[0] > last[0] or first[1] > last[1]:
        raise part.wrong(f"start {first} is behind its end {last}")
    return first, last


def _coordinate(part: _Part) -> Coordinate:
    items = part.items()
    if len(items) != 2:
        raise part.wrong("must have 2 elements")
    x, y = (item.integer() for item in items)
    if x < 0 or y < 0:
        raise part.wrong("must not be negative")
    return _Part(x, part.path).u32(), _Part(y, part.path).u32()


def _buffers(root: _Part, own: _Part) -> tuple[ArtifactBuffer, ...]:
    parts = root.member("cb_configs").items()
    details = _beside(own, "buffers", parts)
    return tuple(_buffer(part, detail) for part, detail in zip(parts, details, strict=True))


def _buffer(part: _Part, detail: _Part) -> ArtifactBuffer:
    wide = detail.get("unpack_to_dest_fp32")
    return ArtifactBuffer(
        part.member("buffer_index").u32(),
        part.member("data_format").one_of(DATA_FORMATS),
        part.member("page_size").u32(),
        part.member("total_size").u32(),
        wide is not None and wide.flag(),
    )


def _kernels(root: _Part, own: _Part) -> tuple[ArtifactKernel, ...]:
    parts = root.member("kernels").items()
    if not parts:
        raise ValueError("kernels is empty")
    details = _beside(own, "kernels", parts)
    return tuple(_kernel(part, detail) for part, detail in zip(parts, details, strict=True))


def _beside(own: _Part, name: str, parts: Sequence[object]) -> list[_Part]:
    """What pyttl says more about each of the parts; other writers say nothing."""
    given = own.get(name)
    if given is None:
        return [_Part({}, f"pyttl.{name}") for _ in parts]
    if len(given.items()) != len(parts):
        raise given.wrong(f"has {len(given.items())} entries, and there are {len(parts)} {name}")
    return given.items()


def _kernel(part: _Part, detail: _Part) -> ArtifactKernel:
    source = part.member("cpp_source").text()
    thread = part.member("thread_type").one_of(("compute", "noc"))
    config = part.member("kernel_config").object()
    kind = config.member("type").text()
    if kind not in CONFIG_TYPES[thread]:
        raise config.wrong(f"of type '{kind}' does not fit thread_type '{thread}'")
    indices = part.get("tensor_indices")
    arguments = detail.get("runtime_args")
    return ArtifactKernel(
        source=source,
        config_type=kind,
        tensor_indices=() if indices is None else tuple(i.u32() for i in indices.items()),
        math_fidelity=_fidelity(config),
        flags={name: _flag(config, name) for name in _FLAGS} if thread == "compute" else {},
        runtime_args=() if arguments is None else tuple(map(_core_args, arguments.items())),
    )


def _fidelity(config: _Part) -> str:
    """tt-mlir takes what it does not know for HiFi4."""
    given = config.get("math_fidelity")
    name = str(given.value).rpartition(".")[2] if given is not None else ""
    return name if name in MATH_FIDELITIES else "HiFi4"


def _flag(config: _Part, name: str) -> bool:
    found = config.get(name)
    return found is not None and found.flag()


def _core_args(part: _Part) -> tuple[Coordinate, tuple[int, ...]]:
    words = part.member("args").items()
    return _coordinate(part.member("core")), tuple(word.integer() & 0xFFFFFFFF for word in words)


def _semaphores(own: _Part, count: int) -> tuple[tuple[int, int], ...]:
    values = dict.fromkeys(range(count), 0)
    given = own.get("semaphores")
    for part in [] if given is None else given.items():
        index = part.member("id").u32(_MOST["num_pipe_sync_semaphores"])
        values[index] = part.member("initial_value").integer() & 0xFFFFFFFF
    return tuple(sorted(values.items()))


def _debug(root: _Part, own: _Part) -> dict[str, Any]:
    """What makes messages good. It is looked at only by whoever uses it, and checked there."""
    if not own.value:
        return {}
    blocks = [
        {key: part.value[key] for key in ("num_tiles", "block_count") if key in part.value}
        for part in root.member("cb_configs").items()
    ]
    names = ("name", "thread", "source_map", "signposts", "runtime_arg_names")
    kernels = [
        {key: part.value[key] for key in names if key in part.object().value}
        for part in _beside(own, "kernels", root.member("kernels").items())
    ]
    buffers = [
        {**block, **{k: v for k, v in part.object().value.items() if k != "unpack_to_dest_fp32"}}
        for block, part in zip(blocks, _beside(own, "buffers", blocks), strict=True)
    ]
    top = {key: own.value[key] for key in ("name", "target", "device_api") if key in own.value}
    return {**top, "kernels": kernels, "buffers": buffers}
