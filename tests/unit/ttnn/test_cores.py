"""Coordinates, ranges and sets of cores, and work divided among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ttl import ttnn
from ttl.diagnostics import UsageError

SIZES = st.integers(1, 9)


def rectangle(*corners: int) -> ttnn.CoreRange:
    return ttnn.CoreRange(ttnn.CoreCoord(*corners[:2]), ttnn.CoreCoord(*corners[2:]))


def cores_of(found: ttnn.CoreRangeSet) -> set[ttnn.CoreCoord]:
    return set(ttnn.corerange_to_cores(found))


def test_a_range_includes_both_corners() -> None:
    found = rectangle(1, 2, 3, 3)
    assert found.grid_size() == (3, 2)
    assert found.contains((3, 3)) and not found.contains(rectangle(3, 3, 4, 3))
    cores = ttnn.corerange_to_cores(ttnn.CoreRangeSet([found]), row_wise=True)
    assert cores[:4] == [(1, 2), (2, 2), (3, 2), (1, 3)]


def test_sets_are_equal_if_they_have_the_same_ranges() -> None:
    whole = ttnn.CoreRangeSet({rectangle(0, 0, 3, 1)})
    halves = ttnn.CoreRangeSet([rectangle(2, 0, 3, 1), rectangle(0, 0, 1, 1)])
    assert whole == ttnn.CoreRangeSet([rectangle(0, 0, 3, 1)]) and whole != halves
    assert halves.merge(whole) == whole and halves.size() == 2
    assert whole.subtract(ttnn.CoreRangeSet([rectangle(0, 0, 2, 0)])) == ttnn.CoreRangeSet(
        [rectangle(3, 0, 3, 0), rectangle(0, 1, 3, 1)]
    )
    assert halves.num_cores() == 8 and halves.bounding_box() == rectangle(0, 0, 3, 1)
    assert halves.contains((3, 1)) and not halves.contains((4, 0)) and halves.contains(whole)


@pytest.mark.parametrize(
    ("count", "row_wise", "corners"),
    [
        (3, True, [((0, 0), (2, 0))]),
        (3, False, [((0, 0), (0, 2))]),
        (10, True, [((0, 0), (3, 1)), ((0, 2), (1, 2))]),
        (10, False, [((0, 0), (1, 3)), ((2, 0), (2, 1))]),
        (16, True, [((0, 0), (3, 3))]),
    ],
)
def test_the_first_cores_of_a_grid(count: int, row_wise: bool, corners: list[Any]) -> None:
    found = ttnn.num_cores_to_corerangeset(count, ttnn.CoreCoord(4, 4), row_wise)
    assert found == ttnn.CoreRangeSet([ttnn.CoreRange(*each) for each in corners])


@given(columns=SIZES, rows=SIZES, units=st.integers(0, 200), row_wise=st.booleans())
def test_work_is_divided_among_as_many_cores_as_there_are(
    columns: int, rows: int, units: int, row_wise: bool
) -> None:
    grid = ttnn.CoreCoord(columns, rows)
    count, everybody, more, less, larger, smaller = ttnn.split_work_to_cores(grid, units, row_wise)
    assert count == min(units, columns * rows) == everybody.num_cores()
    assert more.num_cores() * larger + less.num_cores() * smaller == units
    busier, others, all_of_them = map(cores_of, (more, less, everybody))
    assert busier | others == all_of_them and not busier & others
    assert less.empty() or larger == smaller + 1
    if count:
        assert everybody == ttnn.num_cores_to_corerangeset(count, grid, row_wise)


def test_work_is_divided_among_the_cores_of_a_set() -> None:
    cores = ttnn.CoreRangeSet([rectangle(2, 1, 3, 2)])
    count, _, more, less, larger, smaller = ttnn.split_work_to_cores(cores, 6, row_wise=True)
    assert (count, larger, smaller) == (4, 2, 1)
    assert (repr(more), repr(less)) == ("{[2-1 - 3-1]}", "{[2-2 - 3-2]}")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rectangle(2, 0, 1, 0), "from 2-0 to 1-0 is empty"),
        (lambda: ttnn.CoreRange((0,), (1, 1)), "not a coordinate of a core"),
        (lambda: ttnn.CoreRangeSet([(0, 1)]), "not a set of core ranges"),
        (lambda: ttnn.CoreRangeSet(rectangle(0, 0, 1, 1)), "not a set of core ranges"),
        (lambda: ttnn.CoreCoord(-1, 0), "not a core"),
        (lambda: ttnn.CoreRangeSet(5), "not a set of core ranges"),
        (lambda: ttnn.CoreRangeSet([rectangle(0, 0, 2, 2), rectangle(2, 2, 3, 3)]), "overlap"),
        (lambda: ttnn.CoreRangeSet().bounding_box(), "no bounding box"),
        (lambda: ttnn.CoreGrid(y=0, x=2), "has no cores"),
        (lambda: ttnn.num_cores_to_corerangeset(65, (8, 8)), "a grid of 8-8 has 64 cores"),
        (lambda: ttnn.num_cores_to_corerangeset(2, "8x8"), "not a coordinate"),
        (lambda: ttnn.split_work_to_cores((8, 8), -1), "units_to_divide=-1: not a number of"),
    ],
)
def test_what_is_no_core_points_at_the_call(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        make()
    primary = caught.value.diagnostics[0].primary
    assert primary is not None and primary.span.file == __file__
