"""`python -m benchmarks.tuning [--known]`: tune a matrix product and a softmax, and print a table.

Every configuration is tried anew, or with --known taken from the results of the run before.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.processes import TTL, output_of

PROGRAMS = Path(__file__).parent / "programs"
ROWS = (
    ("matmul 2048 x 2048 x 2048", "matmul.py", ("2048", "2048", "2048")),
    ("softmax 16384 x 1024", "softmax.py", ("16384", "1024")),
)
HEAD = (
    "operation",
    "trials",
    "left out",
    "chosen",
    "us",
    "first usable, us",
    "slowest, us",
    "CPU s",
    "wall s",
)


def tune(program: str, arguments: tuple[str, ...], known: bool) -> tuple[Any, float]:
    """Run `ttl tune`; return its result, and the CPU seconds of all its processes."""
    options = ["tune", "--json", *([] if known else ["--fresh"])]
    output, cpu_seconds = output_of([*TTL, *options, str(PROGRAMS / program), *arguments])
    (found,) = json.loads(output)
    return found, cpu_seconds


def cells(what: str, found: Any, cpu_seconds: float) -> Iterator[str]:
    usable = [each for each in found["configurations"] if "problem" not in each]
    times = [each["microseconds"]["typical"] for each in usable]
    chosen = ", ".join(f"{name}={value}" for name, value in usable[0]["values"].items())
    left_out = found["trials"] - len(usable)
    yield from (what, str(found["trials"]), str(left_out), chosen, f"{times[0]:.0f}")
    yield from (f"{found['first_microseconds']:.0f}", f"{times[-1]:.0f}")
    yield from (f"{cpu_seconds:.0f}", f"{found['seconds']:.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tuning")
    parser.add_argument("--known", action="store_true", help="use results of the run before")
    options = parser.parse_args()
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    for what, program, arguments in ROWS:
        found, cpu_seconds = tune(program, arguments, options.known)
        print(f"| {' | '.join(cells(what, found, cpu_seconds))} |", flush=True)


if __name__ == "__main__":
    main()
