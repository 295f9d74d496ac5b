"""Dataflow buffers in the shards of tensors: what they hold, where they may lie, publish()."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import ttl
from conformance.harness import DEVICE, numbers, refused, run, small, tensor
from ttl import ttnn

FLOATS = (ttnn.float32, ttnn.bfloat16)
MAKE = ttl.make_tensor_backed_dfb


def cores(columns, rows=1):
    return ttnn.CoreRangeSet(
        [ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(columns - 1, rows - 1))]
    )


def shards(shape, grid=(2, 1), orientation=ttnn.ShardOrientation.ROW_MAJOR, kind="HEIGHT"):
    return ttnn.MemoryConfig(
        getattr(ttnn.TensorMemoryLayout, f"{kind}_SHARDED"),
        ttnn.BufferType.L1,
        ttnn.ShardSpec(cores(*grid), shape, orientation),
    )


def sharded(values, shape=None, dtype=ttnn.float32, **options):
    """By default two shards, one below the other."""
    config = shards(shape or (values.shape[0] // 2, values.shape[1]), **options)
    return ttl.from_numpy(np.asarray(values), dtype, ttnn.TILE_LAYOUT, DEVICE, config)


def doubling(shape, block_count=1, byte_offset=0, grid=(2, 1)):
    """y = 2 * x, both in their shards."""

    @ttl.operation(grid=grid)
    def operation(x, y):
        x_dfb = MAKE(x, shape, block_count, byte_offset)
        y_dfb = MAKE(y, shape, block_count=block_count, byte_offset=byte_offset)

        @ttl.compute()
        def compute():
            for _ in range(block_count):
                with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                    y_blk.store(x_blk + x_blk)

        @ttl.datamovement()
        def publish():
            x_dfb.publish()

    return operation


@pytest.mark.rule("backed-publish", "backed-push")
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("shape", "block_count"),
    [((2, 3), 1), ((1, 3), 2), ((1, 1), 6), (3, 2), ((2, 1), 3), ((3, 2), 1)],
)
def test_blocks_are_the_tiles_of_the_shard(dtype, shape, block_count):
    """Also those that are no rectangle of it."""
    values = small(128, 96)
    x, y = sharded(values, dtype=dtype), sharded(0 * values, dtype=dtype)
    run(doubling(shape, block_count), x, y)
    assert (ttl.to_numpy(y) == 2 * values).all()


@pytest.mark.rule("backed-publish")
def test_blocks_lie_in_the_order_of_the_tiles():
    """A block of 2 x 1 tiles is the first two of a row of the shard."""

    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        x_dfb = MAKE(x, (2, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(2, 1))

        @ttl.compute()
        def compute():
            with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                y_blk.store(x_blk)

        @ttl.datamovement()
        def move():
            x_dfb.publish()
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[0:2, 0:1]).wait()

    values = numbers(64, 64)
    y = tensor(np.zeros((64, 32)))
    run(operation, sharded(values, (64, 64), grid=(1, 1)), y)
    assert (ttl.to_numpy(y) == np.vstack([values[:32, :32], values[:32, 32:]])).all()


@pytest.mark.rule("backed-offset")
@pytest.mark.parametrize("dtype", FLOATS)
def test_the_rest_of_the_shard_is_left_alone(dtype):
    values = small(64, 96)
    x, y = sharded(values, dtype=dtype), sharded(0 * values, dtype=dtype)
    run(doubling((1, 1), byte_offset=2048 if dtype is ttnn.bfloat16 else 4096), x, y)
    expected = 0 * values
    expected[:, 32:64] = 2 * values[:, 32:64]
    assert (ttl.to_numpy(y) == expected).all()


@pytest.mark.rule("backed-push")
def test_blocks_that_are_not_pushed_keep_what_the_tensor_has():
    @ttl.operation(grid=(1, 1))
    def operation(y):
        y_dfb = MAKE(y, (2, 1), 2)

        @ttl.compute()
        def compute():
            with y_dfb.reserve() as y_blk:
                y_blk.store(ttl.math.fill(3.0, shape=(2, 1)))

    values = numbers(64, 64)
    y = sharded(values, (64, 64), grid=(1, 1))
    run(operation, y)
    values[:32] = 3
    assert (ttl.to_numpy(y) == values).all()


@pytest.mark.rule("backed-tensor")
@pytest.mark.parametrize("orientation", list(ttnn.ShardOrientation))
def test_each_node_has_its_own_shard(orientation):
    @ttl.operation(grid=(2, 2))
    def operation(y):
        y_dfb = MAKE(y, (1, 1))

        @ttl.compute()
        def compute():
            column, row = ttl.node(dims=2)
            with y_dfb.reserve() as y_blk:
                y_blk.store(ttl.math.fill(10.0 * column + row, shape=(1, 1)))

    y = sharded(np.zeros((128, 32)), (32, 32), grid=(2, 2), orientation=orientation)
    run(operation, y)
    by_rows = orientation is ttnn.ShardOrientation.ROW_MAJOR
    assert [*ttl.to_numpy(y)[::32, 0]] == ([0, 10, 1, 11] if by_rows else [0, 1, 10, 11])


@pytest.mark.rule("backed-push")
def test_in_place():
    values = small(128, 64)
    x = sharded(values)
    run(doubling((1, 2), 2), x, x)
    assert (ttl.to_numpy(x) == 2 * values).all()


@pytest.mark.rule("backed-push")
def test_what_is_pushed_is_seen_by_copies_of_the_tensor():
    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        x_dfb = MAKE(x, (1, 2))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 2))

        @ttl.compute()
        def compute():
            with x_dfb.reserve() as x_blk:
                x_blk.store(ttl.math.fill(3.0, shape=(1, 2)))

        @ttl.datamovement()
        def read():
            with x_dfb.wait(), y_dfb.reserve() as y_blk:
                ttl.copy(x[0, 0:2], y_blk).wait()

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[0, 0:2]).wait()

    y = tensor(np.zeros((32, 64)))
    run(operation, sharded(np.zeros((32, 64)), (32, 64), grid=(1, 1)), y)
    assert (ttl.to_numpy(y) == 3).all()


@pytest.mark.rule("backed-publish")
def test_unified():
    @ttl.operation(grid=(2, 1))
    def operation(x, y):
        x_dfb, y_dfb = MAKE(x, (1, 2), 2), MAKE(y, (1, 2), 2)
        x_dfb.publish()
        for _ in range(2):
            with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                y_blk.store(x_blk + x_blk)

    values = small(128, 64)
    y = sharded(0 * values)
    run(operation, sharded(values), y)
    assert (ttl.to_numpy(y) == 2 * values).all()


@pytest.mark.rule("backed-no-copy")
def test_nothing_is_copied_and_no_memory_is_needed(tmp_path, monkeypatch):
    """The shards of the two tensors fill what L1 has."""
    trace = tmp_path / "trace.jsonl"
    monkeypatch.setenv("TTL_TRACE", str(trace))
    monkeypatch.setenv("TTL_MAX_L1", "8192")
    values = small(64, 32)
    doubling((1, 1))(sharded(values), sharded(0 * values))
    kinds = [json.loads(line).get("kind", "") for line in trace.read_text().splitlines()]
    assert "buffer_push" in kinds and not any(kind.startswith("copy") for kind in kinds)


@pytest.mark.rule("backed-tensor")
@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda v: tensor(v), "this one is INTERLEAVED in DRAM"),
        (
            lambda v: ttl.from_numpy(
                v, ttnn.float32, ttnn.TILE_LAYOUT, DEVICE, ttnn.L1_MEMORY_CONFIG
            ),
            "this one is INTERLEAVED in L1",
        ),
        (lambda v: sharded(v, (128, 32), kind="WIDTH"), "this one is WIDTH_SHARDED in L1"),
        (lambda v: sharded(v, dtype=ttnn.int32), "this one is int32"),
        (
            lambda v: ttl.from_numpy(
                v, ttnn.float32, ttnn.ROW_MAJOR_LAYOUT, DEVICE, shards((64, 64))
            ),
            "this one is row-major",
        ),
        (lambda v: sharded(v, (128, 64), grid=(1, 1)), "node (1, 0) has no shard"),
    ],
)
def test_a_tensor_that_lies_otherwise_is_refused(made, words):
    x = made(small(128, 64))
    assert words in refused(doubling((1, 1)), x, x, slug="tensor-backed")


@pytest.mark.rule("backed-offset", "backed-capacity")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (((2, 2), 2), "2 blocks of (2, 2) tiles are 8 tiles; a shard of (2, 2) has 4"),
        (((1, 2), 2, 4096), "block_count=1 fits"),
        (((1, 5), 1), "use smaller blocks"),
        (((1, 1), 1, 100), "byte_offset=100: a block starts at a whole tile"),
        (((1, 1), 1, -4096), "use a multiple of 4096"),
    ],
)
def test_what_does_not_fit_into_a_shard_is_refused(arguments, words):
    x = sharded(small(128, 64))
    assert words in refused(doubling(*arguments), x, x, slug="tensor-backed")


def publishing(publish, compute=None):
    @ttl.operation(grid=(1, 1))
    def operation(x):
        x_dfb = MAKE(x, (1, 1))
        own_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))

        @ttl.compute()
        def consume():
            (compute or (lambda *_: None))(x_dfb, own_dfb)

        @ttl.datamovement()
        def move():
            publish(x_dfb, own_dfb)

    return operation


def publish_twice(x_dfb, own_dfb):
    x_dfb.publish()
    x_dfb.publish()


def publish_in_a_loop(x_dfb, own_dfb):
    for _ in range(3):
        x_dfb.publish()


def take_three(x_dfb, own_dfb):
    for _ in range(3):
        x_dfb.wait().pop()


@pytest.mark.rule("backed-once")
@pytest.mark.parametrize("publish", [publish_twice, publish_in_a_loop])
def test_a_buffer_is_published_once(publish):
    x = sharded(small(32, 32), (32, 32), grid=(1, 1))
    text = refused(publishing(publish, take_three), x, slug="published")
    assert "`x_dfb` was published before" in text


@pytest.mark.rule("backed-once")
def test_a_buffer_of_its_own_is_not_published():
    x = sharded(small(32, 32), (32, 32), grid=(1, 1))
    text = refused(publishing(lambda _, own_dfb: own_dfb.publish()), x, slug="published")
    assert "`own_dfb` lies in no tensor" in text


@pytest.mark.rule("backed-once")
def test_a_compute_kernel_publishes_nothing():
    x = sharded(small(32, 32), (32, 32), grid=(1, 1))
    refused(
        publishing(lambda *_: None, lambda x_dfb, _: x_dfb.publish()), x, slug="wrong-kernel-kind"
    )


@pytest.mark.rule("backed-publish")
def test_the_program_of_the_page(tmp_path):
    page = Path(__file__).parents[3] / "docs" / "howto" / "tensors.md"
    text = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)[-1]
    file = tmp_path / "conformance.py"
    file.write_text(text)
    exec(compile(text, str(file), "exec"), {})


@pytest.mark.rule("backed-publish")
def test_a_buffer_that_nobody_publishes_is_a_deadlock():
    @ttl.operation(grid=(1, 1))
    def operation(x):
        x_dfb = MAKE(x, (1, 1))

        @ttl.compute()
        def compute():
            x_dfb.wait().pop()

    x = sharded(small(32, 32), (32, 32), grid=(1, 1))
    assert "call `x_dfb.publish()` in a data movement" in refused(operation, x, slug="deadlock")


@pytest.mark.rule("backed-once")
def test_a_buffer_that_is_published_is_not_reserved_on_another_thread():
    @ttl.operation(grid=(1, 1))
    def operation(x):
        x_dfb = MAKE(x, (1, 1))
        x_dfb.publish()
        with x_dfb.wait() as block:
            twice = block + block
        with x_dfb.reserve() as result:
            result.store(twice)

    x = sharded(small(32, 32), (32, 32), grid=(1, 1))
    assert "published, and reserved on another" in refused(operation, x, slug="block-threads")
