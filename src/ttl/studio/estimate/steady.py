"""Simulates some rounds of long loops and extrapolates the others.

Rules
* loop: the longest stretch of a kernel's calls that repeat with one period.
* rounds: every kernel of every class makes at least as many rounds as are left out, and in these
  rounds as many pages come into each buffer as leave it.
* steady: from half of the simulated rounds to all of them, each number grows by as much as it would
  in as many other rounds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise

from ttl.trace.calls import Recording

from .machine import EventMachine
from .parts import Spent
from .streams import AlikeNodes, Run

ROUNDS = 16  # simulated rounds of a long loop
LEAST_LEFT_OUT = 16
LEAST_RUNS = 4_000  # of all classes: fewer calls are fast to simulate


@dataclass(frozen=True, slots=True)
class RepeatedCalls:
    first: int
    period: int
    rounds: int


@dataclass(frozen=True, slots=True)
class Shortened:
    """Calls with few rounds of their loops, and with half as many."""

    longer: AlikeNodes
    shorter: AlikeNodes
    factor: float  # how many times their difference was left out


def shorten_loops(alike: AlikeNodes, recording: Recording) -> Shortened | None:
    """Shorten the loops; None if there are none, or if they are short."""
    kernels = [runs for own in alike.runs for runs in own if runs]
    if sum(map(len, kernels)) < LEAST_RUNS:
        return None
    loops = _group_rounds({id(runs): find_loop(runs, recording) for runs in kernels})
    rounds = min((0 if loop is None else loop.rounds for loop in loops.values()), default=0)
    left_out = rounds - ROUNDS
    if left_out < LEAST_LEFT_OUT or not _is_balanced(alike, recording, loops):
        return None

    def without(count: int) -> AlikeNodes:
        return alike.with_runs(
            [[_cut_rounds(runs, loops.get(id(runs)), count) for runs in own] for own in alike.runs]
        )

    half = ROUNDS // 2
    return Shortened(without(left_out), without(left_out + half), left_out / half)


def _group_rounds(loops: dict[int, RepeatedCalls | None]) -> dict[int, RepeatedCalls | None]:
    """Group the rounds of kernels that make more, shorter rounds, to match the other kernels."""
    fewest = min((loop.rounds for loop in loops.values() if loop is not None), default=1)
    together: dict[int, RepeatedCalls | None] = {}
    for runs, loop in loops.items():
        if loop is not None:
            times = max(1, round(loop.rounds / fewest))
            loop = RepeatedCalls(loop.first, times * loop.period, loop.rounds // times)
        together[runs] = loop
    return together


def find_loop(runs: list[Run], recording: Recording) -> RepeatedCalls | None:
    """Find the outermost loop: among calls that are frequent enough, the least frequent ones."""
    keys = [_key(run, recording) for run in runs]
    counts = Counter(keys)
    often = [key for key in counts if counts[key] >= ROUNDS + LEAST_LEFT_OUT]
    if not often:
        return None
    rarest = min(often, key=lambda key: counts[key])
    places = [n for n, key in enumerate(keys) if key == rarest]
    periods = Counter(b - a for a, b in pairwise(places))
    period = max(periods, key=lambda each: periods[each])
    return _find_longest(keys, period)


def _key(run: Run, recording: Recording) -> object:
    """Return the parts of a call that repeat: pages differ, and semaphore values grow."""
    (site, target, value, address), count, _ = run
    name = recording.sites[site].name
    if name.startswith("noc_semaphore"):
        return site, address, count
    if name.startswith("noc_"):
        return site, target >> 24, value, address, count
    return site, target, value, count


def _find_longest(keys: list[object], period: int) -> RepeatedCalls | None:
    best, first = (0, 0), None
    for n in range(len(keys) - period + 1):
        is_same = n < len(keys) - period and keys[n] == keys[n + period]
        if is_same and first is None:
            first = n
        elif not is_same and first is not None:
            best = max(best, (n - first, -first))
            first = None
    length, start = best
    return RepeatedCalls(-start, period, length // period + 1) if length >= period else None


def _cut_rounds(runs: list[Run], loop: RepeatedCalls | None, rounds: int) -> list[Run]:
    if loop is None:
        return runs
    start = loop.first + (loop.rounds - rounds) * loop.period
    return runs[:start] + runs[loop.first + loop.rounds * loop.period :]


def _is_balanced(
    alike: AlikeNodes, recording: Recording, loops: dict[int, RepeatedCalls | None]
) -> bool:
    for own in alike.runs:
        pages: defaultdict[int, int] = defaultdict(int)
        for runs in own:
            loop = loops.get(id(runs))
            if loop is None:
                continue
            for (site, count, _, _), times, _ in runs[loop.first : loop.first + loop.period]:
                at = recording.sites[site]
                if at.name == "cb_push_back":
                    pages[at.buffers[0]] += count * times
                elif at.name == "cb_pop_front":
                    pages[at.buffers[0]] -= count * times
        if any(pages.values()):
            return False
    return True


def extrapolate_machine(longer: EventMachine, shorter: EventMachine, factor: float) -> EventMachine:
    """Change `longer` to have the numbers of all rounds, and return it."""
    longer.end += factor * (longer.end - shorter.end)
    for name in ("read_bytes", "written_bytes", "busy"):
        value, less = getattr(longer.dram, name), getattr(shorter.dram, name)
        setattr(longer.dram, name, value + factor * (value - less))
    for node, other in zip(longer.nodes, shorter.nodes, strict=True):
        for thread, less in zip(node.threads, other.threads, strict=True):
            thread.time += factor * (thread.time - less.time)
            for site, spent in thread.spent.items():
                _extrapolate(spent, less.spent.get(site, Spent()), factor)
            for reason, cycles in thread.reasons.items():
                growth = cycles - less.reasons.get(reason, 0.0)
                thread.reasons[reason] = max(0.0, cycles + factor * growth)
    return longer


def _extrapolate(spent: Spent, less: Spent, factor: float) -> None:
    spent.busy += factor * (spent.busy - less.busy)
    spent.waited = max(0.0, spent.waited + factor * (spent.waited - less.waited))
    spent.times += round(factor * (spent.times - less.times))
