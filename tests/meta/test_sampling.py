"""What is run of many cases without `--full`."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from sampling import MOST_CASES, SEED, more_combinations


class Case:
    def __init__(self, *values: str, sampled: int | None = None) -> None:
        self.nodeid = f"test_it.py::test[{'-'.join(values)}]"
        self.callspec = SimpleNamespace(_idlist=values)
        self.sampled = sampled

    def get_closest_marker(self, name: str) -> Any:
        return SimpleNamespace(args=(self.sampled,)) if self.sampled is not None else None


def run_of(cases: list[Any]) -> list[Any]:
    left_out = more_combinations(cases)
    return [case for case in cases if case not in left_out]


GRID = [Case(*values) for values in product("abcdefghijklmnop", "12345")]


def test_every_value_is_met() -> None:
    chosen = run_of(GRID)
    assert len(chosen) < len(GRID) / 2
    for position in (0, 1):
        values = {case.callspec._idlist[position] for case in chosen}
        assert values == {case.callspec._idlist[position] for case in GRID}


def test_few_combinations_and_lists_of_cases_are_whole() -> None:
    few = GRID[:MOST_CASES]
    one_list = [Case(str(number)) for number in range(100)]
    assert run_of(few) == few
    assert run_of(one_list) == one_list


def test_a_mark_tells_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [Case(str(number), sampled=5) for number in range(100)]
    chosen = run_of(cases)
    assert len(chosen) == 5
    assert run_of(cases) == chosen
    monkeypatch.setenv(SEED, "2")
    assert run_of(cases) != chosen
