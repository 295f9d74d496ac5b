"""Measures for `make bench`: environments, numbers of runs, and kept results."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.comparison import figures, program_command
from benchmarks.processes import ROOT, Cost, output_of, run
from benchmarks.timing import NotMeasured, Timing, timing_from

Settings = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Bench:
    peer: Path | None  # the environment with tt-lang-sim
    compiler: Path | None  # the environment with tt-lang
    cache: str  # the executor's cache: a folder that is empty at first
    is_quick: bool = False
    _known: dict[tuple[tuple[str, ...], Settings], Timing] = field(default_factory=dict)
    _steps: dict[str, Timing] = field(default_factory=dict)

    @property
    def runs(self) -> int:
        """Number of processes, for measurements with one figure per process."""
        return 2 if self.is_quick else 3

    def program(self, command: Sequence[str], settings: Mapping[str, str] | None = None) -> Timing:
        """Run a program of benchmarks/programs on pyttlang; raise NotMeasured if it fails."""
        return self._program(program_command(command), settings or {})

    def public(self, command: Sequence[str]) -> Timing:
        """Run a program on tt-lang-sim; raise NotMeasured if it fails or is not installed."""
        runner = None if self.peer is None else self.peer / "bin" / "tt-lang-sim"
        if runner is None or not runner.is_file():
            raise NotMeasured("tt-lang-sim is not installed")
        return self._program(program_command(command, str(runner)), {})

    def _program(self, command: tuple[str, ...], settings: Mapping[str, str]) -> Timing:
        variables = {"BENCH_WARM": "2" if self.is_quick else "3", "PYTTLANG_CACHE": self.cache}
        variables |= settings
        key = command, tuple(sorted(variables.items()))
        if key not in self._known:
            self._known[key] = figures(command, variables)
        return self._known[key]

    def steps(self) -> dict[str, Timing]:
        if not self._steps:
            command = [sys.executable, "-m", "benchmarks.host", "--steps"]
            printed, _ = output_of(command, {"PYTTLANG_CACHE": self.cache})
            found = json.loads(printed)
            self._steps |= {name: timing_from(each) for name, each in found.items()}
        return self._steps

    def commands(
        self, command: Sequence[str], count: int, settings: Mapping[str, str] | None = None
    ) -> list[Cost]:
        """Run a command `count` times, each with an empty cache unless the settings have one."""
        environment = {"PYTTLANG_CACHE": self.cache, "TTL_ALWAYS_COMPILE": "1", **(settings or {})}
        try:
            return [
                run(command, environment=environment, errors=subprocess.DEVNULL)
                for _ in range(count)
            ]
        except subprocess.CalledProcessError as error:
            raise NotMeasured(f"{command[-1]}: exit status {error.returncode}") from None

    def compiler_python(self) -> str:
        python = None if self.compiler is None else self.compiler / "bin" / "python"
        if python is None or not python.is_file():
            raise NotMeasured("tt-lang is not installed; it needs Python 3.12")
        return str(python)

    def install_cost(self) -> Cost:
        """Return the Makefile's measurement of the installation of this environment."""
        try:
            found = json.loads((Path(sys.prefix) / "install.json").read_text(encoding="utf-8"))
        except OSError:
            raise NotMeasured("this environment was not made by `make bench`") from None
        return Cost(found["wall_seconds"], found["cpu_seconds"])


def main(file: str, *command: str) -> None:
    """Serve `python -m benchmarks.bench FILE COMMAND...`: run the command and write its cost."""
    cost = run(command)
    found = {"wall_seconds": cost.wall_seconds, "cpu_seconds": cost.cpu_seconds}
    (ROOT / file).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
