"""Exceptions and deadlocks in kernels, and what is left afterwards."""

from __future__ import annotations

import json
import signal
import sys

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.diagnostics import InternalError, KernelFault, UsageError

DEVICE = ttnn.open_device(device_id=0)


def with_kernel(function, grid=(1, 1)):
    @ttl.operation(grid=grid)
    def operation(a):
        @ttl.datamovement()
        def kernel():
            function(a)

    return operation


def inner(a):
    return ("→äöü", (1, 2)[9])


def outer(a):
    return inner(a)


def test_an_exception_points_at_the_innermost_line_of_the_user(report, tensor) -> None:
    found = report(with_kernel(outer), tensor())
    assert (found.code, found.primary) == ("kernel-exception", "(1, 2)[9]")
    assert "error[TTL5002]: kernel `kernel` raised IndexError: tuple index out" in found.text
    assert found.marked("-") == ["inner(a)", "function(a)"]
    assert found.text.count("called from here") == 2
    assert "= in kernel `kernel` on node (0, 0)" in found.text
    assert isinstance(found.error.__cause__, IndexError)


def test_a_broken_rule_in_a_helper_shows_the_way_there(report, tensor) -> None:
    def helper(a):
        return a[5, 5]

    found = report(with_kernel(lambda a: helper(a)), tensor())
    assert found.primary == "a[5, 5]"
    assert found.marked("-") == ["helper(a)", "function(a)"]


def test_an_exception_inside_a_library_points_at_the_call(report, tensor) -> None:
    def parse(a):
        return json.loads("{")

    def shape(a):
        return np.zeros(3) + np.zeros(4)

    assert report(with_kernel(parse), tensor()).primary == 'json.loads("{")'
    assert report(with_kernel(shape), tensor()).primary == "np.zeros(3) + np.zeros(4)"


class Stop(BaseException):
    pass


def stop(number, frame):
    raise Stop


def interrupted(a):
    try:
        signal.raise_signal(signal.SIGINT)
    except BaseException:
        raise


@pytest.mark.parametrize(
    ("handler", "error"), [(signal.default_int_handler, KeyboardInterrupt), (stop, Stop)]
)
def test_interrupts_pass_through(simulate, tensor, handler, error) -> None:
    before = signal.signal(signal.SIGINT, handler)
    try:
        with pytest.raises(error):
            simulate(with_kernel(interrupted), tensor())
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("error", [KeyboardInterrupt, GeneratorExit, Stop])
def test_what_a_kernel_raises_is_no_interrupt(report, tensor, error) -> None:
    def raises(a):
        raise error

    found = report(with_kernel(raises), tensor())
    assert (found.code, found.primary) == ("kernel-exception", "raise error")
    assert f"kernel `kernel` raised {error.__name__}" in found.text


def test_a_kernel_does_not_end_the_process(report, tensor) -> None:
    found = report(with_kernel(lambda a: sys.exit(3)), tensor())
    assert found.primary == "sys.exit(3)"
    assert "kernel `kernel` raised SystemExit: 3" in found.text
    assert "use `return`" in found.text


def test_a_usage_error_stays_one(simulate, tensor) -> None:
    with pytest.raises(UsageError, match=r"ttl\.math has no `exq`"):
        simulate(with_kernel(lambda a: ttl.math.exq), tensor())


def test_a_fault_of_ours_is_not_the_users(simulate, tensor, monkeypatch) -> None:
    source = "def part(*_): raise ZeroDivisionError('made up')"
    names: dict = {}
    exec(compile(source, ttnn.storage.__file__, "exec"), names)
    monkeypatch.setattr(ttnn.storage.TileStorage, "part", names["part"])

    @ttl.operation(grid=(1, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def kernel():
            ttl.copy(a[0, 0], dfb.reserve()).wait()

    with pytest.raises(InternalError, match=r"TTL9001.*failed: ZeroDivisionError: made up"):
        simulate(operation, tensor())


def test_one_fault_stops_all_nodes_and_tensors_keep_what_was_written(simulate) -> None:
    cleaned_up = []

    @ttl.operation(grid=(2, 2))
    def operation(y):
        dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute():
            for value in (1, 2):
                with dfb.reserve() as block:
                    block.store(ttl.math.fill(value))
            if ttl.node(1) == 3:
                raise RuntimeError("node 3 has had enough")
            try:
                for _ in range(3):  # more than anybody takes
                    with dfb.reserve() as block:
                        block.store(ttl.math.fill(0))
            finally:
                cleaned_up.append(ttl.node(1))

        @ttl.datamovement()
        def write():
            with dfb.wait() as block:
                ttl.copy(block, y[0, ttl.node(1)]).wait()

    y = ttnn.zeros((32, 128), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    with pytest.raises(KernelFault, match="node 3 has had enough") as caught:
        simulate(operation, y)
    assert len(caught.value.diagnostics) == 1
    assert "on node (1, 1)" in str(caught.value)
    assert sorted(cleaned_up) == [0, 1, 2]
    written = ttl.to_numpy(y)[0, ::32].tolist()
    assert set(written) <= {0.0, 1.0}

    @ttl.operation(grid=(1, 1))
    def after(y):
        @ttl.datamovement()
        def nothing():
            pass

    simulate(after, y)


def test_cleanup_cannot_wait_once_the_run_is_over(simulate, tensor) -> None:
    cleaned_up = []

    @ttl.operation(grid=(1, 1))
    def operation(a):
        one = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.compute()
        def sleeper():
            try:
                try:
                    one.wait()
                finally:
                    one.wait()
            finally:
                cleaned_up.append("sleeper")

        @ttl.datamovement()
        def failing():
            raise ValueError("first")

    with pytest.raises(KernelFault, match="first") as caught:
        simulate(operation, tensor())
    assert cleaned_up == ["sleeper"]
    del caught


def test_a_cycle_of_kernels(report, tensor) -> None:
    @ttl.operation(grid=(2, 2))
    def operation(a):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        b_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.compute()
        def compute():
            for _ in range(3):
                with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
                    a_blk + b_blk

        @ttl.datamovement()
        def read():
            for _ in range(3):
                with b_dfb.reserve() as block:
                    ttl.copy(a[0, 0], block).wait()
            for _ in range(3):
                with a_dfb.reserve() as block:
                    ttl.copy(a[0, 0], block).wait()

    found = report(operation, tensor())
    assert (found.code, found.primary) == ("deadlock", "a_dfb.wait()")
    assert "deadlock: 2 kernels on 4 nodes wait for each other" in found.text
    assert "cycle: compute -> a_dfb -> read -> b_dfb -> compute" in found.text
    assert "b_dfb.reserve()" in found.marked("-")
    assert "(2 of 2 filled)" in found.text


def test_waiting_for_a_kernel_that_has_ended(report, tensor) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        def take():
            with a_dfb.wait() as block:
                ttl.math.relu(block)

        @ttl.compute()
        def compute():
            for _ in range(2):
                take()

        @ttl.datamovement()
        def read():
            with a_dfb.reserve() as block:
                ttl.copy(a[0, 0], block).wait()

    found = report(operation, tensor())
    assert (found.code, found.primary) == ("deadlock", "a_dfb.wait()")
    assert "`compute` waits on `a_dfb`, but `read` has ended pushing to it" in found.text


def test_waiting_for_nobody(report, tensor) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.compute()
        def compute():
            a_dfb.wait()

    found = report(operation, tensor())
    assert "`compute` waits on `a_dfb`, to which no kernel pushes" in found.text


def test_a_producer_behind_a_helper_is_not_called_nobody(report, tensor) -> None:
    def fill(dfb):
        dfb.reserve()

    @ttl.operation(grid=(1, 1))
    def operation(a):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        b_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.compute()
        def compute():
            a_dfb.wait()

        @ttl.datamovement()
        def read():
            b_dfb.wait()
            fill(a_dfb)

        @ttl.datamovement()
        def write():
            fill(b_dfb) if False else None

    found = report(operation, tensor())
    assert found.code == "deadlock"
    assert "`a_dfb`, to which no kernel pushes" not in found.text
    assert "nobody pushes to `a_dfb`" not in found.text
