"""Values that differ between nodes, from the body of an operation to the artifact."""

from __future__ import annotations

import re

import ttl
from golden.example_programs import DEVICE, TARGET
from ttl import ttnn
from ttl.artifact import CompiledOperation, CoreArguments, ThreadKind
from ttl.config import Config
from ttl.driver.compile import compile_operation


@ttl.operation(grid=(2, 2))
def doubled(x, y):  # type: ignore[no-untyped-def]
    column, row = ttl.node(dims=2)
    first = 2 * row + column
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)

    @ttl.compute()
    def compute():  # type: ignore[no-untyped-def]
        with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
            y_blk.store(x_blk + x_blk)

    @ttl.datamovement()
    def read():  # type: ignore[no-untyped-def]
        with x_dfb.reserve() as x_blk:
            ttl.copy(x[first, 0], x_blk).wait()

    @ttl.datamovement()
    def write():  # type: ignore[no-untyped-def]
        with y_dfb.wait() as y_blk:
            ttl.copy(y_blk, y[first, 0]).wait()


def compiled() -> CompiledOperation:
    tensors = [
        ttnn.zeros((128, 32), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE)
        for _ in range(2)
    ]
    program = doubled.program(tuple(tensors), {}, TARGET.default_grid)
    return compile_operation(program, TARGET, Config())


def test_each_core_has_its_own_words() -> None:
    kernels = {kernel.thread: kernel for kernel in compiled().kernels}
    nodes = [(0, 0), (1, 0), (0, 1), (1, 1)]
    reader = kernels[ThreadKind.READER]
    assert reader.runtime_arg_names == ("first",)
    assert reader.runtime_args == tuple(CoreArguments(n, (i,)) for i, n in enumerate(nodes))
    assert kernels[ThreadKind.WRITER].runtime_args == reader.runtime_args
    assert kernels[ThreadKind.COMPUTE].runtime_args == ()
    assert re.search(r"get_arg_val<\w+>\(0\)", reader.cpp_source)
