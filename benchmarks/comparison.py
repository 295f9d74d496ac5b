"""Every program of benchmarks/programs on pyttl and on the public tt-lang-sim, side by side."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.processes import ROOT

PROGRAMS = ROOT / "benchmarks" / "programs"
MEMORY_SHARE = 0.5  # of tt-lang-sim's, at most

HEADER = (
    "| program | pyttl, CPU s | tt-lang-sim, CPU s | times faster | floor | goal "
    "| memory, MB | share of theirs |"
)
RULE = "|---|---:|---:|---:|---:|---:|---:|---:|"


@dataclass(frozen=True, slots=True)
class Row:
    """A program with its arguments, and how many times faster than tt-lang-sim it is to run."""

    name: str
    title: str
    command: tuple[str, ...]
    floor: float
    goal: float


ROWS = (
    Row("add-1x1", "add 4096x4096, 1x1-tile blocks", ("add.py", "4096", "1"), 7, 12),
    Row("add-4x4", "add 4096x4096, 4x4-tile blocks", ("add.py", "4096", "4"), 6, 10),
    Row("matmul-1x1", "matmul 1024^3, 1x1x1-tile blocks", ("matmul.py", "1024", "1"), 8, 12),
    Row("matmul-2x2", "matmul 2048^3, 2x2x2-tile blocks", ("matmul.py", "2048", "2"), 6, 8),
    # What is left of this one is the matrix product itself, the same library on both sides.
    Row("matmul-8x8", "matmul 2048^3, 8x8x8-tile blocks", ("matmul.py", "2048", "8"), 1.6, 2),
    Row(
        "multicast",
        "matmul 1024^3, row and column multicast, 2x2",
        ("multicast_matmul.py", "1024", "2"),
        12,
        20,
    ),
    Row("softmax", "softmax 4096x1024, row blocks", ("softmax.py", "4096", "1024"), 10, 20),
    Row(
        "flash-attention",
        "flash attention, 8 heads, 2048, d 128, 4x4",
        ("flash_attention.py", "8", "2048", "128", "4"),
        5,
        8,
    ),
    Row("launch", "launch of an empty operation", ("launch.py",), 5, 10),
)


@dataclass(frozen=True, slots=True)
class Figures:
    """What one simulator needed for one program: medians as benchmarks/programs/measure.py says."""

    cpu_seconds: float
    peak_bytes: int


class ProgramFailed(Exception):
    """The program ended with an error; a wrong output is one."""


def compare(names: Sequence[str], peer: Path) -> bool:
    """Print the table, a line as soon as it is known; whether every program ran and was right."""
    print(f"{machine()}; {versions(peer)}")
    print("8x8 nodes, bfloat16, fp32_dest_acc_en=True, OMP_NUM_THREADS=1; medians of 3 calls\n")
    print(HEADER, RULE, sep="\n", flush=True)
    right = True
    for row in ROWS:
        if names and row.name not in names:
            continue
        try:
            print(line(row, *measured(row, peer)), flush=True)
        except ProgramFailed as failure:
            right = False
            print(f"| {row.title} | failed: {failure} |" + " |" * 6, flush=True)
    return right


def line(row: Row, ours: Figures, theirs: Figures) -> str:
    """The row of the table; what misses its mark says so."""
    faster = theirs.cpu_seconds / ours.cpu_seconds
    share = ours.peak_bytes / theirs.peak_bytes
    cells = (
        row.title,
        f"{ours.cpu_seconds:.3g}",
        f"{theirs.cpu_seconds:.3g}",
        f"{faster:.1f}" + (" (below the floor)" if faster < row.floor else ""),
        f"{row.floor:g}",
        f"{row.goal:g}",
        f"{ours.peak_bytes / 1e6:.0f} / {theirs.peak_bytes / 1e6:.0f}",
        f"{share:.0%}" + (" (over half)" if share > MEMORY_SHARE else ""),
    )
    return f"| {' | '.join(cells)} |"


def measured(row: Row, peer: Path) -> tuple[Figures, Figures]:
    ours, *command = program_command(row.command)
    return figures((ours, *command)), figures((str(peer / "bin/tt-lang-sim"), *command))


def program_command(command: Sequence[str]) -> tuple[str, ...]:
    program, *arguments = command
    return (sys.executable, str(PROGRAMS / program), *arguments)


def figures(command: Sequence[str]) -> Figures:
    """Run a program; its last line holds the figures."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    # tt-lang-sim does not look for modules beside the program.
    environment["PYTHONPATH"] = str(PROGRAMS)
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if result.returncode:
        print(result.stderr, file=sys.stderr)
        raise ProgramFailed(f"{Path(command[0]).name}: {_complaint(result.stderr)}")
    values = json.loads(_last_line(result.stdout))
    return Figures(values["cpu_seconds"], values["peak_bytes"])


def _complaint(errors: str) -> str:
    """The sentence of a diagnostic, or the last line of a traceback."""
    sentences = (line for line in errors.splitlines() if line.startswith("error"))
    return next(sentences, _last_line(errors))


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2]


def machine() -> str:
    return f"{_processor()}, {os.cpu_count()} cores"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def versions(peer: Path) -> str:
    ours = _installed(sys.executable, "pyttl", "numpy")
    theirs = _installed(str(peer / "bin/python"), "tt-lang-sim", "torch")
    return f"Python {platform.python_version()}; {ours}; {theirs}"


def _installed(python: str, *packages: str) -> str:
    """The versions of packages in another environment."""
    code = "import sys; from importlib.metadata import version as v; print(*map(v, sys.argv[1:]))"
    result = subprocess.run(
        [python, "-c", code, *packages], capture_output=True, text=True, check=True
    )
    numbers = result.stdout.split()
    return ", ".join(f"{name} {number}" for name, number in zip(packages, numbers, strict=True))
