"""`+=` on blocks, reading reserved blocks and storing into waited ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ttl
from block_runs import run, run_statement
from ttl import ttnn
from ttl.diagnostics import KernelFault

DEVICE = ttnn.open_device(device_id=0)

ONE = np.ones((32, 32), np.float32)


def add_ones(y: Any, x: Any, *, times: int = 16) -> None:
    y += x * 256
    for _ in range(times):
        y += x


@pytest.mark.parametrize(("fp32", "expected"), [(True, 272), (False, 256), (None, 256)])
def test_a_running_sum_has_the_format_of_dst(fp32: bool | None, expected: float) -> None:
    found = run_statement(add_ones, ONE, dtype=ttnn.bfloat16, fp32=fp32)
    assert (found.astype(np.float32) == expected).all()


def test_storing_the_sum_rounds_every_time() -> None:
    def statement(y: Any, x: Any) -> None:
        y.store(x * 256)
        for _ in range(16):
            y.store(y + x)

    found = run_statement(statement, ONE, dtype=ttnn.bfloat16, fp32=True)
    assert (found.astype(np.float32) == 256).all()


def test_reading_ends_the_running_sum() -> None:
    """256 + 1 is rounded when it is read, and the next sum starts from there."""

    def statement(y: Any, x: Any) -> None:
        y += x * 256
        y += x
        assert y + x is not None
        y += x

    found = run_statement(statement, ONE, dtype=ttnn.bfloat16, fp32=True)
    assert (found.astype(np.float32) == 256).all()


def test_a_sum_goes_on_from_a_stored_value() -> None:
    def statement(y: Any, x: Any) -> None:
        y.store(x + 4)
        y += x
        y += 2

    np.testing.assert_array_equal(run_statement(statement, ONE), ONE * 8)


def test_a_block_is_a_sum_of_itself() -> None:
    def statement(y: Any, x: Any) -> None:
        y += x * 3
        y += y

    np.testing.assert_array_equal(run_statement(statement, ONE), ONE * 6)


def test_a_sum_takes_fills_broadcasts_and_other_float_formats() -> None:
    def statement(y: Any, x: Any) -> None:
        y += ttl.math.fill(3)
        y += ttl.math.broadcast(x, dims=[-1])
        y += ttl.math.typecast(x, ttnn.bfloat16)

    np.testing.assert_array_equal(run_statement(statement, ONE), ONE * 5)


def test_a_sum_of_integers_wraps() -> None:
    def statement(y: Any, x: Any) -> None:
        y += x * 2147483647
        y += x

    found = run_statement(statement, ONE.astype(np.int64), dtype=ttnn.int32)
    assert (found == -2147483648).all()


def test_plus_equals_on_a_waited_block_is_a_store() -> None:
    """So it rounds every time, also in a 32-bit DST."""

    def statement(y: Any, x: Any) -> None:
        x.store(x * 256)
        for _ in range(16):
            x += 1
        y.store(x)

    found = run_statement(statement, ONE, dtype=ttnn.bfloat16, fp32=True)
    assert (found.astype(np.float32) == 256).all()


def test_expressions_accumulate_over_a_loop() -> None:
    def expression(a: Any, b: Any) -> Any:
        total = ttl.math.fill(0)
        for _ in range(3):
            total += a @ b
        return total

    np.testing.assert_array_equal(run(expression, ONE, ONE), ONE * 96)


def test_storing_into_a_waited_block_leaves_the_buffer_alone() -> None:
    slots = []

    def statement(y: Any, x: Any) -> None:
        slots.append(x.array)
        before = x + 0
        x.store(x * 7)
        y.store(x + before)

    np.testing.assert_array_equal(run_statement(statement, ONE), ONE * 8)
    assert (slots[0] == 1).all()


def refused(statement: Any) -> str:
    with pytest.raises(KernelFault) as caught:
        run_statement(statement, ONE)
    return str(caught.value)


def test_the_states_see_every_event() -> None:
    def sum_of_garbage(y: Any, x: Any) -> None:
        y += y

    assert "nothing has been written to it since reserve()" in refused(sum_of_garbage)

    def sum_into_the_released(y: Any, x: Any) -> None:
        y += x
        y.push()
        y += x

    assert "cannot be added to now: it was released" in refused(sum_into_the_released)


def test_what_is_added_must_fit() -> None:
    def shape(y: Any, x: Any) -> None:
        y += ttl.math.fill(1, shape=(2, 2))

    assert "[TTL2001]" in refused(shape)

    def truth(y: Any, x: Any) -> None:
        y += True

    assert "[TTL1003]" in refused(truth)

    def fraction(y: Any, x: Any) -> None:
        y += 0.5

    with pytest.raises(KernelFault, match="is not a number of int32"):
        run_statement(fraction, ONE.astype(np.int64), dtype=ttnn.int32)


def test_plus_equals_belongs_to_compute_kernels() -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def move():
            with dfb.reserve() as block:
                block += 1

    with pytest.raises(KernelFault, match=r"\+= on a block is not allowed in a datamovement"):
        operation(ttl.from_numpy(ONE, device=DEVICE))
