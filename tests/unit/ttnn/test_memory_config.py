"""Memory configs: spellings, checks against tensors, and bytes in L1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.diagnostics import UsageError

DEVICE = ttnn.open_device(device_id=0)
L1, DRAM = ttnn.BufferType.L1, ttnn.BufferType.DRAM
HEIGHT = ttnn.TensorMemoryLayout.HEIGHT_SHARDED
WIDTH = ttnn.TensorMemoryLayout.WIDTH_SHARDED
BLOCK = ttnn.TensorMemoryLayout.BLOCK_SHARDED
ROW_MAJOR = ttnn.ShardOrientation.ROW_MAJOR
COL_MAJOR = ttnn.ShardOrientation.COL_MAJOR


def cores(x: int, y: int) -> ttnn.CoreRangeSet:
    return ttnn.CoreRangeSet({ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(x - 1, y - 1))})


def sharded(
    layout: Any, grid: ttnn.CoreRangeSet, shape: tuple[int, ...], orientation: Any = ROW_MAJOR
) -> ttnn.MemoryConfig:
    return ttnn.MemoryConfig(layout, L1, ttnn.ShardSpec(grid, shape, orientation))


def test_every_spelling_of_a_memory_config() -> None:
    by_position = sharded(HEIGHT, cores(4, 1), (32, 64))
    spec = ttnn.ShardSpec(grid=cores(4, 1), shard_shape=[32, 64], shard_orientation=ROW_MAJOR)
    by_keyword = ttnn.MemoryConfig(memory_layout=HEIGHT, buffer_type=L1, shard_spec=spec)
    simulator_spec = ttnn.ShardSpec(shard_grid=(4,), shard_shape=(32, 64))
    simulator = ttnn.MemoryConfig(
        strategy=ttnn.ShardingStrategy.HEIGHT_SHARDED, shard_spec=simulator_spec, buffer_type=L1
    )
    created = ttnn.create_sharded_memory_config(
        (128, 64), ttnn.CoreGrid(y=1, x=4), ttnn.ShardStrategy.HEIGHT
    )
    assert by_position == by_keyword == simulator == created
    assert len({hash(config) for config in (by_position, by_keyword, simulator, created)}) == 1
    assert by_position != sharded(HEIGHT, cores(4, 1), (64, 64))
    nd = ttnn.NdShardSpec((32, 32), cores(2, 2))
    assert ttnn.MemoryConfig(L1, nd).memory_layout is ttnn.TensorMemoryLayout.ND_SHARDED
    assert ttnn.MemoryConfig() == ttnn.DRAM_MEMORY_CONFIG
    assert ttnn.MemoryConfig(buffer_type=L1) == ttnn.L1_MEMORY_CONFIG


def test_a_memory_config_is_remembered_and_replaced() -> None:
    values = np.arange(128 * 64, dtype=np.float32).reshape(128, 64)
    config = sharded(HEIGHT, cores(4, 1), (32, 64))
    tensor = ttnn.from_numpy(values, device=DEVICE, memory_config=config)
    assert tensor.memory_config() == ttnn.get_memory_config(tensor)
    assert ttnn.is_sharded(tensor) and tensor.is_sharded()
    assert ttnn.zeros_like(tensor).memory_config() == config
    back = ttnn.to_memory_config(tensor, ttnn.DRAM_MEMORY_CONFIG)
    assert not ttnn.is_sharded(back)
    for found in (tensor, back, ttnn.clone(tensor), ttnn.to_device(tensor, DEVICE)):
        assert np.array_equal(ttnn.to_numpy(found), values)


@pytest.mark.parametrize(
    ("strategy", "grid", "orientation", "shard"),
    [
        (ttnn.ShardStrategy.HEIGHT, (4, 2), None, (32, 256)),
        (ttnn.ShardStrategy.WIDTH, (2, 4), None, (256, 32)),
        (ttnn.ShardStrategy.BLOCK, (2, 4), None, (64, 128)),
        (ttnn.ShardStrategy.BLOCK, (2, 4), COL_MAJOR, (128, 64)),
    ],
)
def test_shards_made_for_a_shape_fit_it(
    strategy: Any, grid: tuple[int, int], orientation: Any, shard: tuple[int, int]
) -> None:
    core_grid = ttnn.CoreGrid(x=grid[0], y=grid[1])
    config = ttnn.create_sharded_memory_config((2, 128, 256), core_grid, strategy, orientation)
    assert config.shard_spec.shard_shape == shard and config.buffer_type is L1
    assert ttnn.zeros(
        (2, 128, 256), layout=ttnn.TILE_LAYOUT, memory_config=config, device=DEVICE
    ).is_sharded()
    given = ttnn.create_sharded_memory_config(
        shard, cores(*grid), strategy, orientation, use_height_and_width_as_shard_shape=True
    )
    assert given == config


@pytest.mark.parametrize("method", ["height_sharded", "width_sharded", "block_sharded"])
@pytest.mark.parametrize("shape", [(100, 100), (2, 3, 70, 300), (32, 32)])
def test_a_spec_cuts_any_shape(method: str, shape: tuple[int, ...]) -> None:
    spec = ttnn.TensorSpec(shape, ttnn.float32, ttnn.TILE_LAYOUT, buffer_type=L1)
    config = getattr(spec, method)(cores(4, 2)).memory_config
    tensor = ttnn.ones(
        shape, ttnn.float32, layout=ttnn.TILE_LAYOUT, memory_config=config, device=DEVICE
    )
    assert ttnn.to_numpy(tensor).shape == shape
    assert 0 < tensor.l1_bytes <= np.prod(tensor.padded_shape) * 4


def test_shards_in_several_dimensions() -> None:
    spec = ttnn.TensorSpec((4, 64, 96), ttnn.bfloat16, ttnn.TILE_LAYOUT, buffer_type=L1)
    across = spec.sharded_across_dims([0, 2], cores(4, 3)).memory_config
    assert across.nd_shard_spec.shard_shape == (1, 64, 32)
    named = spec.nd_sharded((2, 32, 32), cores(4, 1)).memory_config
    tensor = ttnn.zeros((4, 64, 96), layout=ttnn.TILE_LAYOUT, memory_config=named, device=DEVICE)
    assert tensor.l1_bytes == 3 * 2 * 2048  # 12 shards of two tiles on four cores


@pytest.mark.parametrize(
    ("shape", "config", "expected"),
    [
        ((64, 64), ttnn.DRAM_MEMORY_CONFIG, 0),
        ((64, 64), ttnn.L1_MEMORY_CONFIG, 2048),  # 4 tiles on 64 cores
        ((1024, 1024), ttnn.L1_MEMORY_CONFIG, 16 * 2048),
        ((1024, 1056), ttnn.L1_MEMORY_CONFIG, 17 * 2048),  # the busiest core has one more
        ((100, 100), sharded(HEIGHT, cores(2, 1), (64, 128)), 8 * 2048),
        ((128, 128), sharded(BLOCK, cores(2, 2), (64, 64)), 4 * 2048),
    ],
)
def test_bytes_of_the_busiest_core(
    shape: tuple[int, ...], config: ttnn.MemoryConfig, expected: int
) -> None:
    assert (
        ttnn.zeros(shape, layout=ttnn.TILE_LAYOUT, memory_config=config, device=DEVICE).l1_bytes
        == expected
    )


def test_rows_in_l1_are_aligned() -> None:
    tensor = ttnn.zeros((65, 3), ttnn.uint8, ttnn.ROW_MAJOR_LAYOUT, DEVICE, ttnn.L1_MEMORY_CONFIG)
    assert tensor.l1_bytes == 2 * 16


def zeros(config: Any, shape: tuple[int, ...] = (128, 128)) -> ttnn.Tensor:
    return ttnn.zeros(shape, layout=ttnn.TILE_LAYOUT, memory_config=config, device=DEVICE)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: zeros("L1"), "memory_config='L1': not a memory config"),
        (lambda: zeros(ttnn.L1_HEIGHT_SHARDED_MEMORY_CONFIG), "without a shard spec"),
        (lambda: zeros(sharded(HEIGHT, cores(4, 1), (32, 64))), "a shard has whole rows"),
        (lambda: zeros(sharded(WIDTH, cores(4, 1), (64, 32))), "a shard has whole columns"),
        (lambda: zeros(sharded(HEIGHT, cores(2, 1), (32, 128))), "has 4 of them, and 2 cores"),
        (lambda: zeros(sharded(WIDTH, cores(3, 1), (128, 32))), "has 4 of them, and 3 cores"),
        (lambda: zeros(sharded(BLOCK, cores(2, 4), (64, 32))), "has 2x4 of them, and 4x2 cores"),
        (lambda: zeros(sharded(HEIGHT, cores(8, 1), (16, 128))), r"use \(32, 128\)"),
        (lambda: zeros(sharded(HEIGHT, cores(9, 1), (32, 128))), "is not in the .* grid"),
        (lambda: zeros(ttnn.MemoryConfig(L1, ttnn.NdShardSpec((2, 32, 32), cores(1, 1)))), "more"),
        (lambda: zeros(ttnn.L1_MEMORY_CONFIG, (8192, 8192)), "needs 2097152 bytes on a core"),
        (lambda: ttnn.ShardSpec(cores(1, 1), (32,), ROW_MAJOR), "a height and a width"),
        (lambda: ttnn.ShardSpec(cores(1, 1), (0, 32), ROW_MAJOR), "elements in every dimension"),
        (lambda: ttnn.ShardSpec(None, (32, 32), ROW_MAJOR), "needs cores"),
        (lambda: ttnn.ShardSpec(cores(1, 1), (32, 32), "row"), "not a ttnn.ShardOrientation"),
        (
            lambda: ttnn.MemoryConfig(shard_spec=ttnn.ShardSpec(cores(1, 1), (32, 32), ROW_MAJOR)),
            "an interleaved memory config has no shard spec",
        ),
        (lambda: ttnn.ShardSpec(cores(1, 1), (32, 32)), "needs an orientation"),
        (lambda: ttnn.MemoryConfig(L1), "write ttnn.MemoryConfig.buffer_type=ttnn.BufferType.L1"),
        (lambda: ttnn.MemoryConfig("L1"), "not a part of a memory config"),
        (
            lambda: ttnn.create_sharded_memory_config(
                (100, 64), ttnn.CoreGrid(y=1, x=3), ttnn.ShardStrategy.HEIGHT
            ),
            "the height 100 of the tensor cannot be cut into 3",
        ),
        (
            lambda: ttnn.create_sharded_memory_config(
                (64, 64), cores(2, 1), ttnn.ShardStrategy.HEIGHT
            ),
            "core_grid is a CoreRangeSet",
        ),
        (
            lambda: ttnn.create_sharded_memory_config((64, 64), ttnn.CoreGrid(x=1, y=1), "height"),
            "strategy='height': not a ttnn.ShardStrategy",
        ),
    ],
)
def test_configs_that_do_not_fit_point_at_the_call(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        make()
    primary = caught.value.diagnostics[0].primary
    assert primary is not None and primary.span.file == __file__


@ttl.operation(grid=(1, 1))
def move(a: Any, y: Any) -> None:
    dfb = ttl.make_dataflow_buffer_like(a, shape=(8, 8), block_count=4)

    @ttl.datamovement()
    def read() -> None:
        with dfb.reserve() as blk:
            ttl.copy(a[0:8, 0:8], blk).wait()

    @ttl.datamovement()
    def write() -> None:
        with dfb.wait() as blk:
            ttl.copy(blk, y[0:8, 0:8]).wait()


@pytest.mark.parametrize("backend", ["sim", "host"])
def test_tensors_in_l1_count_for_the_budget(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTL_BACKEND", backend)
    config = sharded(HEIGHT, cores(1, 1), (256, 256))  # 131072 bytes, as a block of the buffer
    a, y = (zeros(config, (256, 256)) for _ in range(2))
    a.storage.fill(np.asarray(3.0))
    move(a, y)
    assert (ttnn.to_numpy(y) == 3).all()
    budget = f"--ttl-l1-budget={6 * 131072 - 1}"
    with pytest.raises(UsageError) as caught:
        move(a, y, options=budget)
    text = str(caught.value)
    assert "error[TTL4001]: the dataflow buffers and the tensors in L1 need 786432" in text
    assert "y       (256, 256)  L1 tensor    bfloat16  131072" in text
    move(a, a, options=budget)  # one tensor


def test_tensors_in_dram_do_not_count() -> None:
    a, y = (zeros(ttnn.DRAM_MEMORY_CONFIG, (256, 256)) for _ in range(2))
    move(a, y, options=f"--ttl-l1-budget={4 * 131072}")
