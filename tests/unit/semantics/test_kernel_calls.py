"""What the native module looks up for calls of kernels is what Python finds."""

from __future__ import annotations

import sys
from types import CodeType
from typing import Any

import pytest

from native_modules import built
from ttl.semantics import kernel_calls
from ttl.semantics.kernel_calls import _place_at, _references, _tile_bounds

ROWS, COLUMNS = 4, 6


class Int(int):
    """Not a plain one: what its methods do is not known."""


# Of each of two dimensions; those in front lie inside.
ITEMS = (
    slice(0, 1), slice(1, 4), 0, 3, slice(0, 6), slice(2, 2), slice(3, 1), slice(-1, 2),
    slice(0, 7), slice(0, 2, 1), slice(None, 2), slice(1, None), slice(0, 2**70),
    slice(-(2**70), 1), slice(0, True), slice(Int(0), 1), -1, 4, 6, 2**63 - 1, 2**70, True, Int(1),
    1.0, None, "1",
)  # fmt: skip
OTHER_ITEMS = (slice(0, 1), 0, (), (slice(0, 1),), (0, 0, 0), [slice(0, 1), slice(0, 1)], None)


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return built("ttl/semantics/kernel_calls.c", tmp_path_factory.mktemp("native"))


@pytest.mark.parametrize("row", ITEMS, ids=repr)
def test_bounds_of_tiles(native: Any, row: Any) -> None:
    for column in ITEMS:
        items = (row, column)
        expected = _tile_bounds(items, ROWS, COLUMNS)
        assert native.tile_bounds(items, ROWS, COLUMNS) == expected


def test_two_plain_slices_or_indices_inside() -> None:
    assert _tile_bounds((slice(1, 4), slice(2, 6)), ROWS, COLUMNS) == ((1, 2), (3, 4))
    assert _tile_bounds((3, 5), ROWS, COLUMNS) == ((3, 5), (1, 1))
    assert _tile_bounds((4, 5), ROWS, COLUMNS) is None
    assert _tile_bounds((slice(0, 1), slice(0, 1)), 0, 0) is None  # not a matrix


@pytest.mark.parametrize("items", OTHER_ITEMS, ids=repr)
def test_other_items_are_left_to_others(native: Any, items: Any) -> None:
    assert _tile_bounds(items, ROWS, COLUMNS) is None
    assert native.tile_bounds(items, ROWS, COLUMNS) is None


def places(place_at: Any) -> list[tuple[CodeType, int]]:
    def inner() -> list[tuple[CodeType, int]]:
        return [place_at(0), place_at(1)]

    return inner()


def test_places(native: Any) -> None:
    own, outer = places(native.place_at)
    assert own[0].co_name == "inner"
    assert outer == (places.__code__, outer[1])
    # The offset of the innermost is another one while it calls a function of Python.
    own_in_python, outer_in_python = places(_place_at)
    assert (own_in_python[0], outer_in_python) == (own[0], outer)


def test_no_frame_so_far_away(native: Any) -> None:
    for place_at in (native.place_at, _place_at):
        with pytest.raises(ValueError, match="deep"):
            place_at(sys.getrecursionlimit())


def test_references(native: Any) -> None:
    for references in (native.references, _references):
        items = [object(), None]
        alone = references(items, 0)
        kept = items[0]
        assert references(items, 0) == alone + 1
        assert references(items, 1) > alone + 1
        del kept
        assert references(items, 0) == alone
        with pytest.raises(IndexError):
            references(items, 2)


def test_one_of_both_is_used() -> None:
    assert kernel_calls.tile_bounds((0, 0), 1, 1) == ((0, 0), (1, 1))
