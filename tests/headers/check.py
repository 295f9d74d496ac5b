"""Check generated kernels against the device headers of ttnn, with the machine's own compiler.

A kernel is put where the vendor's build would put it, into the same wrapper sources with the same
defines, and read in syntax-only mode. Vendor folders are system folders, so that every warning
the vendor's build turns into an error counts in the kernel and none counts in the headers. What the
vendor's compiler package adds is replaced by `standins/`. Pointers have 64 bits here and 32 on the
chip: casts between the two are let through.

`check_kernel` takes a text, `check_operation` a CompiledOperation, `check_folder` a compiled
operation on disk. All give a list of messages, empty when the kernel is good.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from ttl.artifact import PAGE_BYTES, CompiledOperation, Kernel, Operand

from .kernel_text import linker_faults, require_constant_globals
from .metal_headers import cache_folder, find_headers

Thread = Literal["compute", "reader", "writer"]
TargetName = Literal["wormhole_b0", "blackhole"]
TARGETS: tuple[TargetName, ...] = get_args(TargetName)

_HERE = Path(__file__).parent
_PROCESSES = 2


@dataclass(frozen=True, slots=True)
class Chip:
    """How the vendor's build is told which chip it is for."""

    define: tuple[str, ...]
    family: str  # spelling in hw/inc
    llk: str
    extra_llk: tuple[str, ...]
    buffers: int


@dataclass(frozen=True, slots=True)
class Processor:
    """One of the five processors of a node: its wrapper source and where the kernel goes."""

    wrapper: str
    define: tuple[str, ...]
    file: str
    trisc: str = ""  # compute processors only


CHIPS: Mapping[str, Chip] = {
    "wormhole_b0": Chip(
        define=(
            "ARCH_WORMHOLE", "ROUTING_FW_ENABLED", "NUM_DRAM_BANKS=12", "NUM_L1_BANKS=72",
            "IS_NOT_POW2_NUM_DRAM_BANKS=1", "IS_NOT_POW2_NUM_L1_BANKS=1", "PCIE_NOC_X=0",
            "PCIE_NOC_Y=3", "DISPATCH_MESSAGE_ADDR=4290183304",
        ),
        family="wormhole", llk="tt_llk_wormhole_b0", extra_llk=(), buffers=32,
    ),
    "blackhole": Chip(
        define=(
            "ARCH_BLACKHOLE", "NUM_DRAM_BANKS=8", "LOG_BASE_2_OF_NUM_DRAM_BANKS=3",
            "NUM_L1_BANKS=130", "IS_NOT_POW2_NUM_L1_BANKS=1", "PCIE_NOC_X=19", "PCIE_NOC_Y=24",
            "DISPATCH_MESSAGE_ADDR=4290184248",
        ),
        family="blackhole", llk="tt_llk_blackhole", extra_llk=("llk_lib/hal",), buffers=64,
    ),
}  # fmt: skip

PROCESSORS: Mapping[Thread, tuple[Processor, ...]] = {
    "writer": (
        Processor("brisck.cc", ("COMPILE_FOR_BRISC", "PROCESSOR_INDEX=0", "NOC_INDEX=1"),
                  "kernel_includes.hpp"),
    ),
    "reader": (
        Processor("ncrisck.cc", ("COMPILE_FOR_NCRISC", "PROCESSOR_INDEX=1", "NOC_INDEX=0"),
                  "kernel_includes.hpp"),
    ),
    "compute": tuple(
        Processor("trisck.cc", (f"UCK_CHLKC_{name}", f"COMPILE_FOR_TRISC={number}",
                                f"PROCESSOR_INDEX={number + 2}"),
                  f"chlkc_{name.lower()}.cpp", name)
        for number, name in enumerate(("UNPACK", "MATH", "PACK"))
    ),
}  # fmt: skip

_COMMON = (
    "KERNEL_BUILD", "TENSIX_FIRMWARE", "LOCAL_MEM_EN=0", "PROGRAMMABLE_CORE_TYPE=0",
    'FULL_KERNEL_NAME="kernel"', "NOC_MODE=0", "DISABLE_SFPLOADMACRO",
)  # fmt: skip

_FLAGS = (
    "-std=c++17", "-ffast-math", "-fno-exceptions", "-fno-rtti", "-Wall", "-Werror",
    "-Wno-error=deprecated-declarations", "-Wno-error=parentheses",
    "-Wno-error=multistatement-macros", "-Wno-unused-variable", "-Wno-unused-function",
    "-Wno-unused-but-set-variable", "-Wno-attributes", "-Wno-int-to-pointer-cast", "-fpermissive",
    "-fdiagnostics-color=never", "-fno-diagnostics-show-caret",
)  # fmt: skip

# The numbers by which the chip knows the formats of PAGE_BYTES (enum DataFormat in tensix_types.h).
_FORMAT_NUMBERS = {
    "Float32": 0, "BFloat16": 5, "BFP_BFloat8": 6, "BFP_BFloat4": 7, "Int32": 8, "UInt16": 9,
    "UInt32": 24, "UInt8": 30,
}  # fmt: skip
_UNUSED_FORMAT, _UNUSED_TILE_BYTES = 255, 1088
_FIDELITY_NUMBERS = {"LoFi": 0, "HiFi2": 2, "HiFi3": 3, "HiFi4": 4}

_ELEMENT_BYTES = {"bfloat16": 2, "float32": 4, "int32": 4, "uint32": 4, "uint16": 2, "uint8": 1}
_TILE_BYTES = {"bfloat8_b": 1088, "bfloat4_b": 576}
_ACCESSOR_IN_DRAM = 2  # first word of an interleaved tensor's accessor arguments


@dataclass(frozen=True, slots=True)
class Unit:
    """Everything that decides the verdict on one kernel for one processor of one chip."""

    source: str
    processor: Processor
    target: str
    compile_time_args: tuple[int, ...] = ()
    formats: tuple[tuple[int, str], ...] = ()  # (buffer index, data format)
    fp32_dest_acc_en: bool = False
    dst_full_sync_en: bool = False
    math_fidelity: str = "HiFi4"
    math_approx_mode: bool = False
    defines: tuple[tuple[str, str], ...] = field(default=())

    @property
    def key(self) -> str:
        """The content hash under which the verdict is kept."""
        text = f"{_checker_key()}\n{self!r}"
        return hashlib.sha256(text.encode()).hexdigest()


def check_kernel(
    source: str,
    thread: Thread,
    compile_time_args: Sequence[int] = (),
    formats: Mapping[int, str] | None = None,
    *,
    fp32_dest_acc_en: bool = False,
    dst_full_sync_en: bool = False,
    math_fidelity: str = "HiFi4",
    math_approx_mode: bool = False,
    target: TargetName = "wormhole_b0",
) -> list[str]:
    """What is wrong with one kernel on one chip; a compute kernel is read for its three processors.

    `formats` gives the data format (a key of PAGE_BYTES) of each buffer index in use.
    """
    units = [
        Unit(
            source=source,
            processor=processor,
            target=target,
            compile_time_args=tuple(compile_time_args),
            formats=tuple(sorted((formats or {}).items())),
            fp32_dest_acc_en=fp32_dest_acc_en,
            dst_full_sync_en=dst_full_sync_en,
            math_fidelity=math_fidelity,
            math_approx_mode=math_approx_mode,
        )
        for processor in PROCESSORS[thread]
    ]
    return _unique([*linker_faults(source), *_check_units(units)])


def check_operation(
    compiled: CompiledOperation, targets: Iterable[str] | None = None
) -> list[str]:
    """What is wrong with the kernels of an operation, on its own chip unless `targets` are given."""
    chosen = tuple(targets) if targets is not None else (compiled.target,)
    units: list[Unit] = []
    owners: list[str] = []
    messages: list[str] = []
    for kernel in compiled.kernels:
        messages += [f"{kernel.name}: {fault}" for fault in linker_faults(kernel.cpp_source)]
        for target in chosen:
            mine = _kernel_units(compiled, kernel, target)
            units += mine
            owners += [f"{kernel.name} ({target})"] * len(mine)
    for owner, found in zip(owners, _verdicts(units), strict=True):
        messages += [f"{owner}: {message}" for message in found]
    return _unique(messages)


def check_folder(path: Path | str, targets: Iterable[str] | None = None) -> list[str]:
    """What is wrong with the kernels of an operation that was written to a folder."""
    from ttl.artifact import read_folder

    return check_operation(read_folder(Path(path)), targets)


def _kernel_units(compiled: CompiledOperation, kernel: Kernel, target: str) -> list[Unit]:
    config = kernel.config
    return [
        Unit(
            source=kernel.cpp_source,
            processor=processor,
            target=target,
            compile_time_args=compile_time_args(compiled, kernel),
            formats=tuple(sorted((item.index, item.data_format) for item in compiled.buffers)),
            fp32_dest_acc_en=bool(config and config.fp32_dest_acc_en),
            dst_full_sync_en=bool(config and config.dst_full_sync_en),
            math_fidelity=config.math_fidelity if config else "HiFi4",
            math_approx_mode=bool(config and config.math_approx_mode),
        )
        for processor in PROCESSORS[kernel.thread.value]
    ]


def compile_time_args(compiled: CompiledOperation, kernel: Kernel) -> tuple[int, ...]:
    """The arguments a launcher would give, by the convention of ttl.artifact."""
    arguments = sorted(buffer.index for buffer in compiled.buffers)
    if kernel.thread.value != "compute":
        for operand in compiled.operands:
            arguments += [_ACCESSOR_IN_DRAM, _operand_page_bytes(operand)]
    return tuple(arguments)


def _operand_page_bytes(operand: Operand) -> int:
    if operand.dtype in PAGE_BYTES:
        return PAGE_BYTES[operand.dtype]
    dtype = operand.dtype.rpartition(".")[2].lower()
    if dtype in _TILE_BYTES:
        return _TILE_BYTES[dtype]
    row_major = "row" in operand.layout.lower()
    return _ELEMENT_BYTES[dtype] * (operand.shape[-1] if row_major else 32 * 32)


def _check_units(units: Sequence[Unit]) -> list[str]:
    return [message for found in _verdicts(units) for message in found]


def _verdicts(units: Sequence[Unit]) -> list[list[str]]:
    """The verdict on each unit, in order; independent compiler runs go side by side."""
    with ThreadPoolExecutor(_PROCESSES) as pool:
        return list(pool.map(_cached_verdict, units))


def _cached_verdict(unit: Unit) -> list[str]:
    path = cache_folder() / "verdicts" / unit.key[:2] / f"{unit.key}.json"
    try:
        messages: list[str] = json.loads(path.read_text())
        return messages
    except (FileNotFoundError, ValueError):
        messages = _verdict(unit)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as handle:
        json.dump(messages, handle)
    os.replace(handle.name, path)
    return messages


def _verdict(unit: Unit) -> list[str]:
    """Run the preprocessor, filter its output, run the checker."""
    with tempfile.TemporaryDirectory(prefix="pyttl-header-check-") as name:
        folder = Path(name)
        _write_generated(unit, folder)
        expanded = _run([*_command(unit, folder), "-E", str(folder / "unit.cpp")])
        if expanded.returncode:
            return _messages(expanded.stderr, folder)
        checked = _run(
            [_compiler(), *_FLAGS, "-fsyntax-only", "-fpreprocessed", "-x", "c++", "-"],
            _filtered(expanded.stdout),
        )
        if checked.returncode == 0:
            return []
        return _messages(checked.stderr, folder)


def _run(command: Sequence[str], text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, input=text, capture_output=True, text=True, errors="replace", check=False,
        env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip


def _command(unit: Unit, folder: Path) -> list[str]:
    chip = CHIPS[unit.target]
    defines = [*_COMMON, *chip.define, *unit.processor.define]
    if unit.compile_time_args:
        words = ",".join(str(word) for word in unit.compile_time_args)
        defines.append(f"KERNEL_COMPILE_TIME_ARGS={words}")
    system = [part for path in _include_folders(unit, folder) for part in ("-isystem", str(path))]
    return [_compiler(), *_FLAGS, *(f"-D{define}" for define in defines), *system]


def _include_folders(unit: Unit, folder: Path) -> list[Path]:
    """The vendor's include path in its order, with the stand-ins where its own come."""
    chip, compute = CHIPS[unit.target], bool(unit.processor.trisc)
    headers = find_headers()
    ttnn = headers / "ttnn"
    metal = ttnn / "tt_metal"
    kernels = metal / "hw/ckernels" / unit.target / "metal"
    common = metal / "hw/inc/internal/tt-1xx"
    family = common / chip.family
    llk = metal / "tt-llk" / chip.llk
    defines = f"{unit.target}_defines"
    paths = [
        folder, ttnn, ttnn / "ttnn", ttnn / "ttnn/cpp", metal / "hw/inc", metal / "tt-llk/common",
        metal / "tt-llk/tools/include", metal / "hostdevcommon/api", metal / "api",
        _HERE / "standins", headers / "generated",
        kernels / "common", kernels / "llk_io", common, family, family / defines, family / "noc",
        llk / "common/inc", llk / "llk_lib", *(llk / extra for extra in chip.extra_llk),
    ]  # fmt: skip
    if compute:
        paths += [kernels / "llk_api", kernels / "llk_api/llk_sfpu"]
    return [*paths, metal / "hw/firmware/src/tt-1xx"]


def _write_generated(unit: Unit, folder: Path) -> None:
    """Write the files that the vendor's launcher generates for a kernel."""
    processor = unit.processor
    (folder / "unit.cpp").write_text(f"#include <{processor.wrapper}>\n")
    (folder / "defines_generated.h").write_text("#define NOC_MODE 0\n")
    (folder / "chlkc_descriptors.h").write_text(_descriptors(unit))
    lines = [f"#define TRISC_{processor.trisc}"] if processor.trisc else []
    lines += ['#include "defines_generated.h"', "void kernel_main();", '#line 1 "kernel.cpp"']
    text = require_constant_globals(unit.source)
    (folder / processor.file).write_text("\n".join([*lines, text]) + "\n")


def _descriptors(unit: Unit) -> str:
    """chlkc_descriptors.h: what the buffers hold, as the unpacker and the packer see it."""
    trisc = unit.processor.trisc
    lines = ["#pragma once", "#include <cstdint>"]
    if trisc != "PACK":
        lines += _buffer_tables(unit, "unpack")
    if trisc not in ("UNPACK", "MATH"):
        lines += _buffer_tables(unit, "pack")
    if trisc == "PACK":
        lines += _buffer_tables(unit, "unpack", ("src_format",))
    if trisc in ("MATH", "PACK"):
        fidelity = _FIDELITY_NUMBERS[unit.math_fidelity]
        lines += [
            '#include "llk_defs.h"',
            f"constexpr auto MATH_FIDELITY = static_cast<ckernel::MathFidelity>({fidelity});",
            f"constexpr bool APPROX = {str(unit.math_approx_mode).lower()};",
        ]
    if trisc:
        sync = "SyncFull" if unit.dst_full_sync_en else "SyncHalf"
        lines += [
            f"constexpr bool DST_ACCUM_MODE = {str(unit.fp32_dest_acc_en).lower()};",
            f"#define DST_SYNC_MODE DstSync::{sync}",
        ]
    return "\n".join(lines) + "\n"


_GEOMETRY = {
    "tile_num_faces": 4, "partial_face": 0, "tile_face_r_dim": 16, "narrow_tile": 0,
    "tile_r_dim": 32, "tile_c_dim": 32, "num_faces_r_dim": 2, "num_faces_c_dim": 2,
}  # fmt: skip


def _buffer_tables(unit: Unit, side: str, only: tuple[str, ...] = ()) -> list[str]:
    count, used = CHIPS[unit.target].buffers, dict(unit.formats)
    formats = [
        _FORMAT_NUMBERS[used[index]] if index in used else _UNUSED_FORMAT for index in range(count)
    ]
    sizes = [
        PAGE_BYTES[used[index]] if index in used else _UNUSED_TILE_BYTES for index in range(count)
    ]
    tables = {"src_format": formats, "dst_format": formats}
    tables |= {name: [value] * count for name, value in _GEOMETRY.items()}
    lines = [
        f"constexpr std::uint8_t {side}_{name}[{count}] = {_braced(values)};"
        for name, values in tables.items()
        if not only or name in only
    ]
    if not only:
        lines.append(f"constexpr std::uint16_t {side}_tile_size[{count}] = {_braced(sizes)};")
    return lines


def _braced(values: Iterable[int]) -> str:
    return "{" + ", ".join(str(value) for value in values) + "}"


# Vendor text that this compiler would trip over, though it is right for the vendor's own.
_UNROLL_BY_NAME = re.compile(r"^[ \t]*#pragma GCC unroll (?:[A-Za-z_]\w*)[^\n]*$", re.MULTILINE)
# The compiler takes a file included from a system header for one itself and is silent about it.
_KERNEL_MARKER = re.compile(r'^(# \d+ "kernel\.cpp")((?: [1-4])*)$', re.MULTILINE)


def _filtered(expanded: str) -> str:
    text = _UNROLL_BY_NAME.sub("", expanded)
    text = re.sub(r"\bstatic_assert\s*\(\s*false\b", "static_assert(true", text)
    return _KERNEL_MARKER.sub(
        lambda found: found.group(1) + re.sub(r" [34]", "", found.group(2)), text
    )


def _messages(stderr: str, folder: Path) -> list[str]:
    """The errors of a run; all it said, when it failed without one."""
    text = stderr.replace(f"{folder}/", "").replace(f"{find_headers()}/", "")
    errors = [line for line in text.splitlines() if re.search(r"\b(?:fatal )?error: ", line)]
    return _unique(errors) or [text.strip() or "the compiler failed and said nothing"]


def _unique(messages: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(messages))


@cache
def _compiler() -> str:
    """$CXX, else g++, c++ or clang++."""
    for name in (os.environ.get("CXX"), "g++", "c++", "clang++"):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise RuntimeError("kernels are checked with a C++ compiler, and there is none; install g++")


@cache
def _checker_key() -> str:
    """Changes when the checker, its stand-ins, the headers or the compiler change."""
    digest = hashlib.sha256(str(find_headers()).encode())
    version = subprocess.run([_compiler(), "--version"], capture_output=True, check=True)
    digest.update(version.stdout)
    files = [path for path in sorted(_HERE.rglob("*")) if path.suffix == ".h"]
    for path in [*files, _HERE / "check.py", _HERE / "kernel_text.py"]:
        digest.update(path.read_bytes())
    return digest.hexdigest()
