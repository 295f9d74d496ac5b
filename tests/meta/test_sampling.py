"""What is run of many cases without `--full`."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from sampling import FULL, MOST_CASES, SEED, is_chosen, more_combinations


class Case:
    def __init__(self, *values: str, sampled: int | None = None, **options: str) -> None:
        self.callspec = SimpleNamespace(_idlist=values, id="-".join(values))
        self.nodeid = f"test_it.py::test[{self.callspec.id}]"
        self.mark = SimpleNamespace(args=(sampled,), kwargs=options) if sampled else None

    def get_closest_marker(self, name: str) -> Any:
        return self.mark


def run_of(cases: list[Any]) -> list[Any]:
    left_out = more_combinations(cases)
    return [case for case in cases if case not in left_out]


GRID = [Case(*values) for values in product("abcdefghijklmnop", "12345")]


def test_every_value_is_met() -> None:
    chosen = run_of(GRID)
    assert len(chosen) == 16, "as many as the longest list of values"
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


def test_a_mark_tells_how_many_of_each_group(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [Case(*values, sampled=2, of="^[a-d]") for values in product("abcd", "123456")]
    chosen = run_of(cases)
    assert sorted(case.callspec._idlist[0] for case in chosen) == [*"aabbccdd"]
    monkeypatch.setenv(SEED, "2")
    assert run_of(cases) != chosen
    with pytest.raises(AssertionError, match=r"test\[e\]: no group"):
        run_of([Case("e", sampled=2, of="^[a-d]")])


def test_a_part_of_the_work_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen() -> list[int]:
        return [number for number in range(200) if is_chosen(str(number), one_in=4)]

    monkeypatch.setenv(FULL, "")
    first = chosen()
    assert 25 < len(first) < 75
    monkeypatch.setenv(SEED, "2")
    assert 25 < len(chosen()) < 75 and chosen() != first
    monkeypatch.setenv(FULL, "1")
    assert len(chosen()) == 200
