"""Reads ahead of the barrier and writes past it: the results are those of the simulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ttl
from differential.moves import distinct_tiles
from ttl import ttnn

DEVICE = ttnn.open_device(device_id=0)
TILES, HALF = 7, 3


def make_rows(block_count: int, stop: int, held: int, first: int = 0) -> Any:
    """Tiles of two rows, added; the consumer holds some blocks of the first before it goes on."""

    @ttl.operation(grid=(1, 1))
    def rows(a, y):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=block_count)
        b_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=max(2, held))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)

        @ttl.datamovement()
        def read():
            for i in range(first, stop):
                with a_dfb.reserve() as left, b_dfb.reserve() as right:
                    copies = [ttl.copy(a[0, i], left), ttl.copy(a[1, i], right)]
                    for copy in copies:
                        copy.wait()

        @ttl.compute()
        def compute():
            for _ in range((stop - first) // held):
                lefts = [a_dfb.wait() for _ in range(held)]
                for left in lefts:
                    with b_dfb.wait() as right, y_dfb.reserve() as result:
                        result.store(left + right)
                for left in lefts:
                    left.pop()

        @ttl.datamovement()
        def write():
            for i in range(first, stop):
                with y_dfb.wait() as result:
                    ttl.copy(result, y[0, i]).wait()

    return rows


def outcome(operation: Any, backend: str, seed: int | None, monkeypatch: Any) -> np.ndarray:
    monkeypatch.setenv("TTL_BACKEND", backend)
    if seed is not None:
        monkeypatch.setenv("TTL_SEED", str(seed))
    a = ttl.from_numpy(distinct_tiles(2, TILES), dtype=ttnn.bfloat16, device=DEVICE)
    y = ttnn.zeros((32, 32 * TILES), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    operation(a, y)
    return ttl.to_numpy(y)


@pytest.mark.parametrize(
    ("block_count", "first", "stop", "held"),
    [(2, 0, 7, 1), (3, 0, 7, 1), (2, 1, 7, 2), (4, 1, 7, 2), (6, 0, 6, 3), (2, 0, 1, 1)],
)
def test_reads_go_ahead_where_there_is_room(
    block_count: int, first: int, stop: int, held: int, monkeypatch: Any
) -> None:
    operation = make_rows(block_count, stop, held, first)
    expected = outcome(operation, "sim", None, monkeypatch)
    numbers = distinct_tiles(2, TILES)[:, 32 * first : 32 * stop]
    assert np.array_equal(expected[:, 32 * first : 32 * stop], numbers[:32] + numbers[32:])
    for seed in (None, 1, 2, 3):
        assert np.array_equal(outcome(operation, "host", seed, monkeypatch), expected)


@ttl.operation(grid=(1, 1))
def as_often_as_it_says(times, a, y):
    times_dfb = ttl.make_dataflow_buffer_like(times, shape=(1, 1), block_count=2)
    dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=3)

    @ttl.datamovement()
    def read():
        with times_dfb.reserve() as block:
            ttl.copy(times[0, 0], block).wait()
            count = int(ttl.raw_element_read(block, 0, 0))
        for i in range(count):
            with dfb.reserve() as block:
                ttl.copy(a[0, i], block).wait()

    @ttl.datamovement()
    def write():
        with times_dfb.wait() as block:
            count = int(ttl.raw_element_read(block, 0, 0))
        for i in range(count):
            with dfb.wait() as block:
                ttl.copy(block, y[0, i]).wait()


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_a_loop_may_run_any_number_of_times(count: int, monkeypatch: Any) -> None:
    results = []
    for backend in ("sim", "host"):
        monkeypatch.setenv("TTL_BACKEND", backend)
        full = np.full((32, 32), count, np.float32)
        times = ttl.from_numpy(full, dtype=ttnn.float32, device=DEVICE)
        a = ttl.from_numpy(distinct_tiles(1, TILES), dtype=ttnn.float32, device=DEVICE)
        y = ttnn.zeros((32, 32 * TILES), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
        as_often_as_it_says(times, a, y)
        results.append(ttl.to_numpy(y))
    assert np.array_equal(*results)
    assert np.array_equal(results[0][0, ::32], [*range(1, count + 1), *[0] * (TILES - count)])


@ttl.operation(grid=(1, 1))
def through_the_tensor(a, y):
    """Each tile is written, then read by the other kernel, which waits for a signal."""
    dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
    again_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
    is_written = ttl.Semaphore(initial=0)

    @ttl.datamovement()
    def read():
        for i in range(HALF):
            with dfb.reserve() as block:
                ttl.copy(a[0, i], block).wait()
            with dfb.wait() as block:
                ttl.copy(block, y[0, i]).wait()
            is_written.set(i + 1)

    @ttl.datamovement()
    def write():
        for i in range(HALF):
            is_written.wait_ge(i + 1)
            with again_dfb.reserve() as block:
                ttl.copy(y[0, i], block).wait()
            with again_dfb.wait() as block:
                ttl.copy(block, y[0, HALF + i]).wait()


def test_what_is_read_in_the_launch_is_waited_for(monkeypatch: Any) -> None:
    results = [
        outcome(through_the_tensor, backend, seed, monkeypatch)
        for backend, seed in (("sim", None), ("host", None), ("host", 1), ("host", 2))
    ]
    for result in results[1:]:
        assert np.array_equal(result, results[0])
