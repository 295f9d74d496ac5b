"""Products by the native module that wheels have: the same numbers as without it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ttl
from native_modules import arithmetic
from ttl import ttnn
from ttl.sim import expressions
from ttl.sim.place import IS_COMPILED

DEVICE = ttnn.open_device(device_id=0)
Factor = tuple[Callable[..., Any], Callable[..., Any]]
# A factor of 2x2 tiles, made of blocks (a whole one, a row, a column, a tile) or of arrays.
FACTORS: dict[str, Factor] = {
    "whole": (lambda a, b, c, d: a, lambda a, b, c, d: a),
    "value": (lambda a, b, c, d: a + 1, lambda a, b, c, d: a + 1),
    "transposed": (lambda a, b, c, d: ttl.math.transpose(a), lambda a, b, c, d: a.T),
    "rows alike": (
        lambda a, b, c, d: ttl.math.broadcast(b, dims=[0], shape=(2, 2)),
        lambda a, b, c, d: b[:1] + 0 * a,
    ),
    "columns alike": (
        lambda a, b, c, d: ttl.math.broadcast(c, dims=[1], shape=(2, 2)),
        lambda a, b, c, d: c[:, :1] + 0 * a,
    ),
    "all alike": (
        lambda a, b, c, d: ttl.math.broadcast(d, dims=[0, 1], shape=(2, 2)),
        lambda a, b, c, d: d[0, 0] + 0 * a,
    ),
}
PAIRS = list(product(FACTORS.values(), repeat=2))
SHAPES = ((2, 2), (1, 2), (2, 1), (1, 1))


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return arithmetic(tmp_path_factory.mktemp("native"))


def numbers(rows: int, columns: int) -> Any:
    """All sums of products of these are exact."""
    random = np.random.default_rng(2 * rows + columns)
    return random.integers(-4, 5, (32 * rows, 32 * columns)).astype(np.float32)


def expected() -> Any:
    arrays = [numbers(*shape) for shape in SHAPES]
    found = [left[1](*arrays) @ right[1](*arrays) for left, right in PAIRS]
    return np.array(found).astype(ml_dtypes.bfloat16).astype(np.float32)


def products(fp32: bool) -> Any:
    """Of all pairs of factors, one block each."""
    pairs = [(left[0], right[0]) for left, right in PAIRS]

    @ttl.operation(grid=(1, 1), fp32_dest_acc_en=fp32)
    def operation(whole, row, column, one, y):
        tensors = (whole, row, column, one)
        buffers = [
            ttl.make_dataflow_buffer_like(each, shape=shape, block_count=1)
            for each, shape in zip(tensors, SHAPES, strict=True)
        ]
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(2, 2))

        @ttl.compute()
        def compute():
            first, second, third, fourth = buffers
            with first.wait() as a, second.wait() as b, third.wait() as c, fourth.wait() as d:
                for left, right in pairs:
                    with y_dfb.reserve() as block:
                        block.store(left(a, b, c, d) @ right(a, b, c, d))

        @ttl.datamovement()
        def read():
            for each, buffer, (rows, columns) in zip(tensors, buffers, SHAPES, strict=True):
                with buffer.reserve() as block:
                    ttl.copy(each[0:rows, 0:columns], block).wait()

        @ttl.datamovement()
        def write():
            for number in range(len(pairs)):
                with y_dfb.wait() as block:
                    ttl.copy(block, y[2 * number : 2 * number + 2, 0:2]).wait()

    options = {"dtype": ttnn.bfloat16, "layout": ttnn.TILE_LAYOUT, "device": DEVICE}
    y = ttnn.zeros((64 * len(PAIRS), 64), **options)
    operation(*(ttl.from_numpy(numbers(*shape), **options) for shape in SHAPES), y)
    return ttl.to_numpy(y).astype(np.float32).reshape(len(PAIRS), 64, 64)


@pytest.mark.parametrize("fp32", [True, False])
def test_products_of_blocks_and_of_what_is_equal_along_a_dimension(
    native: Any, fp32: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a wheel, the simulator asks the native module by itself."""
    calls = [IS_COMPILED]

    def counted(*arguments: Any) -> Any:
        made = native.binary(*arguments)
        calls.append(made is not None)
        return made

    if not IS_COMPILED:
        assert np.array_equal(products(fp32), expected())
        monkeypatch.setattr(expressions, "compute_at_once", counted)
    assert np.array_equal(products(fp32), expected())
    assert any(calls)
