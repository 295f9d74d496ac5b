"""The operations of a compute kernel that engines may round differently."""

from __future__ import annotations

import ttl
from ttl.source.inexact import inexact_operations
from ttl.target import load
from ttl.ttnn import TILE_LAYOUT, bfloat16, open_device, zeros


def helper(x):
    return ttl.math.exp(x)


def found(expression) -> tuple[str, ...]:
    @ttl.operation(grid=(1, 1))
    def operation(x):
        x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))

        @ttl.compute()
        def compute():
            with x_dfb.wait() as x_blk, x_dfb.reserve() as y_blk:
                y_blk.store(expression(x_blk))

        @ttl.datamovement()
        def read():
            _ = 1 / 3  # of scalars, in another kernel

    x = zeros((32, 32), bfloat16, TILE_LAYOUT, open_device(device_id=0))
    program = operation.program((x,), {}, load("wormhole_b0").default_grid)
    return inexact_operations(program)


def test_exact_operations_are_none():
    assert found(lambda x: x * 2 + x - ttl.math.relu(x)) == ()


def test_functions_and_operators_are_found_in_helpers_too():
    assert found(lambda x: helper(x) / x) == ("/", "exp")
    assert found(lambda x: ttl.math.tanh(x) @ x) == ("@", "tanh")
