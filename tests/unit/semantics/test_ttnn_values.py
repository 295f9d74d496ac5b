"""Objects of ttnn as plain values; the real ttnn's own are in tests/device/programs."""

from __future__ import annotations

from enum import Enum
from types import SimpleNamespace
from typing import Any

import pytest

from ttl import ttnn
from ttl.semantics.dtypes import DTYPES, bfloat16, float32
from ttl.semantics.layout import ROW_MAJOR_LAYOUT, TILE_LAYOUT
from ttl.semantics.ttnn_values import as_grid, as_place, as_sizes, asks_ttnn, shard_shape_of

DataType = Enum("DataType", ["FLOAT32", "BFLOAT16", "FP8_E4M3"])
Layout = Enum("Layout", ["ROW_MAJOR", "TILE"])


def corners(first: Any, last: Any) -> Any:
    return ttnn.CoreRange(ttnn.CoreCoord(*first), ttnn.CoreCoord(*last))


def test_sizes() -> None:
    assert as_sizes(ttnn.Shape([2, 3])) == as_sizes([2, 3]) == as_sizes((2, 3)) == (2, 3)
    assert as_sizes(2) is as_sizes("22") is as_sizes(None) is None


@pytest.mark.parametrize(
    ("given", "grid"),
    [
        ((2, 3), (2, 3)),
        (ttnn.CoreCoord(2, 3), (2, 3)),
        (ttnn.CoreGrid(x=2, y=3), (2, 3)),
        (corners((0, 0), (1, 2)), (2, 3)),
        (ttnn.CoreRangeSet([corners((0, 0), (1, 2))]), (2, 3)),
        ("auto", "auto"),
    ],
)
def test_grids(given: Any, grid: Any) -> None:
    assert as_grid(given) == grid


def test_cores_that_are_no_grid_stay_what_they_are() -> None:
    two = ttnn.CoreRangeSet([corners((0, 0), (0, 0)), corners((2, 0), (2, 0))])
    for cores in (corners((1, 0), (2, 2)), two):
        assert as_grid(cores) is cores


def test_places() -> None:
    assert as_place(ttnn.CoreCoord(1, 2)) == (1, 2)
    assert as_place(corners((1, 0), (2, 3))) == (slice(1, 3), slice(0, 4))
    assert as_place(3) == 3


def test_shards() -> None:
    assert shard_shape_of(SimpleNamespace(shape=[32, 64])) == (32, 64)
    assert shard_shape_of(SimpleNamespace(shard_shape=ttnn.Shape([1, 32, 64]))) == (1, 32, 64)


def test_element_types_compare_with_those_of_the_real_ttnn() -> None:
    real = DataType.BFLOAT16
    assert bfloat16 == real and real == bfloat16
    assert bfloat16 != DataType.FLOAT32 and float32 != DataType.FP8_E4M3
    assert {DataType.FLOAT32: 1}[float32] == {float32: 1}[DataType.FLOAT32] == 1
    assert len({*DTYPES.values()}) == len(DTYPES) and float32 != "float32"


def test_layouts_compare_with_those_of_the_real_ttnn() -> None:
    real = Layout.ROW_MAJOR
    assert TILE_LAYOUT == Layout.TILE and real == ROW_MAJOR_LAYOUT
    assert TILE_LAYOUT != Layout.ROW_MAJOR and TILE_LAYOUT != ROW_MAJOR_LAYOUT
    assert {Layout.TILE: 1}[TILE_LAYOUT] == 1 and TILE_LAYOUT != "TILE"


def test_questions_that_kernels_may_ask() -> None:
    tensor = ttnn.zeros((32, 32))
    assert asks_ttnn(tensor.memory_config) and asks_ttnn(tensor.element_size)
    assert asks_ttnn(ttnn.Shape) and asks_ttnn(ttnn.CoreRangeSet([corners((0, 0), (1, 1))]).ranges)
    assert not asks_ttnn(tensor.reshape) and not asks_ttnn(ttnn.add) and not asks_ttnn(print)
