"""The device headers of ttnn, fetched once into a cache folder outside the tree.

Only text is taken from the wheel: no library of it is loaded, so any machine can use it, whatever
its processor or Python version.
"""

from __future__ import annotations

import os
import re
import zipfile
from functools import cache
from pathlib import Path, PurePosixPath

import wheel_cache

# Another one is tried by `make ttnn-drift`.
VERSION = os.environ.get("PYTTLANG_TTNN_VERSION", "0.81.1")
REQUIREMENT = f"ttnn=={VERSION}"
# Any one will do: only text is read.
PLATFORM = ("--python-version", "3.12", "--platform", "manylinux_2_34_x86_64")
LAYOUT = 1  # raise it when what is unpacked or generated below changes

# The parts that a kernel build looks into; everything else in the wheel stays there.
_PARTS = (
    "ttnn/tt_metal/api/",
    "ttnn/tt_metal/fabric/",
    "ttnn/tt_metal/hostdevcommon/",
    "ttnn/tt_metal/hw/ckernels/",
    "ttnn/tt_metal/hw/firmware/",
    "ttnn/tt_metal/hw/inc/",
    "ttnn/tt_metal/impl/",
    "ttnn/tt_metal/tools/",
    "ttnn/tt_metal/tt-llk/common/",
    "ttnn/tt_metal/tt-llk/tools/",
    "ttnn/tt_metal/tt-llk/tt_llk_blackhole/",
    "ttnn/tt_metal/tt-llk/tt_llk_wormhole_b0/",
    "ttnn/ttnn/cpp/",
)
_SUFFIXES = (".h", ".hpp", ".inl", ".cc", ".cpp")

# Names that the vendor's compiler package defines and the headers use: instruction modifiers.
_CONSTANT = re.compile(
    r"\bsfpi::([A-Z][A-Z0-9]+_\w+)|\b(SFP[A-Z0-9]*_MOD[01]_\w+|CREG_IDX_\w+|SFP_DESTREG_STRIDE)\b"
)


def cache_folder() -> Path:
    """Where headers and verdicts live."""
    return wheel_cache.cache_folder(REQUIREMENT)


@cache
def find_headers() -> Path:
    """The folder that holds the wheel's `ttnn` folder and `generated/`; fetched if not there.

    Raises RuntimeError, with what pip said, when the wheel cannot be downloaded.
    """
    return wheel_cache.unpacked(REQUIREMENT, f"headers-{LAYOUT}", _unpack, PLATFORM)


def _unpack(wheel: Path, folder: Path) -> None:
    _extract(wheel, folder)
    _write_constants(folder)


def _extract(wheel: Path, folder: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            wanted = name.startswith(_PARTS) and PurePosixPath(name).suffix in _SUFFIXES
            if wanted and "quasar" not in name:
                archive.extract(name, folder)


def _write_constants(folder: Path) -> None:
    """Write sfpi_constants.h: every modifier name that the headers use, as zero."""
    names: set[str] = set()
    for path in sorted((folder / "ttnn" / "tt_metal").rglob("*.h")):
        for qualified, plain in _CONSTANT.findall(path.read_text(errors="replace")):
            names.add(qualified or plain)
    lines = [f"constexpr unsigned {name} = 0;" for name in sorted(names)]
    text = "\n".join(["#pragma once", "namespace sfpi {", *lines, "}  // namespace sfpi", ""])
    (folder / "generated").mkdir()
    (folder / "generated" / "sfpi_constants.h").write_text(text)


if __name__ == "__main__":
    print(f"device headers: {find_headers()}")
