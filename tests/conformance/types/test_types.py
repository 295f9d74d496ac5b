"""The names that annotations use, and the geometry of a tile."""

from __future__ import annotations

from typing import Annotated, get_args, get_origin

import pytest

import ttl


@pytest.mark.rule("annotated-ints")
@pytest.mark.parametrize("name", ["PositiveInt", "NaturalInt", "Size", "Index", "Count"])
def test_sizes_and_indices_are_annotated_ints(name):
    alias = getattr(ttl, name)
    assert get_origin(alias) is Annotated and get_args(alias)[0] is int


@pytest.mark.rule("shape-type")
def test_a_shape_is_a_size_or_a_tuple_of_sizes():
    assert set(get_args(ttl.Shape)) == {ttl.Size, tuple[ttl.Size, ...]}


@pytest.mark.rule("node-types")
def test_coordinates_and_ranges():
    assert set(get_args(ttl.NodeCoord)) == {ttl.Index, tuple[ttl.Index, ...]}
    (items, rest) = get_args(ttl.NodeRange)
    assert rest is ... and set(get_args(items)) == {ttl.Index, slice}


@pytest.mark.rule("tile-shape")
def test_a_tile_has_32_by_32_elements():
    assert ttl.TILE_SHAPE == (32, 32)
    assert ttl.TILE_SIZE == 32
