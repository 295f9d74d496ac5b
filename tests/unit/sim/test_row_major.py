"""Row-major buffers and slices, and tensors of many dimensions and ragged sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.diagnostics import UsageError

DEVICE = ttnn.open_device(device_id=0)

ROWS = ttnn.ROW_MAJOR_LAYOUT


def copier(block, source, destination):
    """Copies source(a) to destination(y) through a block of this shape."""

    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=block)

        @ttl.datamovement()
        def read():
            with dfb.reserve() as blk:
                assert (blk.shape, blk.layout) == (block, a.layout)
                ttl.copy(source(a), blk).wait()

        @ttl.datamovement()
        def write():
            with dfb.wait() as blk:
                ttl.copy(blk, destination(y)).wait()

    return operation


def numbered(*shape: int, layout: Any = ROWS, dtype: Any = ttnn.int32) -> ttnn.Tensor:
    values = np.arange(np.prod(shape)).reshape(shape)
    return ttl.from_numpy(values, dtype=dtype, layout=layout, device=DEVICE)


@pytest.mark.parametrize(
    ("shape", "items", "block"),
    [
        ((7,), (slice(2, 6),), (4,)),
        ((7,), (3,), (1,)),
        ((5, 9), (slice(None), slice(1, 8)), (5, 7)),
        ((5, 9), (4, slice(None)), (9,)),
        ((5, 9), (slice(1, 3), 8), (2,)),
        ((5, 9), (slice(1, 3), 8), (2, 1)),
        ((2, 3, 4, 5), (slice(None), 2, slice(1, None), slice(None, 2)), (2, 3, 2)),
        ((2, 3, 4, 5), (1, slice(0, 2), 3, slice(0, 5)), (2, 1, 5)),
        ((2, 3, 4, 5), (1, 2, 3, 4), (1, 1)),
    ],
)
def test_slices_of_any_rank(simulate, shape, items, block) -> None:
    a = numbered(*shape)
    y = ttnn.zeros_like(a)
    simulate(copier(block, lambda t: t[items], lambda t: t[items]), a, y)
    expected = np.zeros(shape, np.int32)
    expected[items] = ttl.to_numpy(a)[items]
    assert np.array_equal(ttl.to_numpy(y), expected)


def test_another_shape_on_the_way_out(simulate) -> None:
    """The elements keep their order: 2 x 3 rows by index become rows of one matrix."""
    a, y = numbered(2, 3, 4), ttnn.zeros((9, 2, 4), ttnn.int32, ROWS, device=DEVICE)
    simulate(copier((2, 4), lambda t: t[:, 1, :], lambda t: t[5, :, :]), a, y)
    assert np.array_equal(ttl.to_numpy(y)[5], ttl.to_numpy(a)[:, 1, :])
    assert np.count_nonzero(ttl.to_numpy(y)) == 8


@pytest.mark.parametrize("shape", [(33, 40), (3, 33, 40), (2, 3, 5, 70)])
def test_ragged_tensors_of_tiles_in_any_rank(simulate, shape) -> None:
    a = numbered(*shape, layout=ttnn.TILE_LAYOUT)
    y = ttnn.empty_like(a)
    *leading, rows, columns = shape
    block = (*leading, -(-rows // 32), -(-columns // 32))
    whole = (slice(None),) * len(shape)
    simulate(copier(block, lambda t: t[whole], lambda t: t[whole]), a, y)
    assert np.array_equal(ttl.to_numpy(y), ttl.to_numpy(a))
    assert y.storage.elements.sum() == ttl.to_numpy(a).sum()


@pytest.mark.parametrize(
    ("items", "block", "code"),
    [
        ((slice(0, 10), 0), (10,), "slice-out-of-range"),
        ((0, slice(3, 3)), (1,), "slice-out-of-range"),
        ((-1, 0), (1,), "slice-out-of-range"),
        ((0,), (1,), "slice-out-of-range"),
        ((slice(0, 2), slice(0, 3)), (3, 2), "shape-mismatch"),
        ((slice(0, 2), slice(0, 1)), (2,), "shape-mismatch"),
    ],
)
def test_bounds_and_shapes_are_exact(report, items, block, code) -> None:
    operation = copier(block, lambda t: t[items], lambda t: t[items])
    found = report(operation, numbered(5, 9), numbered(5, 9))
    assert found.code == code
    assert "in tiles" not in found.text


@pytest.mark.parametrize("rows_in", [True, False])
def test_layouts_must_agree(report, rows_in) -> None:
    rows, tiles = numbered(2, 2), numbered(2, 2, layout=ttnn.TILE_LAYOUT)
    a, y = (rows, tiles) if rows_in else (tiles, rows)
    found = report(copier((1, 1), lambda t: t[0, 0], lambda t: t[0:1, 0:1]), a, y)
    assert found.code == "layout-mismatch"
    assert found.primary == "ttl.copy(blk, destination(y))"


def computing(meaning):
    @ttl.operation(grid=(1, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(4,))
        out = ttl.make_dataflow_buffer_like(a, shape=(4,))

        @ttl.datamovement()
        def read():
            with dfb.reserve() as blk:
                ttl.copy(a[0:4], blk).wait()

        @ttl.compute()
        def compute():
            with dfb.wait() as x, out.reserve() as y:
                meaning(x, y)

    return operation


@pytest.mark.parametrize(
    "meaning",
    [
        lambda x, y: y.store(x + x),
        lambda x, y: y.store(x),
        lambda x, y: y.store(ttl.math.exp(x)),
        lambda x, y: y.store(ttl.math.fill(1)),
    ],
)
def test_row_major_blocks_are_not_computed_with(report, meaning) -> None:
    found = report(computing(meaning), ttnn.zeros((8,), ttnn.float32, ROWS, device=DEVICE))
    assert found.code == "layout-mismatch"
    assert "ttnn.to_layout(tensor, ttnn.TILE_LAYOUT)" in found.text


def declaring(shape):
    @ttl.operation(grid=(1, 1))
    def operation(a):
        ttl.make_dataflow_buffer_like(a, shape=shape)

        @ttl.datamovement()
        def kernel():
            pass

    return operation


def test_l1_is_counted_in_elements(simulate, report) -> None:
    budget = 1432 * 1024
    tensor = ttnn.zeros((4,), ttnn.uint16, ROWS, device=DEVICE)
    simulate(declaring((budget // 4,)), tensor)  # two blocks of two bytes an element
    found = report(declaring((1, budget // 4 + 1)), tensor)
    assert found.code == "l1-budget"
    assert f"need {budget + 4} bytes" in found.text


@pytest.mark.parametrize(
    ("shape", "layout", "message"),
    [
        ((), ROWS, "a block has one or more positive sizes"),
        ((3, 0), ROWS, "a block has one or more positive sizes"),
        ((0,), ttnn.TILE_LAYOUT, "a block has one or more positive sizes"),
    ],
)
def test_shapes_of_blocks(simulate, shape, layout, message) -> None:
    with pytest.raises(UsageError, match=message):
        simulate(declaring(shape), ttnn.zeros((4, 4), layout=layout, device=DEVICE))
