"""`python -m benchmarks`: the figures that the project watches, in one table.

With `--peer DIR`, an environment with tt-lang-sim, and `--compiler DIR`, one with the public
compiler, beside what these need. `--only NAME` measures nothing but these rows, `--quick` makes
fewer calls and leaves out what takes long. `--out FILE` has all figures as JSON, with the load of
the machine; `python -m benchmarks.tables FILE` makes the table of README.md of it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import check_speed, compile_speed, growth
from benchmarks.bench import Bench
from benchmarks.comparison import machine, versions
from benchmarks.rows import Row, rows
from benchmarks.tables import HEADER, RULE, line_text
from benchmarks.timing import Line, Measured, NotMeasured, line_to_json

NOTE = "8x8 nodes, bfloat16, fp32_dest_acc_en=True, OMP_NUM_THREADS=1; medians\n"


def measured(chosen: Sequence[Row], bench: Bench) -> Iterator[Line]:
    """Yield the rows; a row that cannot be measured has the reason."""
    for row in chosen:
        load = os.getloadavg()[0]
        try:
            found = row.measure(bench)
        except (NotMeasured, compile_speed.NotCompiled) as reason:
            found = Measured(None, why=str(reason))
        yield Line(
            row.name,
            row.title,
            row.unit,
            row.wanted,
            row.at_least,
            row.other_name,
            found,
            round(load, 1),
        )


def show(chosen: Sequence[Row], bench: Bench, out: Path | None) -> None:
    """Print the table and write the file, each row as soon as it is measured."""
    tools = versions(bench.peer, bench.compiler)
    print(f"{machine()}; {tools}", NOTE, HEADER, RULE, sep="\n", flush=True)
    found: dict[str, Any] = {
        "machine": machine(),
        "versions": tools,
        "quick": bench.is_quick,
        "load": [],
        "rows": [],
    }
    for line in measured(chosen, bench):
        print(line_text(line), flush=True)
        found["load"].append(line.load)
        found["rows"].append(line_to_json(line))
        if out is not None:
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def more_tables(bench: Bench) -> None:
    """Print tables of other figures that the project watches."""
    print()
    compile_speed.compare(bench.compiler)
    print()
    check_speed.table()
    print()
    growth.table()


def arguments(names: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--peer", type=Path, help="the environment that has tt-lang-sim")
    parser.add_argument("--compiler", type=Path, help="the environment that has tt-lang")
    parser.add_argument("--only", nargs="+", default=[], choices=names, metavar="ROW")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, help="the file for the figures, as JSON")
    return parser.parse_args()


def main() -> int:
    known = list(rows())
    options = arguments([row.name for row in known])
    chosen = [
        row
        for row in known
        if row.name in options.only or not (options.only or (options.quick and row.is_long))
    ]
    peer, compiler = (path and path.absolute() for path in (options.peer, options.compiler))
    with tempfile.TemporaryDirectory() as cache:
        bench = Bench(peer, compiler, cache, options.quick)
        show(chosen, bench, options.out)
        if not (options.only or options.quick):
            more_tables(bench)
    return 0


if __name__ == "__main__":
    sys.exit(main())
