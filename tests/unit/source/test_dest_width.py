"""Simulator and compiler have the same width of registers: it is decided once, from the source.

(x + 256) - 256 of 0.3 keeps its digits in 32 bits and loses them in 16.
"""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from ttl import ttnn

DEVICE = ttnn.open_device(device_id=0)
OFF = False


def product(x):
    return x @ x


def cast(x):
    return ttl.math.typecast(ttl.math.typecast(x, ttnn.int32), ttnn.bfloat16)


def kept_in(container, dtype, **options):
    """An operation whose kernels find their buffers in what `container` makes of them."""

    @ttl.operation(grid=(1, 1), **options)
    def operation(x, y):
        x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))
        kept = container(x_dfb, y_dfb)

        @ttl.datamovement()
        def read():
            with x_dfb.reserve() as block:
                ttl.copy(x[0, 0], block).wait()

        @ttl.compute()
        def compute():
            with kept[0].wait() as a, kept[1].reserve() as b:
                b.store((a + 256) - 256)

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as block:
                ttl.copy(block, y[0, 0]).wait()

    return operation, dtype


def calculating(calculate, dtype=ttnn.bfloat16, **options):
    @ttl.operation(grid=(1, 1), **options)
    def operation(x, y):
        x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.datamovement()
        def read():
            with x_dfb.reserve() as block:
                ttl.copy(x[0, 0], block).wait()

        @ttl.compute()
        def compute():
            with x_dfb.wait() as a, y_dfb.reserve() as b:
                b.store(calculate(a))

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as block:
                ttl.copy(block, y[0, 0]).wait()

    return operation, dtype


def dead(x):
    if OFF:
        x = x @ x
    return (x + 256) - 256


def with_helper(x):
    both = product, dead
    return both[1](x)


def with_integers(x):
    return (x + 256) - 256 + ttl.math.min(cast(x), ttl.math.fill(0, shape=(1, 1)))


def multiplied(x):
    return (x + 256) - 256 + product(x) * 0


# What is made, and whether its registers are wide.
PROGRAMS = {
    "f32 buffers in a list": (kept_in(lambda *both: list(both), ttnn.float32), True),
    "f32 buffers in a dict": (kept_in(lambda x, y: {0: x, 1: y}, ttnn.float32), True),
    "bf16 buffers in a list": (kept_in(lambda *both: list(both), ttnn.bfloat16), False),
    "a product that is dead": (calculating(dead), False),
    "a helper that is not called": (calculating(with_helper), False),
    "a product in a helper": (calculating(multiplied), True),
    "a cast to integers": (calculating(with_integers), True),
    "an explicit choice": (calculating(dead, fp32_dest_acc_en=True), True),
    "the other": (calculating(multiplied, fp32_dest_acc_en=False), False),
}


@pytest.mark.parametrize("backend", ["sim", "host"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_simulator_and_compiler_agree(name, backend, monkeypatch) -> None:
    monkeypatch.setenv("TTL_BACKEND", backend)
    (operation, dtype), is_wide = PROGRAMS[name]
    values = np.full((32, 32), 0.3, np.float32)
    x = ttl.from_numpy(values, dtype=dtype, device=DEVICE)
    y = ttl.from_numpy(values * 0, dtype=dtype, device=DEVICE)
    operation(x, y)
    expected = x.to_numpy()[0, 0] if is_wide else 0.0
    assert y.to_numpy()[0, 0] == pytest.approx(expected, rel=1e-2 if is_wide else 0)


@pytest.mark.parametrize("backend", ["sim", "host"])
def test_one_choice_for_all_nodes(backend, monkeypatch) -> None:
    """The body is run for every node, and only one of them multiplies: there is one kernel."""
    monkeypatch.setenv("TTL_BACKEND", backend)

    @ttl.operation(grid=(2, 1))
    def operation(x, y):
        node = ttl.node(dims=1)
        multiplies = node == 1
        x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.datamovement()
        def read():
            with x_dfb.reserve() as block:
                ttl.copy(x[0, node], block).wait()

        @ttl.compute()
        def compute():
            with x_dfb.wait() as a, y_dfb.reserve() as b:
                if multiplies:
                    b.store(a @ a)
                else:
                    b.store((a + 256) - 256)

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as block:
                ttl.copy(block, y[0, node]).wait()

    values = np.full((32, 64), 0.3, np.float32)
    x = ttl.from_numpy(values, dtype=ttnn.bfloat16, device=DEVICE)
    y = ttl.from_numpy(values * 0, dtype=ttnn.bfloat16, device=DEVICE)
    operation(x, y)
    assert y.to_numpy()[0, 0] == pytest.approx(x.to_numpy()[0, 0], rel=1e-2)
