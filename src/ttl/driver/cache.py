"""The cache of artifacts and libraries: how large it is, and keeping it in its limit.

Files that nobody has used for the longest time go first. Nothing else in the folder is touched:
others may keep things there too. What goes while it is wanted is made again.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ttl.config import NO_LIMIT, Config, read_bytes

DEFAULT_LIMIT_BYTES = 512 << 20
LIMIT_FILE = "limit"  # in the folder: what `ttl cache --limit` wrote
LOOKED_FILE = "last-pruned"  # its time is when this was done last
DAY_SECONDS = 24 * 3600.0
NEW_SECONDS = 3600.0  # of these some process may be about to load one
KEPT_SHARE = 0.8  # of the limit, so that it is not reached again at once
LIBRARIES = ("kernels-", "runtime-")
OPERATIONS = "operation-"  # artifacts: kept.py
WORKSPACE = "building-"  # what a process that was killed has left


@dataclass(frozen=True, slots=True)
class Entry:
    path: Path
    bytes: int
    last_used: float


@dataclass(frozen=True, slots=True)
class Pruned:
    entries: int
    bytes: int
    kept: int = 0  # that should have gone but for their age


def entries(folder: Path) -> Iterator[Entry]:
    """The artifacts, libraries and workspaces in a cache folder."""
    with suppress(FileNotFoundError), os.scandir(folder) as found:
        for each in found:
            if each.name.startswith((*LIBRARIES, OPERATIONS, WORKSPACE)):
                with suppress(OSError):  # gone meanwhile
                    stat = each.stat()
                    used = max(stat.st_atime, stat.st_mtime)
                    yield Entry(Path(each.path), stat.st_size, used)


def is_operation(entry: Entry) -> bool:
    return entry.path.name.startswith(OPERATIONS)


def limit_of(config: Config) -> int:
    """That of PYTTLANG_CACHE_LIMIT, else of `ttl cache --limit`, else the default; 0: none."""
    if config.cache_limit is not None:
        return config.cache_limit
    try:
        return read_bytes((config.cache_dir / LIMIT_FILE).read_text())
    except (OSError, ValueError):
        return DEFAULT_LIMIT_BYTES


def prune(folder: Path, limit: int, now: float) -> Pruned:
    """Remove what was used longest ago, until the rest takes no more than `limit` bytes."""
    known = sorted(entries(folder), key=lambda entry: entry.last_used)
    total, gone, freed, kept = sum(entry.bytes for entry in known), 0, 0, 0
    for entry in known:
        is_left_over = entry.path.name.startswith(WORKSPACE)
        if total - freed <= limit and not is_left_over:
            continue
        if now - entry.last_used < NEW_SECONDS:
            kept += 1
            continue
        _remove(entry.path)
        gone, freed = gone + 1, freed + entry.bytes
    return Pruned(gone, freed, kept)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def keep_bounded(config: Config, now: float | None = None) -> Pruned | None:
    """Once a day, before compiled kernels run; None if it is not the time, or there is no limit."""
    looked = config.cache_dir / LOOKED_FILE
    now = time.time() if now is None else now
    with suppress(OSError):
        if now - looked.stat().st_mtime < DAY_SECONDS:
            return None
    limit = limit_of(config)
    if limit == NO_LIMIT or not config.cache_dir.is_dir():
        return None
    try:
        looked.touch()
        os.utime(looked, (now, now))
    except OSError:  # a cache that cannot be written does not grow
        return None
    if sum(entry.bytes for entry in entries(config.cache_dir)) <= limit:
        return Pruned(0, 0)
    return prune(config.cache_dir, int(limit * KEPT_SHARE), now)
