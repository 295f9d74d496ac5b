"""What the vendor's build makes of a kernel: wrapper, defines, include path, generated files.

The names and values are those of ttnn 0.81.1: firmware/src/tt-1xx for the wrappers, the launcher's
generated files for the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from ttl.artifact import PAGE_BYTES

from .kernel_text import require_constant_globals
from .metal_headers import find_headers

Thread = Literal["compute", "reader", "writer"]
TargetName = Literal["wormhole_b0", "blackhole"]
TARGETS: tuple[TargetName, ...] = get_args(TargetName)

KERNEL_FILE = "kernel.cpp"  # as messages name it
_STANDINS = Path(__file__).parent / "standins"


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
            "ARCH_WORMHOLE",
            "ROUTING_FW_ENABLED",
            "NUM_DRAM_BANKS=12",
            "NUM_L1_BANKS=72",
            "IS_NOT_POW2_NUM_DRAM_BANKS=1",
            "IS_NOT_POW2_NUM_L1_BANKS=1",
            "PCIE_NOC_X=0",
            "PCIE_NOC_Y=3",
            "DISPATCH_MESSAGE_ADDR=4290183304",
        ),
        family="wormhole",
        llk="tt_llk_wormhole_b0",
        extra_llk=(),
        buffers=32,
    ),
    "blackhole": Chip(
        define=(
            "ARCH_BLACKHOLE",
            "NUM_DRAM_BANKS=8",
            "LOG_BASE_2_OF_NUM_DRAM_BANKS=3",
            "NUM_L1_BANKS=130",
            "IS_NOT_POW2_NUM_L1_BANKS=1",
            "PCIE_NOC_X=19",
            "PCIE_NOC_Y=24",
            "DISPATCH_MESSAGE_ADDR=4290184248",
        ),
        family="blackhole",
        llk="tt_llk_blackhole",
        extra_llk=("llk_lib/hal",),
        buffers=64,
    ),
}

PROCESSORS: Mapping[Thread, tuple[Processor, ...]] = {
    "writer": (
        Processor(
            "brisck.cc",
            ("COMPILE_FOR_BRISC", "PROCESSOR_INDEX=0", "NOC_INDEX=1"),
            "kernel_includes.hpp",
        ),
    ),
    "reader": (
        Processor(
            "ncrisck.cc",
            ("COMPILE_FOR_NCRISC", "PROCESSOR_INDEX=1", "NOC_INDEX=0"),
            "kernel_includes.hpp",
        ),
    ),
    "compute": tuple(
        Processor(
            "trisck.cc",
            (f"UCK_CHLKC_{name}", f"COMPILE_FOR_TRISC={number}", f"PROCESSOR_INDEX={number + 2}"),
            f"chlkc_{name.lower()}.cpp",
            name,
        )
        for number, name in enumerate(("UNPACK", "MATH", "PACK"))
    ),
}

_COMMON = (
    "KERNEL_BUILD",
    "TENSIX_FIRMWARE",
    "LOCAL_MEM_EN=0",
    "PROGRAMMABLE_CORE_TYPE=0",
    'FULL_KERNEL_NAME="kernel"',
    "NOC_MODE=0",
    "DISABLE_SFPLOADMACRO",
)

# The numbers by which the chip knows the formats of PAGE_BYTES (enum DataFormat in tensix_types.h).
_FORMAT_NUMBERS = {
    "Float32": 0,
    "Float16": 1,
    "Tf32": 4,
    "BFloat16": 5,
    "BFP_BFloat8": 6,
    "BFP_BFloat4": 7,
    "Int32": 8,
    "UInt16": 9,
    "UInt32": 24,
    "UInt8": 30,
}
_UNUSED_FORMAT, _UNUSED_TILE_BYTES = 255, 1088
_FIDELITY_NUMBERS = {"LoFi": 0, "HiFi2": 2, "HiFi3": 3, "HiFi4": 4}


@dataclass(frozen=True, slots=True)
class Unit:
    """Everything that decides the verdict on one kernel for one processor of one chip."""

    source: str
    processor: Processor
    target: str
    compile_time_args: tuple[int, ...] = ()
    named_args: tuple[tuple[str, int], ...] = ()
    defines: tuple[tuple[str, str], ...] = ()
    # (buffer index, data format); None: the tables are declared and hold no constants.
    formats: tuple[tuple[int, str], ...] | None = ()
    fp32_dest_acc_en: bool = False
    dst_full_sync_en: bool = False
    math_fidelity: str = "HiFi4"
    math_approx_mode: bool = False


def preprocessor_options(unit: Unit, folder: Path) -> list[str]:
    """Defines and include folders; `folder` holds the generated files."""
    defines = [*_COMMON, *CHIPS[unit.target].define, *unit.processor.define]
    if unit.compile_time_args:
        words = ",".join(str(word) for word in unit.compile_time_args)
        defines.append(f"KERNEL_COMPILE_TIME_ARGS={words}")
    if unit.named_args:
        pairs = ",".join(f'{{"{name}",{value}}}' for name, value in unit.named_args)
        defines.append(f"KERNEL_COMPILE_TIME_ARG_MAP={pairs}")
    system = [part for path in _include_folders(unit, folder) for part in ("-isystem", str(path))]
    return [*(f"-D{define}" for define in defines), *system]


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
        folder,
        ttnn,
        ttnn / "ttnn",
        ttnn / "ttnn/cpp",
        metal / "hw/inc",
        metal / "tt-llk/common",
        metal / "tt-llk/tools/include",
        metal / "hostdevcommon/api",
        metal / "api",
        _STANDINS,
        headers / "generated",
        kernels / "common",
        kernels / "llk_io",
        common,
        family,
        family / defines,
        family / "noc",
        llk / "common/inc",
        llk / "llk_lib",
        *(llk / extra for extra in chip.extra_llk),
    ]
    if compute:
        paths += [kernels / "llk_api", kernels / "llk_api/llk_sfpu"]
    return [*paths, metal / "hw/firmware/src/tt-1xx"]


def write_generated(unit: Unit, folder: Path, text: str | None = None) -> None:
    """Write the files that the vendor's launcher generates for a kernel, or for another text."""
    processor = unit.processor
    if text is None:
        text = f'#line 1 "{KERNEL_FILE}"\n{require_constant_globals(unit.source)}'
    (folder / "unit.cpp").write_text(f"#include <{processor.wrapper}>\n")
    own = "".join(f"#define {name} {value}\n" for name, value in unit.defines)
    (folder / "defines_generated.h").write_text(f"{own}#define NOC_MODE 0\n")
    (folder / "chlkc_descriptors.h").write_text(_descriptors(unit))
    lines = [f"#define TRISC_{processor.trisc}"] if processor.trisc else []
    lines += ['#include "defines_generated.h"', "void kernel_main();"]
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
    "tile_num_faces": 4,
    "partial_face": 0,
    "tile_face_r_dim": 16,
    "narrow_tile": 0,
    "tile_r_dim": 32,
    "tile_c_dim": 32,
    "num_faces_r_dim": 2,
    "num_faces_c_dim": 2,
}


def _buffer_tables(unit: Unit, side: str, only: tuple[str, ...] = ()) -> list[str]:
    count, used = CHIPS[unit.target].buffers, dict(unit.formats or ())
    formats = [
        _FORMAT_NUMBERS[used[index]] if index in used else _UNUSED_FORMAT for index in range(count)
    ]
    sizes = [
        PAGE_BYTES[used[index]] if index in used else _UNUSED_TILE_BYTES for index in range(count)
    ]
    tables = {"src_format": formats, "dst_format": formats}
    tables |= {name: [value] * count for name, value in _GEOMETRY.items()}
    bytes_of = {f"std::uint8_t {side}_{name}": values for name, values in tables.items()}
    if only:
        bytes_of = {f"std::uint8_t {side}_{name}": tables[name] for name in only}
    else:
        bytes_of[f"std::uint16_t {side}_tile_size"] = sizes
    # Functions of the data movement headers return them as constants, whoever calls them.
    if unit.formats is None and unit.processor.trisc:
        return [f"extern const {name}[{count}];" for name in bytes_of]
    return [f"constexpr {name}[{count}] = {_braced(values)};" for name, values in bytes_of.items()]


def _braced(values: Iterable[int]) -> str:
    return "{" + ", ".join(str(value) for value in values) + "}"
