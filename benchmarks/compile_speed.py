"""How long compiling takes: five kernels, against the public compiler.

Where that is installed (Python 3.12 only) it compiles the same files here; else its figures are
those that tt-lang 1.1.1 had on a machine with two busy cores, by the clock on the wall.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.processes import ROOT

FOLDER = ROOT / "benchmarks" / "programs" / "compile"
REPEATS = 5
PROCESSES = 5
PROCESS_LIMIT = 0.6  # seconds from the start of Python to C++

HEADER = (
    "| kernel | pyttl again, ms | tt-lang again, ms | share | pyttl first, ms | pyttl process, s "
    "| tt-lang process, s |"
)
RULE = "|---|---:|---:|---:|---:|---:|---:|"


@dataclass(frozen=True, slots=True)
class Row:
    """A kernel, and what tt-lang 1.1.1 needed for it elsewhere."""

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
)


@dataclass(frozen=True, slots=True)
class Times:
    """Medians: compiling again and the first time in a process, and the process as a whole."""

    again_milliseconds: float
    first_milliseconds: float
    process_seconds: float


class NotCompiled(Exception):
    """The compiler refused the kernel; why."""


def compare(compiler: Path | None) -> bool:
    """Print the table, what misses its mark marked; whether pyttl compiles every kernel."""
    python = None if compiler is None else _python(compiler)
    figures = "measured here" if python else "figures of another machine"
    print(f"compiling, CPU time; tt-lang 1.1.1: {figures}")
    print(HEADER, RULE, sep="\n", flush=True)
    all_compiled = True
    for row in ROWS:
        theirs = _published(row) if python is None else _theirs(row, python)
        try:
            ours = times(row.name, sys.executable, {})
        except NotCompiled as refusal:
            all_compiled = False
            print(f"| {row.title} | not compiled: {refusal} |" + " |" * 5, flush=True)
            continue
        print(line(row, ours, theirs), flush=True)
    return all_compiled


def _python(compiler: Path) -> str | None:
    path = compiler / "bin" / "python"
    return str(path) if path.exists() else None


def _published(row: Row) -> Times:
    return Times(row.published_again, float("nan"), row.published_process)


def _theirs(row: Row, python: str) -> Times:
    return times(row.name, python, {"PYTHONPATH": str(FOLDER / "standins")})


def line(row: Row, ours: Times, theirs: Times) -> str:
    """The row of the table; what misses its mark says so."""
    share = ours.again_milliseconds / theirs.again_milliseconds
    over = ours.process_seconds > PROCESS_LIMIT
    cells = (
        row.title,
        f"{ours.again_milliseconds:.1f}",
        f"{theirs.again_milliseconds:.1f}",
        f"{share:.0%}" + (" (slower)" if share > 1 else ""),
        f"{ours.first_milliseconds:.0f}",
        f"{ours.process_seconds:.2f}" + (f" (over {PROCESS_LIMIT:g})" if over else ""),
        f"{theirs.process_seconds:.2f}",
    )
    return f"| {' | '.join(cells)} |"


def times(kernel: str, python: str, environment: Mapping[str, str]) -> Times:
    """Raises NotCompiled with the compiler's own words."""
    _run(kernel, python, environment)  # fills the caches of bytecode
    runs = [_run(kernel, python, environment, REPEATS) for _ in range(PROCESSES)]
    return Times(
        1000 * statistics.median(seconds for run in runs for seconds in run["again"]),
        1000 * statistics.median(run["first"] for run in runs),
        statistics.median(run["process"] for run in runs),
    )


def _run(
    kernel: str, python: str, environment: Mapping[str, str], repeats: int = 0
) -> dict[str, Any]:
    command = [python, str(FOLDER / "kernels.py"), kernel, str(repeats)]
    # An installed package has its bytecode; a setting of this shell must not keep ours away.
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        command, env={**variables, **environment}, capture_output=True, text=True
    )
    if done.returncode:
        sentences = [text for text in done.stderr.splitlines() if text.startswith("error")]
        raise NotCompiled((sentences or done.stderr.strip().splitlines()[-1:])[0])
    figures: dict[str, Any] = json.loads(done.stdout.strip().rpartition("\n")[2])
    return figures
