"""Buffers in the shards of tensors, and nodes that copy from and to the same tensors."""

from __future__ import annotations

import io
from contextlib import redirect_stderr

import numpy as np
import pytest

import ttl
from ttl import ttnn

DEVICE = ttnn.open_device(device_id=0)
SHARDS = ttnn.create_sharded_memory_config(
    (64, 64), core_grid=ttnn.CoreGrid(x=2, y=1), strategy=ttnn.ShardStrategy.HEIGHT
)


def tensors(shape=(64, 64)):
    made = (np.ones(shape), np.zeros(shape))
    return [ttl.from_numpy(v, ttnn.float32, ttnn.TILE_LAYOUT, DEVICE, SHARDS) for v in made]


def pushing(row_of):
    """Each node fills its shard of x, and copies a row of x to y."""

    @ttl.operation(grid=(2, 1))
    def operation(x, y):
        x_dfb = ttl.make_tensor_backed_dfb(x, (1, 2))
        y_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 2))

        @ttl.compute()
        def compute():
            with x_dfb.reserve() as x_blk:
                x_blk.store(ttl.math.fill(2.0, shape=(1, 2)))

        @ttl.datamovement()
        def read():
            node = ttl.node(dims=1)
            with x_dfb.wait(), y_dfb.reserve() as y_blk:
                ttl.copy(x[row_of(node), 0:2], y_blk).wait()

        @ttl.datamovement()
        def write():
            node = ttl.node(dims=1)
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[node, 0:2]).wait()

    return operation


def test_a_node_may_copy_what_it_has_pushed() -> None:
    x, y = tensors()
    pushing(lambda node: node)(x, y)
    assert (ttl.to_numpy(y) == 2).all()


def test_what_another_node_pushes_is_read_in_no_order() -> None:
    with pytest.raises(ttl.KernelFault, match=r"written on node .* and read on node") as caught:
        pushing(lambda node: 1 - node)(*tensors())
    assert caught.value.diagnostics[0].code.slug == "race"


def test_what_is_published_is_written_by_another_node_in_no_order() -> None:
    @ttl.operation(grid=(2, 1))
    def operation(x, y):
        x_dfb = ttl.make_tensor_backed_dfb(x, (1, 2))
        y_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 2))

        @ttl.compute()
        def compute():
            with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                y_blk.store(x_blk + x_blk)

        @ttl.datamovement()
        def publish():
            x_dfb.publish()

        @ttl.datamovement()
        def write():
            node = ttl.node(dims=1)
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, x[1 - node, 0:2]).wait()

    with pytest.raises(ttl.KernelFault, match="race"):
        operation(*tensors())


def test_a_part_of_a_shard_may_be_written() -> None:
    @ttl.operation(grid=(2, 1))
    def operation(x, y):
        y_dfb = ttl.make_tensor_backed_dfb(y, (1, 1), byte_offset=4096)

        @ttl.compute()
        def compute():
            with y_dfb.reserve() as y_blk:
                y_blk.store(ttl.math.fill(2.0, shape=(1, 1)))

    x, y = tensors()
    shown = io.StringIO()
    with redirect_stderr(shown):
        operation(x, y)
    assert shown.getvalue() == ""
    assert (ttl.to_numpy(y)[:, 32:] == 2).all() and (ttl.to_numpy(y)[:, :32] == 0).all()
