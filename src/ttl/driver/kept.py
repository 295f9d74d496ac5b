"""Keep artifacts in the cache folder, for all processes of a user.

rule KEY     a file is named by a digest of everything its artifact depends on: the signature of the
             call, the texts of its functions, the versions of the compiler
rule WHOLE   a file is written under another name and renamed, and starts with a digest of the rest;
             a damaged file counts as missing
rule OURS    kernels will run: a file is read only if no other user can have written it
rule SILENT  an artifact with a warning is not kept, so that every process shows the warning
rule SAME    nor is one whose compilation changed what its key tells: a property that counts, say
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from ttl.artifact import CompiledOperation, read_artifact, to_json
from ttl.config import Config
from ttl.loading.cache_folder import read_trusted, write_whole
from ttl.loading.packages import FOLDERS
from ttl.source.frozen import NoKey

from .cache import OPERATIONS
from .signature import CallSignature
from .stable import versions


class KeptArtifacts:
    """Read and write the artifacts of one folder."""

    def __init__(self, folder: Path):
        self.folder = folder

    def place_of(self, signature: CallSignature) -> Path | None:  # rule KEY
        """Return None for a call that only this process can identify."""
        try:
            text = signature.stable()
        except NoKey:
            return None
        whole = "\n".join([text, _compiler(), *versions()])
        digest = sha256(whole.encode(errors="surrogatepass")).hexdigest()
        return self.folder / f"{OPERATIONS}{digest[:40]}.json"

    def read(self, place: Path) -> CompiledOperation | None:
        try:
            digest, _, body = read_trusted(str(place)).partition(b"\n")
            if digest != _digest(body):  # rule WHOLE
                return None
            found = read_artifact(json.loads(body), is_ours=True).operation
            os.utime(place)  # what was used longest ago goes first
            return found
        except (OSError, ValueError):
            return None

    def write(self, place: Path, compiled: CompiledOperation) -> None:
        body = json.dumps(to_json(compiled)).encode()
        write_whole(str(place), _digest(body) + b"\n" + body)


def kept_in(config: Config) -> KeptArtifacts | None:
    """Return None if an option asks to see the compiler at work."""
    if config.always_compile or config.initial_mlir or config.final_mlir or config.verbose_passes:
        return None
    return KeptArtifacts(config.cache_dir)


def _digest(body: bytes) -> bytes:
    return sha256(body).hexdigest().encode()


@cache
def _compiler() -> str:
    """Identify the installed compiler and xDSL by paths, sizes and times of their files."""
    files = sorted(file for folder in FOLDERS for file in _files(folder))
    if (xdsl := find_spec("xdsl")) is not None and xdsl.origin is not None:
        files.append(_file(xdsl.origin, os.stat(xdsl.origin)))
    return sha256("\n".join(files).encode()).hexdigest()


def _files(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files(entry.path) if entry.name != "__pycache__" else ()
            else:
                yield _file(entry.path, entry.stat())


def _file(path: str, found: os.stat_result) -> str:
    return f"{path} {found.st_size} {found.st_mtime_ns}"
