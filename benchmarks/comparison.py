"""Compares the programs of benchmarks/programs on pyttlang and on the public tt-lang-sim."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.processes import ROOT
from benchmarks.timing import NotMeasured, Timing, timing_from

PROGRAMS = ROOT / "benchmarks" / "programs"


@dataclass(frozen=True, slots=True)
class Compared:
    """Program with its arguments, and its wanted speedup over tt-lang-sim."""

    name: str
    title: str
    command: tuple[str, ...]
    wanted: float


PROGRAM_ROWS = (
    Compared("add-1x1", "add 4096x4096, 1x1-tile blocks", ("add.py", "4096", "1"), 12),
    Compared("add-4x4", "add 4096x4096, 4x4-tile blocks", ("add.py", "4096", "4"), 10),
    Compared("matmul-1x1", "matmul 1024^3, 1x1x1-tile blocks", ("matmul.py", "1024", "1"), 8),
    Compared("matmul-2x2", "matmul 2048^3, 2x2x2-tile blocks", ("matmul.py", "2048", "2"), 10),
    # The rest of this one is the matrix product itself, in the same library on both sides.
    Compared("matmul-8x8", "matmul 2048^3, 8x8x8-tile blocks", ("matmul.py", "2048", "8"), 1.6),
    Compared(
        "multicast",
        "matmul 1024^3, row and column multicast, 2x2",
        ("multicast_matmul.py", "1024", "2"),
        12,
    ),
    Compared("softmax", "softmax 4096x1024, row blocks", ("softmax.py", "4096", "1024"), 10),
    Compared(
        "flash-attention",
        "flash attention, 8 heads, 2048, d 128, 4x4",
        ("flash_attention.py", "8", "2048", "128", "4"),
        9,
    ),
    Compared("launch", "launch of an empty operation", ("launch.py",), 5),
)


def program_command(command: Sequence[str], runner: str = sys.executable) -> tuple[str, ...]:
    program, *arguments = command
    return (runner, str(PROGRAMS / program), *arguments)


def figures(command: Sequence[str], variables: Mapping[str, str] | None = None) -> Timing:
    """Run a program, whose last line has the figures. Raises NotMeasured if it fails or its output
    is wrong.
    """
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **(variables or {})}
    # tt-lang-sim does not look for modules beside the program.
    environment["PYTHONPATH"] = str(PROGRAMS)
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if result.returncode:
        print(result.stderr, file=sys.stderr)
        raise NotMeasured(f"{Path(command[0]).name}: {_complaint(result.stderr)}")
    return timing_from(json.loads(_last_line(result.stdout)))


def _complaint(errors: str) -> str:
    """Return the sentence of a diagnostic, or the last line of a traceback."""
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


def versions(peer: Path | None, compiler: Path | None) -> str:
    """Return the versions of the packages in the three environments, as far as they exist."""
    found = [f"Python {platform.python_version()}", _installed(sys.executable, "pyttlang", "numpy")]
    if peer is not None:
        found.append(_installed(str(peer / "bin/python"), "tt-lang-sim", "torch"))
    if compiler is not None:
        found.append(_installed(str(compiler / "bin/python"), "tt-lang"))
    return "; ".join(text for text in found if text)


def _installed(python: str, *packages: str) -> str:
    """Return the versions of packages in another environment; "" if they are missing."""
    code = "import sys; from importlib.metadata import version as v; print(*map(v, sys.argv[1:]))"
    try:
        done = subprocess.run([python, "-c", code, *packages], capture_output=True, text=True)
    except OSError:
        return ""
    numbers = done.stdout.split()
    return ", ".join(f"{name} {number}" for name, number in zip(packages, numbers, strict=False))
