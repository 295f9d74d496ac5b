"""Slices in shape units and what a copy may connect."""

from __future__ import annotations

import pytest

from ttl.diagnostics import RuleBroken
from ttl.semantics.layout import ROW_MAJOR_LAYOUT, TILE_LAYOUT
from ttl.semantics.tensors import check_copy_layouts, check_copy_shapes, slice_tensor


class Ragged:
    shape = (3, 65, 32)  # 3 x 3 tiles x 1 tile
    dtype = layout = None


class Rows:
    shape = (3, 65)
    dtype = None
    layout = ROW_MAJOR_LAYOUT


class RealRows:
    """The real ttnn has its own enumeration with the same names."""

    class layout:
        name = "ROW_MAJOR"

    shape = (3, 65)
    dtype = None


def bounds(items: object) -> list[tuple[int, int, bool]]:
    extents = slice_tensor(Ragged(), items).extents
    return [(extent.start, extent.stop, extent.indexed) for extent in extents]


def test_slices_count_tiles_in_the_two_innermost_dimensions() -> None:
    assert bounds((2, slice(1, 3), slice(None))) == [(2, 3, True), (1, 3, False), (0, 1, False)]
    assert slice_tensor(Ragged(), (2, slice(1, 3), 0)).shape == (1, 2, 1)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ((0, 0), "2 indices for a tensor of 3 dimensions"),
        (0, "1 index for a tensor of 3 dimensions"),
        ((3, 0, 0), "slice 3 of dimension 0 of a tensor does not lie in 0:3"),
        ((-1, 0, 0), "slice -1 of dimension 0"),
        ((0, slice(2, 4), 0), "slice 2:4 of dimension 1 of a tensor does not lie in 0:3"),
        ((0, slice(2, 2), 0), "slice 2:2 of dimension 1"),
        ((0, slice(0, 2, 2), 0), "neither an index nor a slice"),
        ((0, "x", 0), "'x' is neither an index nor a slice"),
        ((0, slice(0.5, 2), 0), "neither an index nor a slice"),
    ],
)
def test_slices_outside_the_tensor(items: object, message: str) -> None:
    with pytest.raises(RuleBroken, match=message) as caught:
        slice_tensor(Ragged(), items)
    assert caught.value.code.slug == "slice-out-of-range"


@pytest.mark.parametrize(
    ("items", "block"),
    [
        ((0, slice(0, 2), slice(0, 1)), (2, 1)),
        ((0, slice(0, 2), slice(0, 1)), (1, 2, 1)),
        ((slice(0, 2), 1, slice(0, 1)), (2, 1)),
        ((slice(0, 2), 1, slice(0, 1)), (2, 1, 1)),
        ((0, 0, 0), (1, 1)),
    ],
)
def test_copies_that_fit(items: object, block: tuple[int, ...]) -> None:
    check_copy_shapes(slice_tensor(Ragged(), items), block)


@pytest.mark.parametrize(
    ("items", "block"),
    [
        ((0, slice(0, 2), slice(0, 1)), (1, 2)),
        ((slice(0, 2), slice(0, 1), slice(0, 1)), (2, 1)),  # the middle 1 was not an index
        ((0, 0, 0), (2, 1)),
    ],
)
def test_copies_that_do_not_fit(items: object, block: tuple[int, ...]) -> None:
    with pytest.raises(RuleBroken) as caught:
        check_copy_shapes(slice_tensor(Ragged(), items), block)
    assert caught.value.code.slug == "shape-mismatch"


@pytest.mark.parametrize("tensor", [Rows(), RealRows()])
def test_slices_of_row_major_tensors_count_elements(tensor: Rows) -> None:
    assert slice_tensor(tensor, (2, slice(3, None))).shape == (1, 62)
    with pytest.raises(RuleBroken, match=r"slice 3 of dimension 0 .* 0:3 \(in elements\)"):
        slice_tensor(tensor, (3, 0))
    with pytest.raises(RuleBroken, match=r"slice 0:66 of dimension 1 .* 0:65 \(in elements\)"):
        slice_tensor(tensor, (0, slice(0, 66)))
    with pytest.raises(RuleBroken, match="nor a slice of whole elements"):
        slice_tensor(tensor, (0, slice(0, 6, 2)))


@pytest.mark.parametrize(
    ("items", "block", "fits"),
    [
        ((slice(0, 2), 1, 0), (2,), True),
        ((slice(0, 2), 1, 0), (2, 1), True),  # either of the indices, or both, may be deleted
        ((slice(0, 2), 1, 0), (1, 2, 1, 1), True),
        ((slice(0, 2), 1, 0), (2, 1, 1, 1), False),
        ((slice(0, 2), slice(0, 1), 0), (2,), False),  # 0:1 is no index
    ],
)
def test_any_of_the_indices_may_be_deleted(
    items: object, block: tuple[int, ...], fits: bool
) -> None:
    part = slice_tensor(Ragged(), items)
    if fits:
        check_copy_shapes(part, block)
    else:
        with pytest.raises(RuleBroken):
            check_copy_shapes(part, block)


def test_layouts_of_a_copy_agree() -> None:
    part = slice_tensor(Rows(), (0, slice(None)))
    check_copy_layouts(part, ROW_MAJOR_LAYOUT)
    with pytest.raises(RuleBroken, match="ROW_MAJOR layout with a block in TILE layout") as caught:
        check_copy_layouts(part, TILE_LAYOUT)
    assert caught.value.code.code == "TTL2007"
