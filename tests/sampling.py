"""What is chosen of many cases, and the seed of it, which stands at the head of every report.

Without `--full` a test with many combinations runs with some of them: every value of each of its
parameters is met, not every value with every other. A test that is marked `sampled(n)`, whose cases
are slow and many of a kind, runs with n of them; marked `sampled(n, of=PATTERN)`, with n of those
in whose names the pattern finds the same text. The seed chooses which.
"""

from __future__ import annotations

import os
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import pytest

SEED = "TTL_TEST_SEED"
FULL = "TTL_TEST_FULL"  # set by `--full`, for what tests choose themselves
MOST_CASES = 2  # with fewer all are run


def sample_seed() -> int:
    return int(os.environ.get(SEED, "1"))


def is_chosen(name: str, one_in: int) -> bool:
    """Whether a test looks at a part of its work: at one in so many, with `--full` at all."""
    return bool(os.environ.get(FULL)) or is_sampled(name, one_in)


def is_sampled(name: str, one_in: int) -> bool:
    """The same, with `--full` too."""
    return _rank(name) % one_in == 0


def _rank(name: str) -> int:
    return zlib.crc32(f"{sample_seed()} {name}".encode())


def more_combinations(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """The cases that a run without `--full` leaves out."""
    cases: dict[str, list[Any]] = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec"):
            cases[item.nodeid.partition("[")[0]].append(item)
    return {case for group in cases.values() for case in _left_out(group)}


def _left_out(cases: list[Any]) -> list[Any]:
    shuffled = sorted(cases, key=lambda case: _rank(case.nodeid))
    mark = cases[0].get_closest_marker("sampled")
    if mark is not None:
        return _beyond(mark.args[0], shuffled, mark.kwargs.get("of", ""))
    kept = _meeting_every_value(shuffled)
    more = [case for case in shuffled if case not in kept]
    return more[max(0, MOST_CASES - len(kept)) :]


def _meeting_every_value(cases: list[Any]) -> set[Any]:
    """Few cases: those come first that meet many values which none before them did."""
    kept: set[Any] = set()
    seen: set[tuple[int, str]] = set()
    for new in range(len(cases[0].callspec._idlist), 0, -1):
        for case in cases:
            values = set(enumerate(case.callspec._idlist))  # one of each `parametrize`
            if len(values - seen) >= new:
                kept.add(case)
                seen |= values
    return kept


def _beyond(most: int, cases: Iterable[Any], pattern: str) -> list[Any]:
    """All but so many of each group; an empty pattern makes one group."""
    groups: dict[str, list[Any]] = defaultdict(list)
    for case in cases:
        found = re.search(pattern, case.callspec.id)
        assert found is not None, f"{case.nodeid}: no group, {pattern} finds nothing"
        groups[found[0]].append(case)
    return [case for group in groups.values() for case in group[most:]]
