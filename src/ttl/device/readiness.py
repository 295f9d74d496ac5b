"""Find out what a run on a device needs and this machine lacks.

This imports nothing of ttnn: that takes seconds, and on a machine without a device ttnn's first
call fails.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from ttl.artifact import CompiledOperation
from ttl.diagnostics import RuleBroken, UsageError, codes

NEEDED_VERSION = "0.81"
# Versions that descriptors and kernels were checked with: `make ttnn-drift`.
KNOWN_VERSIONS = ("0.81.1",)
INSTALL = f'pip install "ttnn>={NEEDED_VERSION}" with Python 3.12 on x86-64 Linux'
DEVICES = Path("/dev/tenstorrent")
SIMULATOR = "TT_METAL_SIMULATOR"  # a library that simulates the chip
FIND_DEVICE = (
    "install the kernel driver (tt-kmd) and look with `tt-smi`, or set "
    f"{SIMULATOR} to the library of a simulated chip"
)
PROFILER_REFUSAL = b"TT_METAL_DEVICE_PROFILER requires a Tracy-enabled build"


def missing(
    environment: Mapping[str, str] = os.environ, devices: Path = DEVICES
) -> RuleBroken | None:
    """Report the first missing requirement of a run on a device."""
    version = installed_version()
    if version is None:
        return codes.NO_TTNN.broken(
            f"ttnn is not installed; a run on a device needs ttnn >= {NEEDED_VERSION}",
            INSTALL,
            "without a device, run with --backend sim or --backend host",
        )
    if not is_new_enough(version):
        return wrong_version(version)
    if not found_devices(environment, devices):
        return codes.NO_DEVICE.broken(
            f"ttnn {version} is installed, but there is no device in {devices}",
            FIND_DEVICE,
            "without a device, run with --backend sim or --backend host",
        )
    return None


def installed_version() -> str | None:
    from importlib import metadata  # takes longer to load than this module

    try:
        return metadata.version("ttnn")
    except metadata.PackageNotFoundError:
        return None


def is_new_enough(version: str) -> bool:
    return _numbers(version) >= _numbers(NEEDED_VERSION)


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers at a version's start: (0, 81, 1) of 0.81.1rc2."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def wrong_version(version: str) -> RuleBroken:
    return codes.TTNN_VERSION.broken(
        f"this ttnn is too old: found {version}, needs >= {NEEDED_VERSION}",
        INSTALL,
        found=version,
        needs=NEEDED_VERSION,
    )


def check_version(ttnn: ModuleType, compiled: CompiledOperation) -> None:
    """Raise UsageError if the tensors' module is an installed ttnn that is too old."""
    version = installed_version() if ttnn.__name__ == "ttnn" else None
    if version is not None and not is_new_enough(version):
        note = f"the kernels of `{compiled.name}` use the device API of {compiled.device_api}"
        raise UsageError(wrong_version(version).with_notes(note).at(None))


def found_devices(
    environment: Mapping[str, str] = os.environ, devices: Path = DEVICES
) -> list[str]:
    """Return the cards, or the simulated chip."""
    if simulator := environment.get(SIMULATOR):
        return [f"{SIMULATOR}={simulator}"]
    return sorted(str(path) for path in devices.glob("[0-9]*"))


def has_profiler() -> bool:
    """Was the installed ttnn built with the device profiler? PyPI's wheel was not."""
    from importlib import metadata

    try:
        files = metadata.files("ttnn") or []
    except metadata.PackageNotFoundError:
        return False
    libraries = [Path(str(file.locate())) for file in files if file.name == "libtt_metal.so"]
    return bool(libraries) and not any(_holds(path, PROFILER_REFUSAL) for path in libraries)


def _holds(file: Path, text: bytes) -> bool:
    import mmap

    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return data.find(text) >= 0
