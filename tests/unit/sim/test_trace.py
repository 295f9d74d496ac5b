"""The events of a run: what they say, and that they are the same every time."""

from __future__ import annotations

import sys

import numpy as np

import ttl
from recorded_events import events_of
from ttl import ttnn
from ttl.trace import EventKind, Recorder

DEVICE = ttnn.open_device(device_id=0)


def copy_operation(grid=(1, 1), blocks=1):
    @ttl.operation(grid=grid)
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=1)

        @ttl.datamovement()
        def read():
            for i in range(blocks):
                with dfb.reserve() as block:
                    ttl.copy(a[0, i], block).wait()

        @ttl.datamovement()
        def write():
            for i in range(blocks):
                with dfb.wait() as block:
                    ttl.copy(block, y[ttl.node(dims=1), i]).wait()

    return operation


FIRST_LINE = copy_operation.__code__.co_firstlineno


def events(simulate, **arguments):
    recorder = Recorder()
    a = ttnn.zeros((32, 32 * arguments.get("blocks", 1)), layout=ttnn.TILE_LAYOUT, device=DEVICE)
    y = ttnn.empty((32 * 12, a.shape[1]), layout=ttnn.TILE_LAYOUT, device=DEVICE)
    simulate(copy_operation(**arguments), a, y, recorder=recorder)
    return events_of(recorder)


def test_the_events_of_one_block(simulate) -> None:
    told = [
        (e.kernel, e.kind.value, e.subject, e.value, e.line - FIRST_LINE if e.line else 0)
        for e in events(simulate)
    ]
    assert told == [
        ("read", "kernel_start", "", 0, 0),
        ("read", "buffer_reserve", "dfb", 0, 8),
        ("read", "copy_start", "a", 2048, 9),
        ("read", "copy_end", "a", 2048, 9),
        ("read", "buffer_push", "dfb", 1, 8),
        ("read", "kernel_end", "", 0, 0),
        ("write", "kernel_start", "", 0, 0),
        ("write", "buffer_wait", "dfb", 1, 14),
        ("write", "copy_start", "y", 2048, 15),
        ("write", "copy_end", "y", 2048, 15),
        ("write", "buffer_pop", "dfb", 0, 14),
        ("write", "kernel_end", "", 0, 0),
    ]


def test_a_kernel_that_waits_is_seen_to_wait(simulate) -> None:
    kinds = [(e.kernel, e.kind) for e in events(simulate, blocks=2)]
    blocked = kinds.index(("read", EventKind.KERNEL_BLOCKED))
    resumed = kinds.index(("read", EventKind.KERNEL_RESUMED))
    assert blocked < kinds.index(("write", EventKind.BUFFER_POP)) < resumed


def test_two_runs_have_the_same_events(simulate) -> None:
    first = events(simulate, grid=(4, 3), blocks=5)
    assert first == events(simulate, grid=(4, 3), blocks=5)
    assert len({e.node for e in first}) == 12
    assert [e.tick for e in first] == list(range(len(first)))


def test_results_do_not_depend_on_recording(simulate) -> None:
    a = ttl.from_numpy(np.random.default_rng(0).standard_normal((32, 96)), device=DEVICE)
    plain, recorded = ttnn.empty_like(a), ttnn.empty_like(a)
    simulate(copy_operation(blocks=3), a, plain)
    simulate(copy_operation(blocks=3), a, recorded, recorder=Recorder())
    np.testing.assert_array_equal(ttl.to_numpy(plain), ttl.to_numpy(recorded))
    np.testing.assert_array_equal(ttl.to_numpy(plain), ttl.to_numpy(a))


def test_many_kernels_do_not_deepen_the_stack(simulate) -> None:
    """A kernel that sleeps must not start the next one on its own stack."""
    a = ttnn.zeros((32, 96), layout=ttnn.TILE_LAYOUT, device=DEVICE)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(60 + sum(1 for _ in _frames()))
    try:
        simulate(
            copy_operation(grid=(8, 8), blocks=3),
            a,
            ttnn.empty((64 * 32, 96), layout=ttnn.TILE_LAYOUT, device=DEVICE),
        )
    finally:
        sys.setrecursionlimit(limit)


def _frames():
    frame = sys._getframe()
    while frame is not None:
        yield frame
        frame = frame.f_back
