"""What is chosen of many cases, and the seed of it, which stands at the head of every report.

Without `--full` a test with many combinations runs with some of them: every value of each of its
parameters is met, not every value with every other. A test that is marked `sampled(n)`, whose cases
are slow and many of a kind, runs with n of them. The seed chooses which.
"""

from __future__ import annotations

import os
import zlib
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import pytest

SEED = "TTL_TEST_SEED"
MOST_CASES = 4  # with fewer all are run


def sample_seed() -> int:
    return int(os.environ.get(SEED, "1"))


def more_combinations(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """The cases that a run without `--full` leaves out."""
    cases: dict[str, list[Any]] = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec"):
            cases[item.nodeid.partition("[")[0]].append(item)
    return {case for group in cases.values() for case in _left_out(group)}


def _left_out(cases: list[Any]) -> list[Any]:
    shuffled = sorted(cases, key=lambda case: zlib.crc32(f"{sample_seed()} {case.nodeid}".encode()))
    mark = cases[0].get_closest_marker("sampled")
    if mark is not None:
        return shuffled[mark.args[0] :]
    seen: set[tuple[int, str]] = set()
    more = []
    for case in shuffled:
        values = set(enumerate(case.callspec._idlist))  # one of each `parametrize`
        if values <= seen:
            more.append(case)
        seen |= values
    return more[max(0, MOST_CASES - (len(cases) - len(more))) :]
