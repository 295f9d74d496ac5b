"""A value that a loop carries is passed on once, though several of its blocks are popped."""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from ttl import ttnn

DEVICE = ttnn.open_device(device_id=0)


@ttl.operation(grid=(1, 1))
def last_sum(a, b, y):
    a_dfb, left_dfb, right_dfb, y_dfb = (
        ttl.make_dataflow_buffer_like(each, shape=(1, 1), block_count=2) for each in (a, b, b, y)
    )
    with a_dfb.reserve() as a_blk:
        ttl.copy(a[0, 0], a_blk).wait()
    with a_dfb.wait() as a_blk:
        value = a_blk * 1
        for n in range(2):
            with left_dfb.reserve() as left, right_dfb.reserve() as right:
                ttl.copy(b[n, 0], left).wait()
                ttl.copy(b[n, 1], right).wait()
            with left_dfb.wait() as left, right_dfb.wait() as right:
                value = a_blk @ left + a_blk @ right
        with y_dfb.reserve() as y_blk:
            y_blk.store(value)
    with y_dfb.wait() as y_blk:
        ttl.copy(y_blk, y[0, 0]).wait()


@pytest.mark.parametrize("backend", ["sim", "host"])
def test_the_value_after_the_loop(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was computed once more after the pop of the first block, from a block that was gone."""
    monkeypatch.setenv("TTL_BACKEND", backend)
    generator = np.random.default_rng(1)
    a, b = (
        ttl.from_numpy(generator.integers(-4, 5, size), dtype=ttnn.float32, device=DEVICE)
        for size in ((32, 32), (64, 64))
    )
    y = ttnn.zeros_like(a)
    last_sum(a, b, y)
    left, right = np.split(ttl.to_numpy(b)[32:], 2, axis=1)
    np.testing.assert_array_equal(ttl.to_numpy(y), ttl.to_numpy(a) @ (left + right))
