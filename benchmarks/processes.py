"""Runs commands and measures their cost."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
TTL = (sys.executable, "-c", "from ttl.cli import main; raise SystemExit(main())")


@dataclass(frozen=True, slots=True)
class Cost:
    wall_seconds: float
    cpu_seconds: float  # of the process and its children


def run(
    command: Sequence[str],
    *,
    show: bool = False,
    environment: Mapping[str, str] | None = None,
    errors: int | None = None,
) -> Cost:
    """Run a command in the project's folder; raise CalledProcessError if it fails. `errors` is its
    stderr, if not ours.
    """
    output = None if show else subprocess.DEVNULL
    variables = {**os.environ, **(environment or {})}
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=errors, env=variables)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Cost(wall, usage.ru_utime + usage.ru_stime)


def output_of(
    command: Sequence[str], environment: Mapping[str, str] | None = None
) -> tuple[str, float]:
    """Run a command in the project's folder; return its output and its processes' CPU seconds.
    Raises SystemExit with its output if it fails.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    variables = {**os.environ, **(environment or {})}
    done = subprocess.run(
        command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
