"""Kernels that ask instead of waiting, and kernels that never let others run."""

from __future__ import annotations

import sys
import threading
import time
import weakref
from contextlib import suppress

import pytest

import ttl
from recorded_events import events_of
from ttl import sim, ttnn
from ttl.diagnostics import KernelFault
from ttl.sim import watchdog
from ttl.sim.watchdog import Spinning
from ttl.target import load
from ttl.trace import EventKind, Recorder

DEVICE = ttnn.open_device(device_id=0)

TARGET = load("wormhole_b0")


def run(operation, *args, **options):
    program = operation.program(args, {}, TARGET.default_grid)
    sim.run(program, target=TARGET, **options)


def test_polling_lets_others_run(simulate, tensor) -> None:
    asked = []

    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=1)

        @ttl.datamovement()
        def write():
            for i in range(4):
                while not dfb.can_wait():
                    asked.append(i)
                with dfb.wait(name="in") as block:
                    ttl.copy(block, y[0, i]).wait()

        @ttl.datamovement()
        def read():
            for i in range(4):
                while not dfb.can_reserve():
                    asked.append(i)
                with dfb.reserve(name="out") as block:
                    ttl.copy(a[0, i], block).wait()

    a, y = (
        tensor(32, 128),
        ttnn.zeros((32, 128), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE),
    )
    simulate(operation, a, y)
    assert ttl.to_numpy(y).tolist() == ttl.to_numpy(a).tolist()
    assert asked


def test_an_answer_is_of_this_moment(simulate, tensor) -> None:
    seen = []

    @ttl.operation(grid=(1, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=1)

        @ttl.datamovement()
        def dm():
            seen.append((dfb.can_reserve(), dfb.can_wait()))
            block = dfb.reserve()
            seen.append((dfb.can_reserve(), dfb.can_wait()))
            ttl.copy(a[0, 0], block).wait()
            block.push()
            seen.append((dfb.can_reserve(), dfb.can_wait()))
            with dfb.wait() as block:
                ttl.copy(block, a[0, 0]).wait()

    simulate(operation, tensor())
    assert seen == [(True, False), (False, False), (False, True)]


def polling(loop):
    @ttl.operation(grid=(2, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        other = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def poll():
            loop(dfb, other)

        @ttl.datamovement()
        def sleeps():
            other.wait()

    return operation


@pytest.mark.timeout(60)
def test_polling_for_what_never_comes(report, tensor) -> None:
    def loop(dfb, other):
        while not dfb.can_wait():
            pass

    found = report(polling(loop), tensor())
    assert (found.code, found.primary) == ("deadlock", "dfb.can_wait()")
    text = "`poll` waits for a block in `dfb` (0 of 2 filled), and asks again and again"
    assert text in found.text
    assert "other.wait()" in found.marked("-")


@pytest.mark.timeout(60)
def test_polling_for_what_is_never_taken(report, tensor) -> None:
    def loop(dfb, other):
        while dfb.can_reserve():
            pass

    assert report(polling(loop), tensor()).code == "deadlock"


def test_a_bounded_poll_may_fail(simulate, tensor) -> None:
    seen = []

    @ttl.operation(grid=(1, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def dm():
            seen.append(any(dfb.can_wait() for _ in range(100)))

    simulate(operation, tensor())
    assert seen == [False]


# Never letting others run


def spinning(loop):
    @ttl.operation(grid=(2, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.compute()
        def waits():
            dfb.wait()

        @ttl.datamovement()
        def spin():
            loop()

    return operation


def for_ever():
    number = 0
    while True:
        number += 1


def in_spite_of_exceptions():
    while True:
        with suppress(Exception):
            for_ever()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("loop", [for_ever, in_spite_of_exceptions])
def test_a_loop_that_never_ends(tensor, loop) -> None:
    with pytest.raises(ttl.KernelFault) as caught:
        run(spinning(loop), tensor(), spin_seconds=0.2)
    text = str(caught.value)
    assert caught.value.diagnostics[0].code.slug == "spinning"
    assert "error[TTL5004]: kernel `spin` ran for 0." in text
    assert "without letting others run" in text
    assert "still running here" in text
    assert "while True" in text or "number += 1" in text
    assert "in kernel `spin` on node (0, 0)" in text
    assert "src/ttl" not in text
    time.sleep(0.05)  # nothing of the watchdog is left that could strike here
    assert traced_events() == ["call", "line", "return"]


def traced_events() -> list[str]:
    """Python 3.11 goes round for ever here if an interrupt was taken back."""
    events = []

    def trace(frame, event, argument):
        if frame.f_code is traced.__code__:
            events.append(event)
        return trace

    def traced():
        return 1

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        traced()
    finally:
        sys.settrace(before)
    return events


@pytest.mark.timeout(60)
def test_a_loop_of_the_language_that_never_ends(tensor) -> None:
    def loop():
        while True:
            ttl.grid_size()

    started = time.monotonic()
    with pytest.raises(ttl.KernelFault, match="TTL5004"):
        run(spinning(loop), tensor(), spin_seconds=0.1)
    assert time.monotonic() - started < 50


def test_work_that_takes_long_is_not_spinning(tensor) -> None:
    """More than the budget in all, less between two calls."""

    @ttl.operation(grid=(1, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def dm():
            for _ in range(10):
                end = time.thread_time() + 0.1
                while time.thread_time() < end:
                    pass
                with dfb.reserve() as block:
                    ttl.copy(a[0, 0], block).wait()
                with dfb.wait() as block:
                    ttl.copy(block, a[0, 0]).wait()

    run(operation, tensor(), spin_seconds=0.5)


def test_sleeping_is_not_spinning(tensor) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a):
        @ttl.datamovement()
        def dm():
            time.sleep(0.5)

    run(operation, tensor(), spin_seconds=0.05)


def test_the_interrupt_is_not_an_exception_of_the_user() -> None:
    assert not issubclass(Spinning, Exception)


# Trace


def test_pipes_and_semaphores_in_the_trace(simulate, tensor) -> None:
    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])
        done = ttl.Semaphore()

        @ttl.datamovement()
        def dm():
            with dfb.reserve() as block:
                if net.is_src():
                    ttl.copy(a[0, 0], block).wait()
                    net.if_src(lambda pipe: ttl.copy(block, pipe).wait())
                    done.wait_ge(2)
                net.if_dst(lambda pipe: ttl.copy(pipe, block).wait())
                if net.is_dst():
                    done.get_remote(0).inc(1)
                    done.get_remote(0).set(2)
            with dfb.wait() as block:
                ttl.copy(block, y[0, ttl.node(dims=1)]).wait()

    recorder = Recorder()
    a = tensor()
    y = ttnn.zeros((32, 64), dtype=a.dtype, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    simulate(operation, a, y, recorder=recorder)
    kinds = ("pipe", "semaphore", "kernel_blocked", "kernel_resumed")
    told = [
        (event.node[0], event.kind.value, event.subject, event.value)
        for event in events_of(recorder)
        if event.kind.value.startswith(kinds)
    ]
    pipe = "pipe (0, 0) -> (1, 0)"
    assert [event for event in told if event[0] == 0] == [
        (0, "pipe_send", pipe, 4096),
        (0, "kernel_blocked", pipe, 0),
        (0, "kernel_resumed", pipe, 0),
        (0, "pipe_send_end", pipe, 4096),
        *[event for event in told if event[:3] == (0, "kernel_blocked", "done")],
        *[event for event in told if event[:3] == (0, "kernel_resumed", "done")],
        (0, "semaphore_wait", "done", 2),
    ]
    assert [event for event in told if event[0] == 1] == [
        (1, "pipe_receive", pipe, 4096),
        (1, "pipe_receive_end", pipe, 4096),
        (1, "semaphore_inc", "done", 1),
        (1, "semaphore_set", "done", 2),
    ]
    lines = {event.line for event in events_of(recorder) if event.kind is EventKind.PIPE_SEND}
    assert len(lines) == 1 and lines != {0}


def test_a_kernel_that_computes_without_end_has_a_step_budget(monkeypatch, tensor) -> None:
    """Long before it has used the CPU time that busy kernels get."""
    monkeypatch.setattr(watchdog, "STEP_BUDGET", 1000)

    @ttl.operation(grid=(1, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def read():
            with dfb.reserve() as block:
                ttl.copy(a[0, 0], block).wait()

        @ttl.compute()
        def compute():
            with dfb.wait() as block:
                value = block + 1
                while True:
                    value = value + block

    with pytest.raises(KernelFault, match=r"computed \d+ block expressions without letting"):
        run(operation, tensor(), spin_seconds=60)


def test_the_thread_that_looks_keeps_nothing_of_a_run_that_ended() -> None:
    looked = threading.Event()

    class Progress:
        def __call__(self) -> int:
            looked.set()
            return 0

    progress = Progress()
    with watchdog.watchdog(0.04, progress, lambda: 0):
        assert looked.wait(timeout=60)
    kept = weakref.ref(progress)
    del progress
    with watchdog._watchers().lock():  # its look is over
        assert kept() is None
