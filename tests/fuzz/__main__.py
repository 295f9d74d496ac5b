"""Random programs and damaged files on all engines, for some minutes: `make fuzz MINUTES=n`.

    python -m fuzz --minutes 5 [--seed N] [--kinds nodes mutants] [--scheduler tcp://...]
    python -m fuzz FILE ...         judge cases again, from a folder of failures or the corpus

Past failures (tests/fuzz/corpus, and the folder of failures) come first. A failure is made smaller
and written as a file that runs by itself. Exits 1 if anything failed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from fuzz.kinds import KINDS, Case, read_case
from fuzz.running import (
    ROOT,
    Batch,
    Result,
    Tally,
    batches,
    done_again,
    failure_of,
    load_everything,
    manner,
    on_cluster,
    on_cores,
    smaller,
    within_limits,
)
from ttl.studio.sweep import CRASHED, cores

CORPUS = Path(__file__).parent / "corpus"
FOLDER = ROOT / "build" / "fuzz"
ENOUGH = 3  # failures of one manner that are made smaller: the others are only counted


def main(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    if options.batch:
        kind, *seeds = options.batch
        print(json.dumps(within_limits(Batch(kind, tuple(map(int, seeds))))))
        return 0
    os.environ.setdefault("PYTTLANG_CACHE", str(FOLDER / "cache"))
    load_everything()
    past = options.files or past_failures(options.failures)
    failing = replay(past)
    if options.files:
        return int(failing)
    tally = fuzz(options)
    make_smaller(tally.failures, options.failures)
    report(tally, options.failures)
    return int(failing or bool(tally.failures))


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("fuzz", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help="cases to judge again")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--jobs", type=int, default=cores())
    parser.add_argument("--scheduler", help="of Dask; its workers have tests/ on their path")
    parser.add_argument("--failures", type=Path, default=FOLDER / "failures")
    parser.add_argument("--batch", nargs="+", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def past_failures(folder: Path) -> list[Path]:
    return [each for place in (CORPUS, folder) for each in sorted(place.glob("*-*"))]


def replay(files: Sequence[Path]) -> bool:
    """Whether any of them fails (again)."""
    found = [(file, failure_of(read_case(file))) for file in files]
    failing = [(file, failure) for file, failure in found if failure]
    for file, failure in failing:
        print(f"fails: {file}: {failure}", flush=True)
    print(f"{len(found)} past failures judged again, {len(failing)} fail", flush=True)
    return bool(failing)


def fuzz(options: argparse.Namespace) -> Tally:
    print(f"fuzzing for {options.minutes:g} minutes, seed {options.seed}", flush=True)
    tally = Tally()
    until = time.monotonic() + options.minutes * 60
    given = batches(options.kinds, options.seed, tally, until)
    place = options.scheduler
    run = on_cluster(given, place) if place else on_cores(given, options.jobs)
    for batch, result in _results(run):
        known = len(tally.failures)
        tally.take(batch, result)
        for case in tally.failures[known:]:
            case.write(options.failures)
            print(f"fails: {case.kind} {case.seed}: {case.failure[:200]}", flush=True)
    return tally


def _results(run: Iterator[tuple[Batch, Result]]) -> Iterator[tuple[Batch, Result]]:
    for batch, result in run:
        if CRASHED in result:
            yield from done_again(batch)
        else:
            yield batch, result


def make_smaller(failures: Sequence[Case], folder: Path) -> None:
    """Some of each manner; the others stay as they are."""
    manners = Counter[str]()
    for case in failures:
        manners[manner(case.failure)] += 1
        if manners[manner(case.failure)] <= ENOUGH:
            print(f"made smaller: {smaller(case).write(folder)}", flush=True)


def report(tally: Tally, folder: Path) -> None:
    width = max(map(len, KINDS))
    for kind, endings in sorted(tally.endings.items()):
        words = ", ".join(f"{count} {ending}" for ending, count in sorted(endings.items()))
        done, seconds = sum(endings.values()), tally.seconds[kind]
        print(f"{kind:{width}}  {done:6} cases  {seconds:5.0f} s  {words}")
    codes = sorted({code for _, code in tally.codes})
    print(f"codes that were raised: {' '.join(codes)}")
    print(
        f"{tally.cases()} cases, {len(tally.failures)} failures"
        + (f", in {folder}" if tally.failures else "")
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
