"""Values carried around loops: the smallest programs that once compiled to wrong code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import ttl
from ttl import ttnn

STEPS = 3


def operation_of(body: Callable[..., None], steps: int = STEPS) -> ttl.Operation:
    """One node; `body(a_dfb, b_dfb, y_dfb)` computes, `steps` tiles of a and b are read."""

    @ttl.operation(grid=(1, 1))
    def operation(a, b, y):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        b_dfb = ttl.make_dataflow_buffer_like(b, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))
        compute = body(a_dfb, b_dfb, y_dfb)
        ttl.compute()(compute)

        @ttl.datamovement()
        def read():
            for i in range(steps):
                with a_dfb.reserve() as a_blk, b_dfb.reserve() as b_blk:
                    a_copy = ttl.copy(a[i, 0], a_blk)
                    b_copy = ttl.copy(b[i, 0], b_blk)
                    a_copy.wait()
                    b_copy.wait()

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as y_blk:
                y_copy = ttl.copy(y_blk, y[0, 0])
                y_copy.wait()

    return operation


def run(operation: ttl.Operation, steps: int = STEPS) -> np.ndarray:
    generator = np.random.default_rng(7)
    device = ttnn.open_device(device_id=0)
    arrays = [generator.uniform(-1, 1, (32 * steps, 32)) for _ in range(2)]
    a, b = (ttl.from_numpy(x, dtype=ttnn.bfloat16, device=device) for x in arrays)
    y = ttnn.zeros((32, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
    operation(a, b, y)
    return ttl.to_numpy(y).astype(np.float32)


def agree(operation: ttl.Operation, monkeypatch, steps: int = STEPS) -> None:
    simulated = run(operation, steps)
    monkeypatch.setenv("TTL_BACKEND", "host")
    compiled = run(operation, steps)
    assert np.abs(simulated).max() > 1
    np.testing.assert_allclose(compiled, simulated, rtol=2**-7, atol=2**-6)


def test_two_accumulators_in_one_loop(monkeypatch) -> None:
    def body(a_dfb, b_dfb, y_dfb):
        def compute():
            s = ttl.math.fill(0, shape=(1, 1))
            t = ttl.math.fill(0, shape=(1, 1))
            for _ in range(STEPS):
                with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
                    s += a_blk @ b_blk
                    t += b_blk @ a_blk
            with y_dfb.reserve() as y_blk:
                y_blk.store(s - t)

        return compute

    agree(operation_of(body), monkeypatch)


def test_one_of_two_accumulators(monkeypatch) -> None:
    def body(a_dfb, b_dfb, y_dfb):
        def compute():
            s = ttl.math.fill(0, shape=(1, 1))
            t = ttl.math.fill(0, shape=(1, 1))
            for _ in range(STEPS):
                with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
                    s += a_blk @ b_blk
                    t += b_blk @ a_blk
            with y_dfb.reserve() as y_blk:
                y_blk.store(s)

        return compute

    agree(operation_of(body), monkeypatch)


def test_an_accumulator_through_nested_loops(monkeypatch) -> None:
    def body(a_dfb, b_dfb, y_dfb):
        def compute():
            s = ttl.math.fill(0, shape=(1, 1))
            for _ in range(2):
                for _ in range(2):
                    with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
                        s += a_blk @ b_blk
            with y_dfb.reserve() as y_blk:
                y_blk.store(s)

        return compute

    agree(operation_of(body, steps=4), monkeypatch, steps=4)


def test_two_accumulators_with_one_start(monkeypatch) -> None:
    def body(a_dfb, b_dfb, y_dfb):
        def compute():
            s = ttl.math.fill(0, shape=(1, 1))
            t = s
            for _ in range(STEPS):
                with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
                    s += a_blk @ b_blk
                    t += b_blk @ a_blk
            with y_dfb.reserve() as y_blk:
                y_blk.store(s - t)

        return compute

    agree(operation_of(body), monkeypatch)


def test_a_block_that_starts_empty_in_a_loop_in_a_loop(monkeypatch) -> None:
    """The packer overwrites in the first turn of the inner loop, whatever turn of the outer."""

    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(2, 2))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(2, 2))

        @ttl.compute()
        def compute():
            for _ in range(2):
                with y_dfb.reserve() as y_blk:
                    for _ in range(STEPS):
                        with a_dfb.wait() as a_blk:
                            y_blk += a_blk * a_blk

        @ttl.datamovement()
        def read():
            for row in range(2):
                for _ in range(STEPS):
                    with a_dfb.reserve() as a_blk:
                        ttl.copy(a[2 * row : 2 * row + 2, 0:2], a_blk).wait()

        @ttl.datamovement()
        def write():
            for row in range(2):
                with y_dfb.wait() as y_blk:
                    ttl.copy(y_blk, y[2 * row : 2 * row + 2, 0:2]).wait()

    numbers = np.random.default_rng(7).integers(-9, 9, (128, 64)).astype(np.float32)
    device = ttnn.open_device(device_id=0)
    for backend in ("sim", "host"):
        monkeypatch.setenv("TTL_BACKEND", backend)
        a = ttl.from_numpy(numbers, dtype=ttnn.float32, device=device)
        y = ttnn.zeros_like(a)
        operation(a, y)
        np.testing.assert_array_equal(ttl.to_numpy(y), STEPS * numbers * numbers)
