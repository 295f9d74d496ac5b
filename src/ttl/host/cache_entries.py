"""Entries of the cache: whole or not there, and built by one process at a time.

A library that a crash or a full disk has cut off kills the process that loads it (SIGBUS, not an
error of the loader), so each ends with a digest of what is before it; loaders do not look there.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

SEAL = b"pyttlang"
DIGEST_BYTES = 16
WORKSPACE = "building-"
STALE_SECONDS = 3600  # no compiler takes that long: its process has died


def seal(library: Path) -> None:
    library.chmod(0o700)  # whatever the umask: others must not write what is loaded
    with library.open("ab") as file:
        file.write(SEAL + _digest(library.read_bytes()))


def is_whole(library: Path) -> bool:
    try:
        content = library.read_bytes()
    except OSError:
        return False
    end = len(content) - len(SEAL) - DIGEST_BYTES
    return end > 0 and content[end:] == SEAL + _digest(content[:end])


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).digest()


@contextmanager
def only_builder(place: Path) -> Iterator[None]:
    """Others that build the same entry wait, and find it. Where files cannot be locked they do the
    work twice and disturb nobody."""
    lock = place.with_suffix(".lock")
    try:
        with lock.open("w") as file:
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
            try:
                yield
            finally:  # a child of fork() that has the file open would keep it locked
                with suppress(OSError):
                    fcntl.flock(file, fcntl.LOCK_UN)
    finally:
        lock.unlink(missing_ok=True)


@cache
def remove_stale(folder: Path) -> None:
    """What processes that were killed while they built have left; once a process, because the
    folder may have tens of thousands of entries."""
    for workspace in folder.glob(f"{WORKSPACE}*"):
        with suppress(OSError):
            if time.time() - workspace.stat().st_mtime > STALE_SECONDS:
                shutil.rmtree(workspace)
