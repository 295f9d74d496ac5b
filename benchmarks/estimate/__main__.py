"""`python -m benchmarks.estimate [-o PAGE]`: predicted against measured, by rows of measured.json.

The rows are published measurements; the programs beside them have the same shape. A row that a
cost was derived from is marked: it shows that the model is made as meant, not that it predicts.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from benchmarks.processes import TTL, output_of

from .examples import PROGRAMS, examples_report, measured

FOLDER = Path(__file__).parent
AIM = 0.25
MARK = "<!-- what follows is written by `python -m benchmarks.estimate -o` -->\n"
CLOSE = 0.1  # measurements that differ by less count as equal


@dataclass(frozen=True, slots=True)
class Row:
    what: str
    chip: str
    group: str
    measured: float
    best: float
    predicted: float
    worst: float
    is_independent: bool
    wall: float | None = None  # wall time of the host, if published
    whole: float = 0.0  # prediction for all threads

    @property
    def error(self) -> float:
        return self.predicted / self.measured - 1


def measured_rows() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((FOLDER / "measured.json").read_text())
    return rows


def predict(row: dict[str, Any]) -> Row:
    """Predict a row in a separate process."""
    program = FOLDER / "programs" / row["program"]
    arguments = ["estimate", "--json", "--target", row["chip"], str(program), *row["arguments"]]
    output, _ = output_of([*TTL, *arguments])
    (found,) = json.loads(output)
    group = row["program"].removesuffix(".py")
    is_independent = "also_used_for" not in row
    if "measured_cycles" in row:
        cycles = _transfer_cycles(found, program, row.get("kernel") or row["arguments"][0])
        times = (cycles, cycles, cycles)
        return Row(row["what"], row["chip"], group, row["measured_cycles"], *times, is_independent)
    spread = found["microseconds"]
    share = _share_of_thread(found, row["thread"]) if "thread" in row else 1.0
    return Row(
        row["what"],
        row["chip"],
        group,
        row["measured_us"],
        share * spread["best"],
        share * spread["typical"],
        share * spread["worst"],
        is_independent,
        row.get("wall_us"),
        spread["typical"],
    )


def _share_of_thread(found: dict[str, Any], thread: str) -> float:
    """Return a thread's share of the time, for sources with only this thread's time; the typical
    case's share also applies to the best and the worst case.
    """
    (own,) = (each["microseconds"] for each in found["threads"] if each["thread"] == thread)
    return float(own / found["microseconds"]["typical"])


def _transfer_cycles(found: dict[str, Any], program: Path, kernel: str) -> float:
    """Return the cycles of copying lines and of all barriers, which the published zone covers."""
    text = program.read_text().splitlines()
    busy: float = sum(
        line["busy"]
        for line in found["lines"]
        if line["kernel"] == kernel and "copy" in text[line["line"] - 1]
    )
    (waits,) = (dict(each["waits"]) for each in found["threads"] if each["kernel"] == kernel)
    cycles: float = found["microseconds"]["typical"] * found["clock_ghz"] * 1e3
    return busy + float(waits.get("barrier", 0.0)) * cycles


def right_pairs(rows: list[Row]) -> tuple[int, int]:
    """Count the pairs of one program and chip that differ in time: in correct order, and all."""
    right = total = 0
    for one, other in combinations(rows, 2):
        if (one.group, one.chip) != (other.group, other.chip):
            continue
        if abs(one.measured / other.measured - 1) < CLOSE:
            continue
        total += 1
        right += (one.predicted < other.predicted) == (one.measured < other.measured)
    return right, total


def report(rows: list[Row]) -> Iterator[str]:
    yield "| chip | what | measured | predicted | range | error | |"
    yield "|---|---|---:|---:|---|---:|---|"
    for row in rows:
        unit = "cycles" if row.group.endswith("stream") else "us"
        span = "" if row.best == row.worst else f"{row.best:.3g} to {row.worst:.3g}"
        note = "" if row.is_independent else "a cost was derived from it"
        if row.wall is not None:
            wall = f"all threads {row.whole:.4g}, wall time {row.wall:g} us"
            note = f"{wall}; {note}" if note else wall
        yield (
            f"| {row.chip} | {row.what} | {row.measured:g} {unit} | {row.predicted:.4g} | {span} | "
            f"{row.error:+.0%} | {note} |"
        )
    yield ""
    yield "| rows | number | median error | within 25 % | pairs in the right order |"
    yield "|---|---:|---:|---:|---:|"
    independent = [row for row in rows if row.is_independent]
    for name, chosen in (
        ("all", rows),
        ("no cost was derived from them", independent),
        *_groups(rows),
    ):
        if not chosen:
            continue
        errors = [abs(row.error) for row in chosen]
        right, total = right_pairs(chosen)
        yield (
            f"| {name} | {len(chosen)} | {statistics.median(errors):.0%} | "
            f"{sum(error <= AIM for error in errors)} | {right} of {total} |"
        )


def _groups(rows: list[Row]) -> list[tuple[str, list[Row]]]:
    names = dict.fromkeys((row.group, row.chip) for row in rows)
    groups = [
        (f"{group}, {chip}", [row for row in rows if (row.group, row.chip) == (group, chip)])
        for group, chip in names
    ]
    walls = [
        replace(row, measured=row.wall, predicted=row.whole) for row in rows if row.wall is not None
    ]
    return [*groups, ("matmul, all threads against wall times", walls)] if walls else groups


def main() -> None:
    parser = argparse.ArgumentParser(description="Predicted against measured.")
    parser.add_argument("-o", dest="page", metavar="PAGE", help="renew the tables of this page")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose name has this text")
    options = parser.parse_args()
    rows = []
    for row in measured_rows():
        if options.only in f"{row['program']} {row['chip']} {row['what']}":
            rows.append(predict(row))
            print(f"{rows[-1].what}: {rows[-1].error:+.0%}", file=sys.stderr, flush=True)
    parts = list(report(rows))
    if not options.only:
        parts += ["", *examples_report([measured(each) for each in PROGRAMS])]
    text = "\n".join(parts) + "\n"
    print(text)
    if options.page:
        write_page(Path(options.page), text)


def write_page(page: Path, tables: str) -> None:
    before, mark, _ = page.read_text().partition(MARK)
    page.write_text(f"{before}{mark or MARK}\n{tables}")


if __name__ == "__main__":
    main()
