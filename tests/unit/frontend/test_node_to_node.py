"""What the frontend refuses of pipes and semaphores, and where."""

from __future__ import annotations

import pytest

import ttl
from ttl import ttnn
from ttl.diagnostics import CompileError
from ttl.frontend import build_module
from ttl.target import load

DEVICE = ttnn.open_device(device_id=0)

TARGET = load("wormhole_b0")


def refusals(operation, *tensors):
    """The slug, the line below the operation's first one, and the message of each mistake."""
    program = operation.program(tensors, {}, TARGET.default_grid)
    with pytest.raises(CompileError) as caught:
        build_module(program, TARGET)
    first = operation.function.__code__.co_firstlineno
    return [
        (found.code.slug, found.primary.span.line - first, found.message)
        for found in caught.value.diagnostics
    ]


def test_each_mistake_is_refused_at_its_line() -> None:
    @ttl.operation(grid=(3, 2))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        net = ttl.PipeNet([ttl.Pipe(0, 1)])
        semaphore = ttl.Semaphore()
        everybody = semaphore.get_remote_multicast()

        @ttl.datamovement()
        def dm():
            net.if_src(semaphore)
            net.if_src(lambda pipe: ttl.copy(pipe, dfb.reserve()))
            net.if_dst(lambda pipe: ttl.copy(dfb.wait(), pipe))
            net.if_dst(lambda pipe: print(pipe.dst))
            ttl.copy(ttl.Pipe(0, 1), dfb.reserve())
            ttl.copy(dfb.wait(), net)
            net.if_dst(lambda pipe: ttl.copy(pipe, a[0, 0]))
            semaphore.wait_eq(-1)
            semaphore.get_remote((3, 0))
            everybody.inc(1)
            net.if_src(lambda: None)

    a = ttnn.zeros((32, 32), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    found = refusals(operation, a)
    assert [line for _, line, _ in found] == list(range(9, 20))
    assert [slug for slug, _, _ in found] == [
        "wrong-argument",
        *["pipe-role"] * 2,
        "unknown-name",
        *["pipe-role"] * 2,
        "wrong-argument",
        "wrong-argument",
        "node-outside-grid",
        "unknown-name",
        "wrong-argument",
    ]


def test_pipes_and_semaphores_in_a_compute_kernel() -> None:
    @ttl.operation(grid=(2, 1))
    def operation(a):
        net = ttl.PipeNet([ttl.Pipe(0, 1)])
        semaphore = ttl.Semaphore()

        @ttl.compute()
        def compute():
            if net.is_active():
                net.if_src(lambda pipe: None)
                semaphore.set(1)

    a = ttnn.zeros((32, 32), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    assert [slug for slug, _, _ in refusals(operation, a)] == ["wrong-kernel-kind"] * 2


def test_names_of_blocks_have_no_effect() -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def read():
            with dfb.reserve(name="in") as block:
                ttl.copy(a[0, 0], block).wait()

        @ttl.datamovement()
        def write():
            with dfb.wait(name="out") as block:
                ttl.copy(block, a[0, 0]).wait()

    a = ttnn.zeros((32, 32), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    program = operation.program((a,), {}, TARGET.default_grid)
    build_module(program, TARGET)
