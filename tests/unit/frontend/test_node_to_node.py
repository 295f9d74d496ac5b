"""What the compiler says to pipes and semaphores: not yet, and where."""

from __future__ import annotations

import pytest

import ttl
from ttl import ttnn
from ttl.diagnostics import CompileError
from ttl.frontend import build_module
from ttl.target import load

DEVICE = ttnn.open_device(device_id=0)

TARGET = load("wormhole_b0")


def test_each_call_is_refused_at_its_line() -> None:
    @ttl.operation(grid=(2, 1))
    def operation(a):
        net = ttl.PipeNet([ttl.Pipe(0, 1)])
        semaphore = ttl.Semaphore()
        remote = semaphore.get_remote(0)
        everybody = semaphore.get_remote_multicast()

        @ttl.datamovement()
        def dm():
            net.if_src(print)
            net.if_dst(print)
            net.is_active()
            semaphore.wait_eq(1)
            remote.inc(1)
            everybody.set(2)

    a = ttnn.zeros((32, 32), ttnn.float32, device=DEVICE)
    program = operation.program((a,), {}, TARGET.default_grid)
    with pytest.raises(CompileError) as caught:
        build_module(program, TARGET)
    found = caught.value.diagnostics
    assert {diagnostic.code.code for diagnostic in found} == {"TTL7001"}
    first = operation.function.__code__.co_firstlineno + 9
    assert [d.primary.span.line - first for d in found if d.primary] == list(range(6))
    assert [d.message.split("'")[1] for d in found] == [
        "PipeNet.if_src",
        "PipeNet.if_dst",
        "PipeNet.is_active",
        "Semaphore.wait_eq",
        "UnicastRemoteSemaphore.inc",
        "MulticastRemoteSemaphore.set",
    ]


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

    a = ttnn.zeros((32, 32), ttnn.float32, device=DEVICE)
    program = operation.program((a,), {}, TARGET.default_grid)
    build_module(program, TARGET)
