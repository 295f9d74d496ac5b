"""Slices of tensors of every rank, layout, size and memory: compiled as simulated, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ttl
from ttl import ttnn

DEVICE = ttnn.open_device(device_id=0)
ROWS = ttnn.ROW_MAJOR_LAYOUT
DRAM = ttnn.DRAM_MEMORY_CONFIG
L1 = ttnn.L1_MEMORY_CONFIG


def numbers(*shape: int) -> np.ndarray:
    """Different bits in every element of any type of 16 bits and more."""
    return (np.arange(np.prod(shape)) % 251 + 1).astype(np.float32).reshape(shape)


def both(operation: Any, *tensors: Any, seed: int | None = None) -> list[bytes]:
    """The bits of all tensors after a simulated run; after a compiled one they are the same."""
    results = []
    for backend in ("sim", "host"):
        copies = [tensor() for tensor in tensors]
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TTL_BACKEND", backend)
            if seed is not None:
                patch.setenv("TTL_SEED", str(seed))
            operation(*copies)
        results.append([copy.storage.elements.tobytes() for copy in copies])
    assert results[0] == results[1]
    return results[0]


# Row-major ----------------------------------------------------------------------------------------


@ttl.operation(grid=(1, 1))
def constant_start(a, y):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(2, 3))

    @ttl.datamovement()
    def read():
        for row in range(3):
            with dfb.reserve() as block:
                ttl.copy(a[row : row + 2, 2:5], block).wait()

    @ttl.datamovement()
    def write():
        for row in range(3):
            with dfb.wait() as block:
                ttl.copy(block, y[row + 1 : row + 3, 1:4]).wait()


@ttl.operation(grid=(1, 1))
def running_start(a, y):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 3))

    @ttl.datamovement()
    def read():
        for column in range(5):
            with dfb.reserve() as block:
                ttl.copy(a[3, column : column + 3], block).wait()

    @ttl.datamovement()
    def write():
        for column in range(5):
            with dfb.wait() as block:
                ttl.copy(block, y[column, 4 - column : 7 - column]).wait()


@ttl.operation(grid=(1, 1))
def columns(a, y):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(5,))

    @ttl.datamovement()
    def read():
        for column in range(7):
            with dfb.reserve() as block:
                ttl.copy(a[:, column], block).wait()

    @ttl.datamovement()
    def write():
        for column in range(7):
            with dfb.wait() as block:
                ttl.copy(block, y[:, 6 - column]).wait()


@ttl.operation(grid=(1, 1))
def whole_rows(a, y):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(5, 7))
    second = ttl.make_dataflow_buffer_like(a, shape=(5, 7))

    @ttl.datamovement()
    def read():
        with dfb.reserve() as block:
            ttl.copy(a[:, :], block).wait()
        with dfb.wait() as block, second.reserve() as other:
            ttl.copy(block, other).wait()
            ttl.copy(block, y[:, :]).wait()

    @ttl.datamovement()
    def write():
        with second.wait() as block:
            ttl.copy(block, y[0:5, 0:7]).wait()


@ttl.operation(grid=(1, 1))
def one_block_to_two_places(a, y):
    """An unaligned write while another one from the same block is under way."""
    dfb = ttl.make_dataflow_buffer_like(a, shape=(2, 3))

    @ttl.datamovement()
    def move():
        with dfb.reserve() as block:
            ttl.copy(a[0:2, 4:7], block).wait()
        with dfb.wait() as block:
            first = ttl.copy(block, y[0:2, 0:3])
            second = ttl.copy(block, y[2:4, 3:6])
            first.wait()
            second.wait()


ROW_MAJOR = [constant_start, running_start, columns, whole_rows, one_block_to_two_places]
TYPES = [ttnn.bfloat16, ttnn.float16, ttnn.float32, ttnn.int32, ttnn.uint16, ttnn.uint8]


ALL_TYPES = [(dtype, "wormhole_b0") for dtype in TYPES]


@pytest.mark.parametrize(("dtype", "target"), [*ALL_TYPES, (ttnn.bfloat16, "blackhole")], ids=str)
@pytest.mark.parametrize("operation", ROW_MAJOR, ids=lambda operation: operation.__name__)
def test_row_major_slices(operation, dtype, target, monkeypatch):
    monkeypatch.setenv("TTL_TARGET", target)
    result = both(
        operation,
        lambda: ttl.from_numpy(numbers(5, 7), dtype, ROWS, DEVICE),
        lambda: ttnn.zeros((5, 7), dtype, ROWS, DEVICE),
        seed=1,
    )
    assert any(result[1])


@ttl.operation(grid=(1, 1))
def long_rows(a, y):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(2, 64))

    @ttl.datamovement()
    def read():
        for column in range(2):
            with dfb.reserve() as block:
                ttl.copy(a[0:2, column * 64 : column * 64 + 64], block).wait()

    @ttl.datamovement()
    def write():
        for column in range(2):
            with dfb.wait() as block:
                ttl.copy(block, y[0:2, 64 - 64 * column : 128 - column * 64]).wait()


@pytest.mark.parametrize("memory", [DRAM, L1], ids=["DRAM", "L1"])
def test_aligned_rows_go_straight_to_their_place(memory, tmp_path, monkeypatch):
    monkeypatch.setenv("TTL_COMPILE_TO", str(tmp_path))
    both(
        long_rows,
        lambda: ttl.from_numpy(numbers(2, 128), ttnn.bfloat16, ROWS, DEVICE, memory),
        lambda: ttnn.zeros((2, 128), ttnn.bfloat16, ROWS, DEVICE, memory),
    )
    texts = [file.read_text() for file in (tmp_path / "kernels").glob("*.cpp")]
    assert len(texts) == 2 and not any("move_bytes" in text for text in texts)


# Ranks --------------------------------------------------------------------------------------------


@ttl.operation(grid=(1, 1))
def rows_of_rank_one(a, y):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(5,))

    @ttl.datamovement()
    def move():
        for part in range(3):
            with dfb.reserve() as block:
                ttl.copy(a[part * 5 : part * 5 + 5], block).wait()
            with dfb.wait() as block:
                ttl.copy(block, y[part * 6 + 1 : part * 6 + 6]).wait()


@ttl.operation(grid=(1, 1))
def rows_of_rank_four(a, y):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(2, 3, 5))
    column = ttl.make_dataflow_buffer_like(a, shape=(2, 4))

    @ttl.datamovement()
    def move():
        for outer in range(3):
            with dfb.reserve() as block:
                ttl.copy(a[outer, 0:2, 1:4, :], block).wait()
            with dfb.wait() as block:
                ttl.copy(block, y[0:2, outer, 0:3, 0:5]).wait()
        with column.reserve() as block:
            ttl.copy(a[2, :, :, 3], block).wait()
        with column.wait() as block:
            ttl.copy(block, y[1, 1:3, :, 4]).wait()


@ttl.operation(grid=(1, 1))
def tiles_of_rank_five(a, y):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(2, 1, 2, 2, 1))
    flat = ttl.make_dataflow_buffer_like(a, shape=(2, 2))

    @ttl.datamovement()
    def move():
        for outer in range(3):
            with dfb.reserve() as block:
                ttl.copy(a[:, outer, 0:2, :, 1], block).wait()
            with dfb.wait() as block:
                ttl.copy(block, y[0:2, 2 - outer : 3 - outer, 1:3, 0:2, 0:1]).wait()
        with flat.reserve() as block:
            ttl.copy(a[0, 1, 2, 0:2, 0:2], block).wait()
        with flat.wait() as block:
            ttl.copy(block, y[1, 1, 0, :, :]).wait()


RANKS = [
    (rows_of_rank_one, (15,), (18,), ROWS),
    (rows_of_rank_four, (3, 2, 4, 5), (2, 3, 4, 5), ROWS),
    (tiles_of_rank_five, (2, 3, 3, 64, 64), (2, 3, 3, 64, 64), ttnn.TILE_LAYOUT),
]


@pytest.mark.parametrize(("operation", "given", "made", "layout"), RANKS)
def test_ranks(operation, given, made, layout):
    both(
        operation,
        lambda: ttl.from_numpy(numbers(*given), ttnn.float32, layout, DEVICE),
        lambda: ttnn.zeros(made, ttnn.float32, layout, DEVICE),
    )


# Shards -------------------------------------------------------------------------------------------


def sharded(shape, strategy, cores):
    return ttnn.create_sharded_memory_config(shape, cores, strategy)


STRATEGIES = {
    "height": (ttnn.ShardStrategy.HEIGHT, ttnn.CoreGrid(y=1, x=2)),
    "width": (ttnn.ShardStrategy.WIDTH, ttnn.CoreGrid(y=1, x=2)),
    "block": (ttnn.ShardStrategy.BLOCK, ttnn.CoreGrid(y=2, x=2)),
}


@ttl.operation(grid=(1, 1))
def shard_of_a_row(a, y):
    """Pages of 6 elements: whole shards, parts of one, and slices over the edge of two."""
    shard = ttl.make_dataflow_buffer_like(a, shape=(2, 3))
    across = ttl.make_dataflow_buffer_like(a, shape=(1, 5))
    single = ttl.make_dataflow_buffer_like(a, shape=(4,))

    @ttl.datamovement()
    def move():
        for column in range(4):
            with shard.reserve() as block:
                ttl.copy(a[0:2, column * 3 : column * 3 + 3], block).wait()
            with shard.wait() as block:
                ttl.copy(block, y[2:4, 9 - column * 3 : 12 - column * 3]).wait()
        for column in range(3):
            with across.reserve() as block:
                ttl.copy(a[3, column + 2 : column + 7], block).wait()
            with across.wait() as block:
                ttl.copy(block, y[0, column + 4 : column + 9]).wait()
        with single.reserve() as block:
            ttl.copy(a[:, 7], block).wait()
        with single.wait() as block:
            ttl.copy(block, y[:, 10]).wait()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_row_major_shards(strategy):
    memory = sharded((4, 12), *STRATEGIES[strategy])
    both(
        shard_of_a_row,
        lambda: ttl.from_numpy(numbers(4, 12), ttnn.bfloat16, ROWS, DEVICE, memory),
        lambda: ttnn.zeros((4, 12), ttnn.bfloat16, ROWS, DEVICE, memory),
    )


@ttl.operation(grid=(2, 1))
def doubled(a, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 4))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 4))

    @ttl.compute()
    def compute():
        for _ in range(2):
            with a_dfb.wait() as x, y_dfb.reserve() as out:
                out.store(x + x)

    @ttl.datamovement()
    def read():
        node, _ = ttl.node(dims=2)
        for row in range(2):
            with a_dfb.reserve() as block:
                ttl.copy(a[node * 2 + row, 0:4], block).wait()

    @ttl.datamovement()
    def write():
        node, _ = ttl.node(dims=2)
        for row in range(2):
            with y_dfb.wait() as block:
                ttl.copy(block, y[node * 2 + row, 0:4]).wait()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_shards_of_tiles(strategy):
    memory = sharded((128, 128), *STRATEGIES[strategy])
    both(
        doubled,
        lambda: ttl.from_numpy(
            numbers(128, 128), ttnn.bfloat16, device=DEVICE, memory_config=memory
        ),
        lambda: ttnn.zeros(
            (128, 128), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE, memory_config=L1
        ),
    )


# Padding ------------------------------------------------------------------------------------------


@ttl.operation(grid=(1, 1))
def plus_one(a, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(2, 4))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(2, 4))

    @ttl.compute()
    def compute():
        for _ in range(2):
            with a_dfb.wait() as x, y_dfb.reserve() as out:
                out.store(x + 1)

    @ttl.datamovement()
    def read():
        for row in range(2):
            with a_dfb.reserve() as block:
                ttl.copy(a[row * 2 : row * 2 + 2, 0:4], block).wait()

    @ttl.datamovement()
    def write():
        for row in range(2):
            with y_dfb.wait() as block:
                ttl.copy(block, y[row * 2 : row * 2 + 2, 0:4]).wait()


@pytest.mark.parametrize("dtype", [ttnn.bfloat16, ttnn.float32], ids=str)
def test_padding_is_written_as_zero(dtype):
    """The bits of all elements are compared, those of the padding too."""
    both(
        plus_one,
        lambda: ttl.from_numpy(numbers(100, 100), dtype, device=DEVICE),
        lambda: ttnn.zeros((100, 100), dtype, layout=ttnn.TILE_LAYOUT, device=DEVICE),
    )
