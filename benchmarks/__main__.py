"""`python -m benchmarks`: the figures that the project watches, medians of several runs.

With `--peer DIR`, an environment with tt-lang-sim, also the comparison with it; with `--only NAME`
nothing but these rows of the comparison. With `--compiler DIR`, an environment with the public
compiler, compile times are compared with those that it has here.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import check_speed, compile_speed, growth
from benchmarks.comparison import ROWS, compare, figures, program_command
from benchmarks.processes import TTL, Cost, run

EXAMPLES = ("examples/elementwise.py", "examples/matmul_bias_relu.py")
RUNS = 5
MULTICAST_LIMIT = 1.3  # times what the same matmul takes without pipes, on the simulator


def median(command: Sequence[str]) -> Cost:
    """The median cost of a command, after one run that fills the caches."""
    run(command)
    costs = [run(command) for _ in range(RUNS)]
    return Cost(
        statistics.median(cost.wall_seconds for cost in costs),
        statistics.median(cost.cpu_seconds for cost in costs),
    )


def import_milliseconds() -> float:
    """CPU time of `import ttl` over that of an interpreter that does nothing."""
    nothing = median([sys.executable, "-c", "pass"]).cpu_seconds
    return 1000 * (median([sys.executable, "-c", "import ttl"]).cpu_seconds - nothing)


def multicast_share() -> str:
    """In turn, and the least of each: what another process takes away is not theirs."""
    programs = [("matmul.py", "1024", "2"), ("multicast_matmul.py", "1024", "2")]
    runs = [[figures(program_command(each)) for each in programs] for _ in range(RUNS)]
    plain, multicast = (
        min(each.cpu_seconds for each in column) for column in zip(*runs, strict=True)
    )
    over = f" (over {MULTICAST_LIMIT:g})" if multicast > MULTICAST_LIMIT * plain else ""
    return f"{multicast / plain:8.2f}{over}"


def own_figures() -> None:
    print(f"{'import ttl':48} {import_milliseconds():8.0f} ms CPU")
    with tempfile.TemporaryDirectory() as folder:
        compiled = median([*TTL, "compile", EXAMPLES[0], "-o", folder])
    print(f"{'ttl compile ' + EXAMPLES[0]:48} {compiled.cpu_seconds:8.2f} s CPU")
    for example in EXAMPLES:
        for options in ((), ("--host",)):
            cost = median([*TTL, "run", *options, example])
            name = " ".join(("ttl run", *options, example))
            print(f"{name:48} {cost.wall_seconds:8.2f} s  {cost.cpu_seconds:8.2f} s CPU")
    print(f"{'multicast matmul / matmul, 2x2-tile blocks':48} {multicast_share()}")
    run([sys.executable, "-m", "benchmarks.host"], show=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--peer", type=Path, help="the environment that has tt-lang-sim")
    parser.add_argument("--compiler", type=Path, help="the environment that has tt-lang")
    parser.add_argument("--only", nargs="+", default=[], choices=[row.name for row in ROWS])
    options = parser.parse_args()
    if options.only and not options.peer:
        parser.error("--only chooses rows of the comparison, which needs --peer")
    good = True
    if not options.only:
        own_figures()
        print()
        good = compile_speed.compare(options.compiler and options.compiler.absolute())
        print()
        check_speed.table()
        print()
        good = growth.table() and good
        print()
    if options.peer:
        good = compare(options.only, options.peer.absolute()) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
