"""`python -m benchmarks.check_speed`: how long the static checks of a compilation take.

`python -m benchmarks.check_speed FILE ARGUMENT...` checks the first operation that FILE calls.
"""

from __future__ import annotations

import runpy
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import compile_speed
from benchmarks.processes import ROOT

PROGRAMS = ROOT / "benchmarks" / "programs"
ROWS = {  # a title: the program and its arguments, and the milliseconds that it may take
    **{row.title: (("compile/kernels.py", row.name), 30) for row in compile_speed.ROWS},
    "8x8 multicast matmul, 64 steps along K": (("multicast_matmul.py", "2048", "1"), 500),
}
REPEATS = 5


def check_again(operation: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    """Print the median milliseconds of CPU time, and exit."""
    from ttl.frontend import build_module
    from ttl.passes.pipelines import synchronize
    from ttl.passes.verify import check_synchronization, raise_errors
    from ttl.target import load

    target = load("wormhole_b0")
    program = operation.program(arguments, keywords, target.default_grid)
    times = []
    for _ in range(REPEATS):
        module = build_module(program, target)
        doubtful = synchronize(module)
        start = time.process_time()
        found = check_synchronization(module, doubtful)
        times.append(1000 * (time.process_time() - start))
        raise_errors(found)
    print(f"{statistics.median(times):.1f}", flush=True)
    raise SystemExit


def measure(file: str, *arguments: str) -> None:
    from ttl.language.engine import LAUNCH_HOOK

    LAUNCH_HOOK.launch = check_again
    sys.argv = [file, *arguments]
    sys.path.insert(0, str(Path(file).parent))
    runpy.run_path(file, run_name="__main__")


def table() -> None:
    """Print the table; mark rows that take too long."""
    print("| static checks of | ms CPU | limit |", "|---|---:|---:|", sep="\n")
    for title, ((file, *arguments), limit) in ROWS.items():
        command = [sys.executable, "-m", "benchmarks.check_speed", str(PROGRAMS / file)]
        done = subprocess.run(
            [*command, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
        )
        over = " (over)" if float(done.stdout) > limit else ""
        print(f"| {title} | {done.stdout.strip()}{over} | {limit} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(*sys.argv[1:])
    else:
        table()
