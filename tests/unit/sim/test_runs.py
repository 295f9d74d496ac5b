"""Runs beside and after each other: threads, interrupts, what a run leaves behind."""

from __future__ import annotations

import builtins
import gc
import sys
import threading
import weakref
from contextlib import suppress

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.config import chosen_options
from ttl.diagnostics import CompileError, KernelFault, RuleBroken, TTLError, UsageError
from ttl.sim import slots, workers

DEVICE = ttnn.open_device(device_id=0)


def tensor(*shape, value=1.0, dtype=ttnn.bfloat16):
    array = np.full(shape or (32, 32), value, np.float32)
    return ttl.from_numpy(array, dtype=dtype, device=DEVICE)


@ttl.operation(grid=(1, 1))
def copied(a, y):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

    @ttl.datamovement()
    def read():
        with dfb.reserve() as block:
            ttl.copy(a[0, 0], block).wait()

    @ttl.datamovement()
    def write():
        with dfb.wait() as block:
            ttl.copy(block, y[0, 0]).wait()


def test_a_run_keeps_no_tensor_alive() -> None:
    alive = []
    for _ in range(3):
        a, y = tensor(), tensor(value=0)
        alive.append(weakref.ref(a.storage.elements))
        copied(a, y)
        del a, y
    gc.collect()
    assert [reference() for reference in alive] == [None] * 3


@pytest.mark.unwatched("it counts objects")
def test_a_run_leaves_nothing_to_the_garbage_collector() -> None:
    """A collection of what 64 nodes leave takes as long as launching them."""
    a, y = tensor(), tensor(value=0)
    copied(a, y)
    gc.collect()
    gc.disable()
    try:
        copied(a, y)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_block_that_outlives_its_run() -> None:
    """It shows itself, and any use is refused."""
    kept = []

    @ttl.operation(grid=(1, 1))
    def keeps(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def read():
            with dfb.reserve() as block:
                ttl.copy(a[0, 0], block).wait()

        @ttl.datamovement()
        def write():
            with dfb.wait() as block:
                ttl.copy(block, a[0, 0]).wait()
                kept.append(block)

    keeps(tensor())
    (block,) = kept
    assert "dfb" in repr(block) and "dfb" in block._repr_html_() and "dfb" in str(block)
    for use in (block.pop, block.push, block.__enter__, lambda: block.store(block), block.release):
        with pytest.raises(RuleBroken, match="dfb"):
            use()


def test_a_worker_that_was_ended_is_not_used_again() -> None:
    copied(tensor(), tensor())
    ended = workers.Worker()
    ended.throw()
    workers._IDLE.workers.append(ended)
    y = tensor(value=0)
    copied(tensor(), y)
    assert ttl.to_numpy(y).all()


def left_to_helper(dfb, y, column):
    block = dfb.wait()  # never popped: supplied
    ttl.copy(block, y[0, column]).wait()


@pytest.mark.unwatched("its calls are made in threads")
def test_threads_share_a_helper_that_leaves_out_a_release(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first run to end does not take the supplied calls away from the others."""
    inside, first_has_ended = threading.Event(), threading.Event()

    def wait_for_each_other(is_second: bool) -> None:
        if is_second:
            inside.set()
            first_has_ended.wait(10)
        else:
            inside.wait(10)

    monkeypatch.setattr(sys, "breakpointhook", wait_for_each_other)

    @ttl.operation(grid=(1, 1))
    def operation(y, is_second: bool):
        dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.datamovement()
        def read():
            for column in range(4):
                with dfb.reserve() as block:
                    ttl.copy(y[0, column], block).wait()

        @ttl.datamovement()
        def write():
            breakpoint(is_second)
            for column in range(4):
                left_to_helper(dfb, y, column)

    faults = []

    def run(is_second):
        try:
            operation(tensor(32, 128), is_second)
        except BaseException as error:
            faults.append(error)
        if not is_second:
            first_has_ended.set()

    original = builtins.print
    threads = [threading.Thread(target=run, args=(is_second,)) for is_second in (False, True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert builtins.print is original


@pytest.mark.unwatched("a call stands in another one")
def test_a_helper_is_compiled_while_a_run_has_changed_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its definition is that of its own code, whatever code it has for the run."""

    def make(stops: bool):
        @ttl.operation(grid=(1, 1))
        def operation(y):
            dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

            @ttl.datamovement()
            def read():
                with dfb.reserve() as block:
                    ttl.copy(y[0, 0], block).wait()

            @ttl.datamovement()
            def write():
                if stops:
                    breakpoint()
                left_to_helper(dfb, y, 0)

        return operation

    faults = []

    def compile_another() -> None:
        try:
            with chosen_options(backend="host", compile_only=True):
                make(stops=False)(tensor())
        except TTLError as error:
            faults.append(error)

    def stop() -> None:
        thread = threading.Thread(target=compile_another)
        thread.start()
        thread.join()

    monkeypatch.setattr(sys, "breakpointhook", stop)
    make(stops=True)(tensor())
    assert faults == []


def kept_by_except(call):
    try:
        call()
    except BaseException:
        return


def kept_by_finally(call):
    for _ in range(1):
        try:
            call()
        finally:
            break  # noqa: B012 - what the test is about


@pytest.mark.parametrize("keep", [kept_by_except, kept_by_finally])
def test_a_broken_rule_cannot_be_kept(keep) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a):
        @ttl.datamovement()
        def read():
            keep(lambda: a[5, 5])

    with pytest.raises(CompileError, match="`try`: not part of the language"):
        operation(tensor())


def test_a_kernel_that_keeps_its_own_end_does_not_hang() -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def read():
            while True:
                with suppress(BaseException):
                    dfb.reserve()

        @ttl.datamovement()
        def write():
            dfb.wait()

    with pytest.raises(KernelFault, match="push a block of `dfb` before reserving the next"):
        operation(tensor())


def test_a_recursion_without_end_is_the_users() -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a):
        @ttl.datamovement()
        def read():
            def again():
                a[0, 0]
                again()

            again()

    with pytest.raises(CompileError, match="calls itself more than 32 times, or without end"):
        operation(tensor())


# Tensors that kernels capture ---------------------------------------------------------------------


def capturing(captured):
    """An operation that copies a tensor of the program to its argument."""

    @ttl.operation(grid=(1, 1))
    def operation(y):
        dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.datamovement()
        def read():
            with dfb.reserve() as block:
                ttl.copy(captured[0, 0], block).wait()

        @ttl.datamovement()
        def write():
            with dfb.wait() as block:
                ttl.copy(block, y[0, 0]).wait()

    return operation


def test_a_captured_tensor_is_read_in_every_mode(monkeypatch) -> None:
    for wide in ("0", "1"):
        monkeypatch.setenv("TTL_FLOAT32", wide)
        y = tensor(value=0)
        capturing(tensor(value=3))(y)
        assert (ttl.to_numpy(y) == 3).all()


def test_a_captured_tensor_is_kept_in_a_dry_run(monkeypatch) -> None:
    monkeypatch.setenv("TTL_DRY_RUN", "1")
    captured = tensor(value=3)

    @ttl.operation(grid=(1, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def read():
            with dfb.reserve() as block:
                ttl.copy(a[0, 0], block).wait()

        @ttl.datamovement()
        def write():
            with dfb.wait() as block:
                ttl.copy(block, captured[0, 0]).wait()

    operation(tensor())
    assert (ttl.to_numpy(captured) == 3).all()


def test_a_captured_tensor_is_checked_as_arguments_are() -> None:
    host = ttl.from_numpy(np.ones((32, 32), np.float32), dtype=ttnn.bfloat16)
    capturing(host)(tensor())
    empty = ttnn.zeros((32, 0), layout=ttnn.TILE_LAYOUT, device=DEVICE)
    with pytest.raises(UsageError, match="captured tensor `captured` of operation is an empty"):
        capturing(empty)(tensor())
    other = ttnn.zeros((32, 32), layout=ttnn.TILE_LAYOUT, device=ttnn.open_device(device_id=1))
    with pytest.raises(UsageError, match="is on device 1, argument `y` on device 0"):
        capturing(other)(tensor())


def test_asking_whether_a_name_exists_is_no_mistake() -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a):
        @ttl.datamovement()
        def read():
            assert not hasattr(ttl, "nope")
            assert getattr(ttl.math, "nope", 3) == 3

    operation(tensor())


def test_the_transfer_that_is_still_under_way_is_shown() -> None:
    """Two transfers read a block; the second is waited for, the first is not."""

    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def read():
            with dfb.reserve() as block:
                ttl.copy(a[0, 0], block).wait()
                first = ttl.copy(block, y[0, 0])
                ttl.copy(block, y[0, 0]).wait()
                block.push()
                first.wait()

    with pytest.raises(KernelFault, match="a transfer that reads it has not been waited") as raised:
        operation(tensor(), tensor())
    labels = [label.text for label in raised.value.diagnostics[0].secondary]
    assert "the transfer started here" in labels


def kept_slots(operation, *tensors) -> int:
    """How many buffers' worth of memory a run has taken."""
    kept = slots._KEPT
    kept.slots.clear()
    kept.bytes = 0
    operation(*tensors)
    return sum(len(alike) for alike in kept.slots.values())


def test_nodes_that_run_one_after_the_other_share_the_memory_of_their_blocks() -> None:
    @ttl.operation(grid=(4, 1))
    def on_four_nodes(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def read():
            column, _ = ttl.node(dims=2)
            with dfb.reserve() as block:
                ttl.copy(a[0, column], block).wait()

        @ttl.datamovement()
        def write():
            column, _ = ttl.node(dims=2)
            with dfb.wait() as block:
                ttl.copy(block, y[0, column]).wait()

    a, y = tensor(32, 128), tensor(32, 128, value=0)
    assert kept_slots(on_four_nodes, a, y) == 1
    assert ttl.to_numpy(y).all()


def test_memory_stays_with_a_node_while_one_of_its_kernels_may_use_it() -> None:
    """The reader has ended before the writer starts: what it pushed is still to be read."""

    @ttl.operation(grid=(2, 1))
    def sent_on(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        arrived = ttl.Semaphore()

        @ttl.datamovement()
        def read():
            column, _ = ttl.node(dims=2)
            with dfb.reserve() as block:
                ttl.copy(a[0, column], block).wait()
            arrived.get_remote((1 - column, 0)).inc(1)

        @ttl.datamovement()
        def write():
            column, _ = ttl.node(dims=2)
            arrived.wait_ge(1)  # the other node has filled its block by then
            with dfb.wait() as block:
                ttl.copy(block, y[0, column]).wait()

    values = np.repeat([[1.0, 2.0]], 32, axis=1).astype(np.float32).repeat(32, axis=0)
    a = ttl.from_numpy(values, dtype=ttnn.bfloat16, device=DEVICE)
    y = tensor(32, 64, value=0)
    assert kept_slots(sent_on, a, y) == 2
    assert np.array_equal(ttl.to_numpy(y), values)
