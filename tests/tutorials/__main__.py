"""python -m tutorials [--host] [NAME...]: run tutorials at full size, print a table of their times.

A NAME chooses the tutorials that begin with it; with --host they are compiled.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

from .wheel import find_tutorials

COMMAND = (str(Path(sys.executable).parent / "ttl"), "run")
MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes


def main(arguments: list[str]) -> int:
    options = [argument for argument in arguments if argument == "--host"]
    chosen = [argument for argument in arguments if argument not in options]
    programs = {
        name: path
        for name, path in find_tutorials().items()
        if not chosen or name.startswith(tuple(chosen))
    }
    if not programs:
        print(f"no tutorial begins with {' or '.join(chosen)}", file=sys.stderr)
        return 2
    print("| tutorial | wall s | CPU s | RSS MB | result |\n|---|---|---|---|---|", flush=True)
    failed = [name for name, path in programs.items() if not _print_row(name, path, options)]
    return 1 if failed else 0


def _print_row(name: str, path: Path, options: list[str]) -> bool:
    """Each row as soon as it is known: one of them takes most of an hour."""
    start = time.monotonic()
    process = subprocess.Popen(
        [*COMMAND, *options, str(path)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    last = _last_line(process.stdout)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - start
    megabytes = used.ru_maxrss * MAXRSS_UNIT / 1e6
    result = "right" if process.returncode == 0 else f"**failed**: {last}"
    cpu = used.ru_utime + used.ru_stime
    print(f"| {name} | {wall:.1f} | {cpu:.1f} | {megabytes:.0f} | {result} |", flush=True)
    return process.returncode == 0


def _last_line(output: IO[str]) -> str:
    lines = [line.strip() for line in output if line.strip()]
    return lines[-1] if lines else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
