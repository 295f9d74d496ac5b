"""Cases in processes of their own: on all cores, or on a Dask cluster.

A process may crash, run for ever or take all memory: that is what is looked for. Cases of a kind
that take little time share one; if it crashes they are done again, one by one.
"""

from __future__ import annotations

import io
import json
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from fuzz.kinds import KINDS, Case, made
from fuzz.shrinking import shrunk
from ttl.studio.sweep import CRASHED, failed, forked, limited

CPU_SECONDS = 120  # of a case, or of those that share a process
MEMORY_BYTES = 8 << 30
TRIES, TRIED_SECONDS = 300, 60  # to make a failure smaller
ROOT = Path(__file__).parents[2]
Result = dict[str, Any]


@dataclass(frozen=True)
class Batch:
    """Cases of one kind: of these seeds, or with this text."""

    kind: str
    seeds: tuple[int, ...] = ()
    text: str = ""

    def cases(self) -> Iterator[Case]:
        if self.text:
            yield Case(self.kind, 0, self.text)
        yield from (made(self.kind, seed) for seed in self.seeds)


def perform(batch: Batch) -> Result:
    """In this process."""
    endings: Counter[str] = Counter()
    failures: list[tuple[int, str, str]] = []
    codes: set[tuple[str, str]] = set()
    start = _spent()
    for case in batch.cases():
        verdict = KINDS[case.kind].check(case.text)
        endings[verdict.ending] += 1
        codes |= verdict.codes
        if verdict.failure:
            failures.append((case.seed, case.text, verdict.failure))
    found = {"endings": dict(endings), "failures": failures, "codes": sorted(codes)}
    return {**found, "seconds": _spent() - start}


def _spent() -> float:
    """Of the CPU, also by compilers."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def load_everything() -> None:
    """In this process, once: those that are forked from it have it, and start at once."""
    for kind in ("unified", "manifests", "flatbuffers", "ir", "traces", "lsp", "caches"):
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            perform(Batch(kind, (0,)))


def within_limits(batch: Batch) -> Result:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 10))
    return limited(perform, batch, CPU_SECONDS)


def failure_of(case: Case) -> str:
    """In a process of its own."""
    ((_, result),) = forked(within_limits, [Batch(case.kind, text=case.text)], 1)
    if CRASHED in result:
        return f"crashed: {result[CRASHED]}"
    return str(result["failures"][0][-1]) if result["failures"] else ""


def manner(failure: str) -> str:
    """What two failures have in common: the words up to the second colon, without numbers."""
    words = ":".join(failure.split(":")[:2])
    return "".join(each for each in words if not each.isdigit())[:60]


def smaller(case: Case) -> Case:
    """The same failure, in the smallest text that is found in the time."""
    wanted, until = manner(case.failure), time.monotonic() + TRIED_SECONDS

    def fails(text: str) -> bool:
        is_over = time.monotonic() > until
        return not is_over and manner(failure_of(replace(case, text=text))) == wanted

    text = shrunk(case.text, KINDS[case.kind].smaller, fails, TRIES)
    return replace(case, text=text, failure=failure_of(replace(case, text=text)) or case.failure)


@dataclass
class Tally:
    """What was done; which kind is next is decided by the time that each has had."""

    endings: dict[str, Counter[str]] = field(default_factory=dict)
    seconds: Counter[str] = field(default_factory=Counter)
    codes: set[tuple[str, str]] = field(default_factory=set)
    failures: list[Case] = field(default_factory=list)

    def take(self, batch: Batch, result: Result) -> None:
        self.endings.setdefault(batch.kind, Counter()).update(result["endings"])
        self.seconds[batch.kind] += result["seconds"]
        self.codes |= {tuple(each) for each in result["codes"]}
        self.failures += [Case(batch.kind, *each) for each in result["failures"]]

    def cases(self) -> int:
        return sum(sum(each.values()) for each in self.endings.values())


def batches(kinds: Iterable[str], seed: int, tally: Tally, until: float) -> Iterator[Batch]:
    numbers = Counter({kind: seed for kind in kinds})
    while time.monotonic() < until:
        kind = min(numbers, key=lambda each: (tally.seconds[each], each))
        first = numbers[kind]
        numbers[kind] += KINDS[kind].at_once
        tally.seconds[kind] += 0.1  # until its time is known, so that others start too
        yield Batch(kind, tuple(range(first, numbers[kind])))


def on_cores(given: Iterable[Batch], jobs: int) -> Iterator[tuple[Batch, Result]]:
    taken: list[Batch] = []

    def noted() -> Iterator[Batch]:
        for each in given:
            taken.append(each)
            yield each

    for number, result in forked(within_limits, noted(), jobs):
        yield taken[number], result


def in_process(work: tuple[str, ...]) -> Result:
    """What a worker of a cluster does: its own process has threads, and no fork is made of it."""
    command = [sys.executable, "-P", "-m", "fuzz", "--batch", *work]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        return failed(done.returncode, done.stderr)
    result: Result = json.loads(done.stdout.splitlines()[-1])
    return result


def on_cluster(given: Iterable[Batch], address: str) -> Iterator[tuple[Batch, Result]]:
    """Rounds of as many batches as keep the workers busy for a while."""
    from ttl.studio.sweep.cluster import cluster
    from ttl.studio.sweep.cluster import on_cluster as results

    with cluster(address) as client:
        size = 2 * sum(client.nthreads().values())
        rest = iter(given)
        while part := list(islice(rest, size)):
            work = [(each.kind, *map(str, each.seeds)) for each in part]
            for number, result in results(client, work, in_process):
                yield part[number], result


def done_again(batch: Batch) -> Iterator[tuple[Batch, Result]]:
    """The cases of a batch that crashed, one by one; a crash is a failure of its case."""
    for seed in batch.seeds:
        one = Batch(batch.kind, (seed,))
        ((_, result),) = forked(within_limits, [one], 1)
        if CRASHED in result:
            failures = [(seed, made(batch.kind, seed).text, f"crashed: {result[CRASHED]}")]
            result = {"endings": {"crashed": 1}, "failures": failures, "codes": [], "seconds": 1.0}
        yield one, result
