"""Loops with bounds known only at run time that carry blocks and transfers."""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from differential.test_kernel_flow import agree, reader, run, writer
from ttl.diagnostics import TTLError


def count_at_run_time(number):
    return number + ttl.node(dims=1)  # 0 on the only node


def start(x, x_dfb, n):
    block = x_dfb.reserve()
    return block, ttl.copy(x[0, n], block)


def finish(pair):
    block, transfer = pair
    transfer.wait()
    block.push()


def prefetch(x, y, x_dfb, z_dfb, y_dfb):
    """Pairs of a block and its transfer; written blocks under way in a `while` with a break."""

    def compute():
        for _ in range(6):
            with x_dfb.wait() as a, y_dfb.reserve() as out:
                out.store(a + a)

    def read():
        held = start(x, x_dfb, 0)
        for i in range(1, count_at_run_time(6)):
            following = start(x, x_dfb, i)
            finish(held)
            held = following
        finish(held)

    def write():
        held = y_dfb.wait()
        transfer = ttl.copy(held, y[0, 0])
        i = count_at_run_time(1)
        while True:
            if i == 6:
                break
            following = y_dfb.wait()
            next_transfer = ttl.copy(following, y[0, i])
            transfer.wait()
            held.pop()
            held, transfer = following, next_transfer
            i += 1
        transfer.wait()
        held.pop()

    return compute, read, write


def two_ahead_by_a_condition(x, y, x_dfb, z_dfb, y_dfb):
    """The older block has the later name; every other iteration does nothing."""

    def compute():
        for _ in range(6):
            with x_dfb.wait() as a, y_dfb.reserve() as out:
                out.store(a * a)

    def read():
        z, z_transfer = start(x, x_dfb, 0)
        b, a_transfer = start(x, x_dfb, 1)
        for i in range(count_at_run_time(8)):
            if i % 2 == 1:
                following = start(x, x_dfb, i // 2 + 2)
                z_transfer.wait()
                z.push()
                z, z_transfer = b, a_transfer
                b, a_transfer = following
        finish((z, z_transfer))
        finish((b, a_transfer))

    return compute, read, writer(y, y_dfb)


def window(x, y, x_dfb, z_dfb, y_dfb):
    """A compute kernel that computes with the last three blocks."""

    def compute():
        z, a = x_dfb.wait(), x_dfb.wait()
        total = ttl.math.fill(0)
        for _ in range(count_at_run_time(4)):
            following = x_dfb.wait()
            total += z
            with y_dfb.reserve() as out:
                out.store(z - 2 * a + following + total)
            z.pop()
            z, a = a, following
        for _ in range(2):
            with y_dfb.reserve() as out:
                out.store(z * a)
        z.pop()
        a.pop()

    return compute, reader(x, x_dfb), writer(y, y_dfb)


def replaced_by_a_condition(x, y, x_dfb, z_dfb, y_dfb):
    def compute():
        held = x_dfb.wait()
        for i in range(count_at_run_time(6)):
            if i % 3 == 2:
                held.pop()
                held = x_dfb.wait()
            with y_dfb.reserve() as out:
                out.store(held + i)
        held.pop()

    return compute, reader(x, x_dfb, 3), writer(y, y_dfb)


PROGRAMS = [prefetch, two_ahead_by_a_condition, window, replaced_by_a_condition]


@pytest.mark.parametrize("kernels", PROGRAMS, ids=lambda kernels: kernels.__name__)
def test_compiled_as_simulated(kernels) -> None:
    assert np.abs(agree(kernels, block_count=3)[:32]).max(0).all()


def test_a_second_name_for_a_block_that_is_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def kernels(x, y, x_dfb, z_dfb, y_dfb):
        compute, _, write = prefetch(x, y, x_dfb, z_dfb, y_dfb)

        def read():
            first = held = x_dfb.reserve()
            for i in range(1, count_at_run_time(6)):
                ttl.copy(x[0, i], first).wait()
                held.push()
                held = x_dfb.reserve()
            ttl.copy(x[0, 0], held).wait()
            held.push()

        return compute, read, write

    monkeypatch.setenv("TTL_BACKEND", "host")
    with pytest.raises(TTLError, match="two names for a block that a loop carries") as caught:
        run(kernels)
    assert "TTL7001" in str(caught.value)
