"""The device headers of ttnn, fetched once into a cache folder outside the tree.

Only text is taken from the wheel: no library of it is loaded, so any machine can use it, whatever
its processor or Python version.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path, PurePosixPath

VERSION = "0.81.1"
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
    """Where headers and verdicts live: $PYTTL_CACHE, else pyttl in the user's cache folder."""
    chosen = os.environ.get("PYTTL_CACHE")
    if chosen:
        return Path(chosen) / f"ttnn-{VERSION}"
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "pyttl" / f"ttnn-{VERSION}"


@cache
def find_headers() -> Path:
    """The folder that holds the wheel's `ttnn` folder and `generated/`; fetched if not there.

    Raises RuntimeError, with what pip said, when the wheel cannot be downloaded.
    """
    root = cache_folder()
    headers = root / f"headers-{LAYOUT}"
    if headers.is_dir():
        return headers
    root.mkdir(parents=True, exist_ok=True)
    with _locked(root / "lock"):
        if not headers.is_dir():
            _install(headers)
    return headers


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock; the system drops it when the process ends, however it ends."""
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _install(headers: Path) -> None:
    """Fill a temporary folder, then give it its name: a reader sees all of it or nothing."""
    work = Path(tempfile.mkdtemp(prefix="unpack-", dir=headers.parent))
    try:
        wheel = _download(work / "wheel")
        _unpack(wheel, work / "headers")
        _write_constants(work / "headers")
        (work / "headers").rename(headers)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _download(folder: Path) -> Path:
    command = [
        sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
        "--no-deps", "--only-binary=:all:", "--python-version", "3.12",
        "--platform", "manylinux_2_34_x86_64", "--dest", str(folder), f"ttnn=={VERSION}",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(
            f"cannot download ttnn {VERSION}, whose headers kernels are checked against:\n"
            f"{' '.join(command)}\n{done.stderr}"
        )
    (wheel,) = folder.glob("*.whl")
    return wheel


def _unpack(wheel: Path, folder: Path) -> None:
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
