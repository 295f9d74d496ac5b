"""A program that leaves out releases and waits compiles to what the explicit one compiles to."""
# ruff: noqa: F841

from __future__ import annotations

import pytest

import ttl
from ttl import ttnn
from ttl.codegen import assemble
from ttl.config import Config
from ttl.diagnostics import CompileError
from ttl.dialects import make_context
from ttl.driver.compile import compile_operation
from ttl.frontend import build_module
from ttl.language import Operation
from ttl.language.operation import Program
from ttl.passes import PIPELINE, find_pass, run_passes
from ttl.target import load

DEVICE = ttnn.open_device(device_id=0)

TARGET = load("wormhole_b0")


def implicit() -> Operation:
    @ttl.operation(grid=(1, 1))
    def double(a, y):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute():
            for _ in range(3):
                a_blk = a_dfb.wait()
                y_blk = y_dfb.reserve()
                y_blk.store(a_blk + a_blk)

        @ttl.datamovement()
        def read():
            for i in range(3):
                a_blk = a_dfb.reserve()
                ttl.copy(a[0, i], a_blk)

        @ttl.datamovement()
        def write():
            for i in range(3):
                y_blk = y_dfb.wait()
                y_copy = ttl.copy(y_blk, y[0, i])

    return double


def explicit() -> Operation:
    @ttl.operation(grid=(1, 1))
    def double(a, y):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute():
            for _ in range(3):
                with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
                    y_blk.store(a_blk + a_blk)

        @ttl.datamovement()
        def read():
            for i in range(3):
                a_blk = a_dfb.reserve()
                ttl.copy(a[0, i], a_blk).wait()
                a_blk.push()

        @ttl.datamovement()
        def write():
            for i in range(3):
                y_blk = y_dfb.wait()
                y_copy = ttl.copy(y_blk, y[0, i])
                y_copy.wait()
                y_blk.pop()

    return double


def program_of(operation: Operation) -> Program:
    tensors = [
        ttnn.zeros((32, 96), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE) for _ in "ay"
    ]
    return operation.program(tuple(tensors), {}, TARGET.default_grid)


def kernels(operation: Operation, removed: str | None = None) -> dict[str, str]:
    """The C++ of each kernel, without the lines that say where in this file it comes from."""
    module = build_module(program_of(operation), TARGET)
    passes = [find_pass(name)() for name in PIPELINE if name != removed]
    run_passes(passes, make_context(), module)
    module.verify()
    sources = {kernel.name: kernel.cpp_source for kernel in assemble("", module, ()).kernels}
    return {name: _without_places(source) for name, source in sources.items()}


def _without_places(source: str) -> str:
    lines = [line for line in source.splitlines() if not line.lstrip().startswith(("//", "#line"))]
    return "\n".join(line.split("//")[0].rstrip() for line in lines)


def test_the_kernels_are_those_of_the_explicit_program() -> None:
    assert kernels(implicit()) == kernels(explicit())


@pytest.mark.parametrize("removed", ["ttl-insert-copy-wait"])
def test_without_the_pass_the_copies_are_not_waited_for(removed: str) -> None:
    complete, without = kernels(implicit()), kernels(implicit(), removed)
    changed = [name for name in complete if complete[name] != without[name]]
    assert sorted(changed) == ["write"]  # the bare copy of `read` is waited for in its statement


def test_what_every_iteration_releases_is_not_compiled() -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def read():
            a_blk = a_dfb.reserve()
            ttl.copy(a[0, 0], a_blk)
            for _ in range(3):
                a_blk.push()

    with pytest.raises(CompileError, match="it was released"):
        compile_operation(program_of(operation), TARGET, Config())
