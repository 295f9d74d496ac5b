"""Compiled operations: kept for a while, and written to the folders that options name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ttl.config import Config
from ttl.diagnostics import Diagnostic
from ttl.language.operation import Program
from ttl.loading.forks import ForkLock
from ttl.loading.recent import Recent
from ttl.target import Target

from .kept import kept_in
from .signature import CallSignature, kept_for, signature_of

if TYPE_CHECKING:
    from pathlib import Path

    from ttl.artifact import CompiledOperation

MOST_KEPT = 1024  # artifacts; one has some ten thousand bytes
MOST_FOLDERS = 1024


@dataclass(slots=True)
class _Artifact:
    compiled: CompiledOperation
    written: set[tuple[str, Callable[..., Path]]] = field(default_factory=set)  # where and how


def _compiled(
    program: Program, target: Target, config: Config, report: Callable[[list[Diagnostic]], None]
) -> tuple[CompiledOperation, bool]:
    """The artifact, and whether there was nothing to report."""
    from .compile import compile_operation  # and xDSL, which many processes do not need

    found: list[Diagnostic] = []
    compiled = compile_operation(program, target, config, found.append)
    report(found)  # what it raises is raised by the next call, too: nothing is kept
    return compiled, not found


class Artifacts:
    """The compiled operations of a process. Each is compiled and written by one thread."""

    def __init__(self) -> None:
        self.count = 0  # of those that were compiled or found on disk
        self._kept: Recent[_Artifact] = Recent(MOST_KEPT)
        self._owners: Recent[str] = Recent(MOST_FOLDERS)  # which operation a folder is of
        self._lock = ForkLock()

    def __len__(self) -> int:
        return len(self._kept)

    def knows(self, signature: CallSignature | None) -> bool:
        """Is there an artifact for calls of this signature?"""
        return signature is not None and signature in self._kept

    def clear(self) -> None:
        self._kept.clear()

    def compile(
        self,
        program: Program,
        signature: CallSignature | None,
        target: Target,
        config: Config,
        report: Callable[[list[Diagnostic]], None],
    ) -> CompiledOperation:
        """The artifact of a program, kept for calls of its signature."""

        def anew() -> _Artifact:
            self.count += 1
            kept = kept_in(config)
            place = None if kept is None or signature is None else kept.place_of(signature)
            if kept is None or place is None:
                return _Artifact(_compiled(program, target, config, report)[0])
            if (compiled := kept.read(place)) is None:
                compiled, is_silent = _compiled(program, target, config, report)
                if is_silent and signature_of(program, target, config) == signature:  # rule SAME
                    kept.write(place, compiled)
            return _Artifact(compiled)

        with self._lock():
            artifact = kept_for(self._kept, signature, anew)
            self._write_all(artifact, config)
        return artifact.compiled

    def write(self, compiled: CompiledOperation, config: Config) -> None:
        """A program of kernels that were written by hand, where that is wanted."""
        with self._lock():
            self.count += 1
            if config.compile_to or config.kernel_dumps:
                artifact = self._kept.get(compiled, lambda: _Artifact(compiled))
                self._write_all(artifact, config)

    def _write_all(self, artifact: _Artifact, config: Config) -> None:
        if not (config.compile_to or config.kernel_dumps):
            return
        from pathlib import Path

        from ttl.artifact import write_bundle

        places = (
            (config.compile_to, self._write_folder),
            (config.kernel_dumps, write_bundle),
        )
        for place, write in places:
            if place and (place, write) not in artifact.written:
                artifact.written.add((place, write))
                written = write(artifact.compiled, Path(place))
                print(f"ttl: `{artifact.compiled.name}` compiled into {written}", file=sys.stderr)

    def _write_folder(self, compiled: CompiledOperation, folder: Path) -> Path:
        """The first operation goes into the folder itself, others into folders of their names."""
        owner = self._owners.get(folder, lambda: compiled.name)
        chosen = folder if owner == compiled.name else folder / compiled.name
        from ttl.artifact import write_folder

        write_folder(compiled, chosen)
        return chosen
