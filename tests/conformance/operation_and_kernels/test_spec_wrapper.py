"""The specification's first example: an operation, and a function in TT-NN style around it."""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from conformance.harness import DEVICE, numbers, run, tensor
from ttl import ttnn


@ttl.operation()
def __foo(x: ttnn.Tensor, y: ttnn.Tensor) -> None:
    columns = x.shape[1] // ttl.TILE_SIZE
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

    @ttl.compute()
    def some_compute():
        x_tile, y_tile = ttl.node()
        if x_tile < columns and y_tile < columns:
            with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                y_blk.store(abs(x_blk) + 1)

    @ttl.datamovement()
    def some_dm0():
        x_tile, y_tile = ttl.node()
        if x_tile < columns and y_tile < columns:
            with x_dfb.reserve() as x_blk:
                ttl.copy(x[y_tile, x_tile], x_blk).wait()

    @ttl.datamovement()
    def some_dm1():
        x_tile, y_tile = ttl.node()
        if x_tile < columns and y_tile < columns:
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[y_tile, x_tile]).wait()


def foo(x: ttnn.Tensor) -> ttnn.Tensor:
    y = ttnn.zeros(x.shape, dtype=x.dtype, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    run(__foo, x, y)
    return y


@pytest.mark.rule("operation-function", "node", "grid-auto")
def test_the_wrapper_returns_what_the_operation_wrote():
    x = numbers(128, 128) - 8000
    assert np.array_equal(ttl.to_numpy(foo(tensor(x))), np.abs(x) + 1)
