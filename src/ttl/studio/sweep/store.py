"""Keeps results of jobs on disk, one small file each.

rule ATOMIC  a file is written beside its final path and renamed: readers in other processes see all
             of it or none
rule BOUND   when a sweep ends, the least recently used files are removed until the rest is small
             enough
rule ANEW    a file that cannot be read is ignored
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from ttl.loading.packages import FOLDERS, SOURCES

MOST_BYTES = 64 << 20
Result = dict[str, Any]


def digest(*parts: object) -> str:
    """Hash JSON values, bytes and texts; the order of keys does not matter."""
    text = json.dumps(parts, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@cache
def version_of_pyttlang() -> str:
    """Hash our sources: an editable installation's version number does not change with edits."""
    found = hashlib.sha256()
    for file in sorted(file for folder in FOLDERS for file in Path(folder).rglob("*")):
        if file.suffix in (".py", ".json", ".cpp", ".h", ".hpp"):
            found.update(str(file.relative_to(SOURCES)).encode())
            found.update(file.read_bytes())
    return found.hexdigest()[:32]


class Store:
    """Results kept in a folder. Keeps nothing if the folder cannot be written."""

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES):
        self.folder, self.most_bytes = folder, most_bytes

    def get(self, key: str) -> Result | None:
        place = self._place(key)
        try:
            result = json.loads(place.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # rule ANEW
            return None
        with suppress(OSError):
            os.utime(place)
        return result if isinstance(result, dict) else None

    def put(self, key: str, result: Result) -> None:  # rule ATOMIC
        place = self._place(key)
        with suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            descriptor, written = tempfile.mkstemp(prefix=".writing-", dir=place.parent)
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    json.dump(result, file)
                os.replace(written, place)
            except BaseException:
                Path(written).unlink(missing_ok=True)
                raise

    def trim(self) -> None:  # rule BOUND
        """Remove old files, and files that killed processes left half written."""
        files = sorted(self._files())
        over = sum(size for _, size, _ in files) - self.most_bytes
        for _, size, path in files:
            if over <= 0:
                return
            with suppress(OSError):  # another process was faster
                os.unlink(path)
            over -= size

    def _files(self) -> Iterator[tuple[float, int, str]]:
        with suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    found = entry.stat()
                    yield found.st_mtime, found.st_size, entry.path

    def _place(self, key: str) -> Path:
        return self.folder / f"{key}.json"
