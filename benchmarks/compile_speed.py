"""Compares the compile time of ten kernels with the public compiler on the same Python.

If that is installed (Python 3.12 only) it compiles the same files, alternating with ours, so that a
busy machine slows down both. Otherwise the figures are those of tt-lang 1.1.1 on a machine with two
busy cores: wall time for the first five kernels, CPU time for the others.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.processes import ROOT

FOLDER = ROOT / "benchmarks" / "programs" / "compile"
STANDINS = {"PYTHONPATH": str(FOLDER / "standins")}  # stand-ins of ttnn, for the public compiler
REPEATS = 5
PROCESSES = 3
MOST_SLOWER = 2  # the most kernels that may take longer than with the public compiler

HEADER = (
    "| kernel | ours again, ms | tt-lang again, ms | share | ours first, ms | our process, s "
    "| tt-lang process, s |"
)
RULE = "|---|---:|---:|---:|---:|---:|---:|"


@dataclass(frozen=True, slots=True)
class Row:
    """Kernel, and the time of tt-lang 1.1.1 for it on another machine."""

    name: str
    title: str
    published_again: float  # milliseconds
    published_process: float  # seconds


ROWS = (
    Row("add", "add, 4x4-tile blocks", 43, 0.550),
    Row("multiply-add-exp", "a * b + exp(c), 4x4-tile blocks", 47, 0.629),
    Row("matmul", "matmul, += over K", 43, 0.613),
    Row("broadcasts", "three broadcasts", 59, 0.758),
    Row("multicast-matmul", "matmul on 4x4 nodes, row and column multicast", 108, 0.832),
    Row("bias-relu", "relu(a @ b + c)", 48, 0.414),
    Row("activations", "five functions and a difference", 45, 0.415),
    Row("two-stages", "two expressions, a buffer between them", 43, 0.372),
    Row("row-sums", "sums of rows", 55, 0.507),
    Row("nested-loops", "a * b on 4x4 nodes, two loops over tiles", 38, 0.378),
)


@dataclass(frozen=True, slots=True)
class Times:
    """Medians of compiling again, of the first time in a process, and of the whole process."""

    again_milliseconds: float
    first_milliseconds: float
    process_seconds: float


class NotCompiled(Exception):
    """The compiler rejected the kernel; the text is the reason."""


def compare(compiler: Path | None) -> bool:
    """Print the table, marking missed limits; return whether pyttlang compiles every kernel."""
    python = None if compiler is None else _python(compiler)
    figures = "measured here" if python else "figures of another machine"
    print(f"compiling, CPU time; tt-lang 1.1.1: {figures}")
    print(HEADER, RULE, sep="\n", flush=True)
    measured = []
    for row in ROWS:
        try:
            ours, theirs = both(row, python)
        except NotCompiled as refusal:
            print(f"| {row.title} | not compiled: {refusal} |" + " |" * 5, flush=True)
            continue
        measured.append((ours, theirs))
        print(line(row, ours, theirs), flush=True)
    print(summary(measured))
    return len(measured) == len(ROWS)


def summary(measured: Sequence[tuple[Times, Times]]) -> str:
    again = sum(ours.again_milliseconds <= theirs.again_milliseconds for ours, theirs in measured)
    process = sum(ours.process_seconds <= theirs.process_seconds for ours, theirs in measured)
    wanted = len(ROWS) - MOST_SLOWER
    return (
        f"at or below tt-lang: again {again} of {len(ROWS)}, process {process} of {len(ROWS)}; "
        f"wanted {wanted} each"
    )


def _python(compiler: Path) -> str | None:
    path = compiler / "bin" / "python"
    return str(path) if path.exists() else None


def _published(row: Row) -> Times:
    return Times(row.published_again, float("nan"), row.published_process)


def both(row: Row, python: str | None) -> tuple[Times, Times]:
    """Measure both; raise NotCompiled with the compiler's message."""
    ours = Runs(row.name, sys.executable, {})
    if python is None:
        for _ in range(PROCESSES):
            ours.one_more()
        return ours.times(), _published(row)
    theirs = Runs(row.name, python, STANDINS)
    for _ in range(PROCESSES):
        ours.one_more()
        theirs.one_more()
    return ours.times(), theirs.times()


def line(row: Row, ours: Times, theirs: Times) -> str:
    """Return the row of the table, marking a missed limit."""
    share = ours.again_milliseconds / theirs.again_milliseconds
    is_late = ours.process_seconds > theirs.process_seconds
    cells = (
        row.title,
        f"{ours.again_milliseconds:.1f}",
        f"{theirs.again_milliseconds:.1f}",
        f"{share:.0%}" + (" (slower)" if share > 1 else ""),
        f"{ours.first_milliseconds:.0f}",
        f"{ours.process_seconds:.2f}" + (" (slower)" if is_late else ""),
        f"{theirs.process_seconds:.2f}",
    )
    return f"| {' | '.join(cells)} |"


class Runs:
    """Compiles a kernel in one process after another."""

    def __init__(self, kernel: str, python: str, environment: Mapping[str, str]):
        self.run = partial(_run, kernel, python, environment)
        self.figures: list[dict[str, Any]] = []
        self.run()  # fills the caches of bytecode

    def one_more(self) -> None:
        self.figures.append(self.run(REPEATS))

    def times(self) -> Times:
        return Times(
            1000 * statistics.median(each for run in self.figures for each in run["again"]),
            1000 * statistics.median(run["first"] for run in self.figures),
            statistics.median(run["process"] for run in self.figures),
        )


def kernel_command(python: str, kernel: str, repeats: int = 0) -> list[str]:
    """Return the command of a process that compiles a kernel, then again."""
    return [python, str(FOLDER / "kernels.py"), kernel, str(repeats)]


def _run(
    kernel: str, python: str, environment: Mapping[str, str], repeats: int = 0
) -> dict[str, Any]:
    command = kernel_command(python, kernel, repeats)
    # An installed package has bytecode; a setting of this shell must not disable ours.
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    variables["TTL_ALWAYS_COMPILE"] = "1"
    done = subprocess.run(command, env={**variables, **environment}, capture_output=True, text=True)
    if done.returncode:
        sentences = [text for text in done.stderr.splitlines() if text.startswith("error")]
        raise NotCompiled((sentences or done.stderr.strip().splitlines()[-1:])[0])
    figures: dict[str, Any] = json.loads(done.stdout.strip().rpartition("\n")[2])
    return figures
