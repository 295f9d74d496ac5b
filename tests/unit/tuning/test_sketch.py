"""Few numbers that stand for a tensor: rounding is forgiven, wrong parts are not."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from timed_operations import zeros
from ttl.studio.tuning.sketch import MOST_CELLS, fill_uniform, find_difference, sketch

TOLERANCE = 0.05
RANDOM = np.random.default_rng(1)
LARGE = RANDOM.uniform(-1, 1, (1024, 512)).astype(np.float32)
SMALL = LARGE[:32, :32]


def found(one: Any, other: Any, tolerance: float = TOLERANCE) -> str:
    return find_difference([sketch("y", one)], [sketch("y", other)], tolerance)


@pytest.mark.parametrize("values", [LARGE, SMALL])
def test_rounding_and_order_of_sums_are_forgiven(values: Any) -> None:
    assert found(values, values.astype(ml_dtypes.bfloat16)) == ""
    assert found(values, values * np.float32(1.01)) == ""
    assert found(0 * values, 0 * values) == ""


@pytest.mark.parametrize("values", [LARGE, SMALL])
@pytest.mark.parametrize("seed", range(5))
def test_a_tile_that_is_wrong_is_seen_wherever_it_is(values: Any, seed: int) -> None:
    rows, columns = (size // 32 for size in values.shape)
    row, column = np.random.default_rng(seed).integers((rows, columns)) * 32
    for change in (lambda tile: 0 * tile, lambda tile: -tile, lambda tile: tile.T):
        wrong = values.copy()
        part = wrong[row : row + 32, column : column + 32]
        part[...] = change(part)
        assert "differs from that of the first in" in found(values, wrong)


def test_a_small_part_off_by_more_than_the_tolerance_is_seen() -> None:
    assert found(SMALL, SMALL * np.float32(1.2)) != ""
    assert found(SMALL, SMALL * np.float32(1.2), tolerance=0.5) == ""


def test_what_is_not_finite_is_counted() -> None:
    wrong = SMALL.copy()
    wrong[3, 3] = np.nan
    assert found(wrong, wrong) == ""
    assert found(SMALL, wrong) == "`y` has 1 infinities and NaNs, with the first 0"


def test_other_tensors_and_shapes_differ() -> None:
    one, other = [sketch("y", SMALL)], [sketch("z", SMALL)]
    assert find_difference(one, other, TOLERANCE) == "it writes `z`, the first writes `y`"
    assert find_difference(one, [], TOLERANCE) == "it writes no tensor, the first writes `y`"
    assert found(SMALL, SMALL.reshape(64, 16)) == "`y` is 64x16, with the first 32x32"


def test_a_sketch_is_small() -> None:
    assert len(sketch("y", LARGE)["cells"]) <= 2 * 4 * MOST_CELLS * 4 / 3 + 4


def test_only_tensors_that_say_nothing_get_numbers() -> None:
    storage = zeros(32, 64).storage
    fill_uniform(storage, 7)
    numbers = storage.logical.copy()
    assert len(np.unique(numbers.astype(np.float32))) > 100
    fill_uniform(storage, 8)
    assert np.array_equal(storage.logical, numbers)
