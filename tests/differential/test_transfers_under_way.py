"""Reads ahead of the barrier and writes past it: the results are those of the simulator."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ttl
from differential.moves import distinct_tiles
from ttl import ttnn
from ttl.config import Config
from ttl.driver.compile import compile_operation
from ttl.target import load

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
def waits_for_the_one_before(a, y):
    """The first iteration of all has nothing to wait for; the others are one nest of loops."""
    dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

    @ttl.datamovement()
    def read():
        before = None
        for i in range(2):
            for j in range(1, -1, -1):
                for k in range(0, 6, 2):
                    block = dfb.reserve()
                    copy = ttl.copy(a[i, j + k], block)
                    if before is not None:
                        before[0].wait()
                        before[1].push()
                    before = (copy, block)
        before[0].wait()
        before[1].push()

    @ttl.datamovement()
    def write():
        for i in range(2):
            for j in range(1, -1, -1):
                for k in range(0, 6, 2):
                    with dfb.wait() as block:
                        ttl.copy(block, y[i, j + k]).wait()


@pytest.mark.parametrize("backend", ["sim", "host"])
def test_a_nest_of_loops_that_starts_late(backend: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("TTL_BACKEND", backend)
    a = ttl.from_numpy(distinct_tiles(2, 6), dtype=ttnn.float32, device=DEVICE)
    y = ttnn.zeros((64, 32 * 6), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    waits_for_the_one_before(a, y)
    assert np.array_equal(ttl.to_numpy(y), distinct_tiles(2, 6))


LATE = """
import ttl

@ttl.operation(grid=(1, 1))
def late(a, y):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

    @ttl.datamovement()
    def read():
        before, n, sizes = None, 0, [2]
        {loops}
                    block = dfb.reserve()
                    copy = ttl.copy(a[0, n], block)
                    if before is not None:
                        before[0].wait()
                        before[1].push()
                    before = (copy, block)
                    n += 1
                    {end}
        before[0].wait()
        before[1].push()

    @ttl.datamovement()
    def write():
        for n in range({count}):
            with dfb.wait() as block:
                ttl.copy(block, y[0, n]).wait()
"""
NESTS = {  # headers of three loops, what ends an iteration, how many there are
    "two counters of one name": ("_ in range(3)", "_ in range(2)", "k in range(2)", "", 12),
    "counters of one name": ("_ in range(3)", "_ in range(2)", "_ in range(2)", "", 12),
    "a range that changes": (
        "i in range(3)",
        "j in range(1)",
        "k in range(sizes[0])",
        "sizes[0] = 3",
        8,
    ),
    "a counter is deleted": ("i in range(3)", "j in range(2)", "k in range(2)", "del k", 12),
}


@pytest.mark.parametrize("nest", NESTS)
def test_every_iteration_of_a_nest_is_there_once(
    nest: str, tmp_path: Path, monkeypatch: Any
) -> None:
    *headers, end, count = NESTS[nest]
    loops = "\n".join(f"{'    ' * level}for {each}:" for level, each in enumerate(headers, 2))
    file = tmp_path / "late.py"
    file.write_text(LATE.format(loops=loops.strip(), end=end, count=count))
    late = runpy.run_path(str(file))["late"]
    expected = distinct_tiles(1, int(count))
    for backend in ("sim", "host"):
        monkeypatch.setenv("TTL_BACKEND", backend)
        a = ttl.from_numpy(expected, dtype=ttnn.float32, device=DEVICE)
        y = ttnn.zeros(expected.shape, ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
        late(a, y)
        assert np.array_equal(ttl.to_numpy(y), expected)


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


@ttl.operation(grid=(1, 1))
def ordered_by_room(y):
    """Each tile comes to the place two further; the reader gets there when its block is popped."""
    dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)

    @ttl.datamovement()
    def read():
        for i in range(TILES - 2):
            with dfb.reserve() as block:
                ttl.copy(y[0, i], block).wait()

    @ttl.datamovement()
    def write():
        for i in range(TILES - 2):
            with dfb.wait() as block:
                ttl.copy(block, y[0, i + 2]).wait()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("backend", ["sim", "host"])
def test_what_was_written_before_there_was_room_is_read(
    backend: str, seed: int, monkeypatch: Any
) -> None:
    monkeypatch.setenv("TTL_BACKEND", backend)
    monkeypatch.setenv("TTL_SEED", str(seed))
    y = ttl.from_numpy(distinct_tiles(1, TILES), dtype=ttnn.bfloat16, device=DEVICE)
    ordered_by_room(y)
    assert [*ttl.to_numpy(y)[0, ::32]] == [1, 2, 1, 2, 1, 2, 1]
    (read,) = (kernel for kernel in compiled(ordered_by_room, y).kernels if kernel.name == "read")
    assert "noc_async_read_set_trid" in read.cpp_source


def make_multicast(block_count: int) -> Any:
    """A row of nodes gets what the first one reads, into the blocks of the same buffer."""

    @ttl.operation(grid=(4, 1))
    def multicast(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=block_count)
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)
        net = ttl.PipeNet([ttl.Pipe(src=(0, 0), dst=(slice(1, 4), 0))])

        @ttl.datamovement()
        def read():
            for i in range(TILES):
                with dfb.reserve() as block:

                    def send(pipe, i=i, block=block):
                        ttl.copy(a[0, i], block).wait()
                        ttl.copy(block, pipe).wait()

                    net.if_src(send)
                    net.if_dst(lambda pipe, block=block: ttl.copy(pipe, block).wait())

        @ttl.compute()
        def compute():
            for _ in range(TILES):
                with dfb.wait() as block, y_dfb.reserve() as result:
                    result.store(block + block)

        @ttl.datamovement()
        def write():
            node = ttl.node(dims=1)
            for i in range(TILES):
                with y_dfb.wait() as result:
                    ttl.copy(result, y[node, i]).wait()

    return multicast


@pytest.mark.parametrize("block_count", [1, 2, 3])
def test_blocks_of_one_reserve_are_at_one_place(block_count: int, monkeypatch: Any) -> None:
    operation = make_multicast(block_count)
    expected = np.tile(distinct_tiles(1, TILES) * 2, (4, 1))
    for backend, seed in (("sim", 0), ("host", 0), ("host", 1), ("host", 2), ("host", 3)):
        monkeypatch.setenv("TTL_BACKEND", backend)
        monkeypatch.setenv("TTL_SEED", str(seed))
        a = ttl.from_numpy(distinct_tiles(1, TILES), dtype=ttnn.bfloat16, device=DEVICE)
        y = ttnn.zeros((128, 32 * TILES), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE)
        operation(a, y)
        assert np.array_equal(ttl.to_numpy(y), expected)
    (read,) = (kernel for kernel in compiled(operation, a, y).kernels if kernel.name == "read")
    assert "noc_inline_dw_write" not in read.cpp_source
    assert read.cpp_source.count("noc_async_write_barrier") == 1  # at the end


def compiled(operation: Any, *tensors: Any) -> Any:
    target = load("wormhole_b0")
    program = operation.program(tensors, {}, target.default_grid)
    return compile_operation(program, target, Config())
