"""`python -m benchmarks.watch OUT [BEFORE]`: a few times, and whether any grew.

Each is a share of what a fixed piece of work takes on the same machine at the same time, so that
figures of different nights and machines can be compared. OUT is what pytest-benchmark writes, in
short: a list of names and figures. With BEFORE, an OUT of earlier, the exit status is 1 if a share
is more than LIMIT times what it was.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from benchmarks.comparison import figures, machine, program_command
from benchmarks.processes import TTL, output_of

RUNS = 5  # use the fastest run, which other processes slow down least
LIMIT = 1.25
PROGRAMS = {
    "simulator: add, one-tile blocks": ("add.py", "1024", "1"),
    "simulator: matmul, 2x2-tile blocks": ("matmul.py", "1024", "2"),
    "simulator: softmax": ("softmax.py", "2048", "512"),
    "simulator: launch": ("launch.py",),
}


def yardstick() -> float:
    """Return the CPU seconds of work unrelated to pyttlang: names, numbers and dictionaries."""
    start = time.process_time()
    seen: dict[int, int] = {}
    for number in range(400_000):
        seen[number % 1009] = seen.get(number % 997, 0) + number
    return time.process_time() - start


def commands(folder: str) -> dict[str, list[str]]:
    example = "examples/elementwise.py"
    return {
        "import ttl": [sys.executable, "-c", "import ttl"],
        "ttl compile": [*TTL, "compile", "--compile-only", example, "-o", folder],
        "ttl run --host": [*TTL, "run", "--host", example],
    }


def least_share(measure: Callable[[], float]) -> float:
    return min(measure() / yardstick() for _ in range(RUNS))


def measured() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        shares = {
            name: least_share(partial(cpu_seconds_of, command))
            for name, command in commands(folder).items()
        }
    for name, program in PROGRAMS.items():
        shares[name] = least_share(partial(own_seconds_of, program_command(program)))
    return shares


def cpu_seconds_of(command: Sequence[str]) -> float:
    return output_of(command)[1]


def own_seconds_of(command: Sequence[str]) -> float:
    """Return the CPU seconds of the calls that a program measures itself."""
    return figures(command).cpu


def as_json(shares: Mapping[str, float]) -> str:
    found = [{"name": name, "stats": {"min": share}} for name, share in shares.items()]
    return json.dumps({"machine_info": {"cpu": machine()}, "benchmarks": found}, indent=1) + "\n"


def from_json(text: str) -> dict[str, float]:
    return {each["name"]: each["stats"]["min"] for each in json.loads(text)["benchmarks"]}


def grown(shares: Mapping[str, float], before: Mapping[str, float]) -> list[str]:
    """Return the names of shares that grew by more than LIMIT."""
    return [name for name, share in shares.items() if share > LIMIT * before.get(name, share)]


def main(out: str, before: str | None = None) -> int:
    known = Path(before) if before else None
    earlier = from_json(known.read_text()) if known is not None and known.is_file() else {}
    shares = measured()
    Path(out).write_text(as_json(shares))
    longer = grown(shares, earlier)
    for name, share in shares.items():
        then = f"{earlier[name]:8.2f} before" if name in earlier else ""
        print(f"{name:40} {share:8.2f} {then}{'  longer' if name in longer else ''}")
    return 1 if longer else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
