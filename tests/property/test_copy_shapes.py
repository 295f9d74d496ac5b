"""Which blocks a slice can be copied to, against every way of deleting dimensions."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from ttl.semantics.tensors import Extent, shapes_agree

extent = st.one_of(st.builds(lambda size: (size, False), st.integers(1, 3)), st.just((1, True)))
slices = st.lists(extent, min_size=1, max_size=6)


def what_is_left(dimensions: list[tuple[int, bool]]) -> set[tuple[int, ...]]:
    """The language's rule, word by word: delete any int-indexed ones, then any leading ones."""
    indexed = [i for i, (_, by_index) in enumerate(dimensions) if by_index]
    left = set()
    for count in range(len(indexed) + 1):
        for deleted in combinations(indexed, count):
            left |= leading_ones_deleted(
                tuple(size for i, (size, _) in enumerate(dimensions) if i not in deleted)
            )
    return left


def leading_ones_deleted(shape: tuple[int, ...]) -> set[tuple[int, ...]]:
    shapes = {shape}
    while shape and shape[0] == 1:
        shape = shape[1:]
        shapes.add(shape)
    return shapes


def agree(dimensions: list[tuple[int, bool]], block: tuple[int, ...]) -> bool:
    return shapes_agree([Extent(5, 5 + size, indexed) for size, indexed in dimensions], block)


@given(slices, st.lists(st.integers(1, 3), min_size=1, max_size=6))
@settings(max_examples=500)
def test_any_two_shapes(dimensions: list[tuple[int, bool]], block: list[int]) -> None:
    expected = bool(what_is_left(dimensions) & leading_ones_deleted(tuple(block)))
    assert agree(dimensions, tuple(block)) == expected


@given(slices, st.data())
@settings(max_examples=500)
def test_shapes_that_are_near(dimensions: list[tuple[int, bool]], data: st.DataObject) -> None:
    """Random pairs rarely agree: make the block of the slice, then perhaps change one size."""
    block = list(data.draw(st.sampled_from(sorted(what_is_left(dimensions)))))
    block = [1] * data.draw(st.integers(0, 2)) + block
    change = data.draw(st.sampled_from(["none", "insert", "delete"]))
    position = data.draw(st.integers(0, len(block)))
    if change == "insert":
        block.insert(position, data.draw(st.integers(1, 2)))
    elif change == "delete" and position < len(block):
        del block[position]
    expected = bool(what_is_left(dimensions) & leading_ones_deleted(tuple(block)))
    assert expected or change != "none"
    assert agree(dimensions, tuple(block)) == expected
