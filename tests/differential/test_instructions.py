"""What a stock RISC-V compiler makes of the kernels that move data."""

from __future__ import annotations

from typing import Any

import pytest

import ttl
from golden.example_programs import DEVICE, TARGET
from headers.riscv import count_instructions, missing
from ttl import ttnn
from ttl.config import Config
from ttl.driver.compile import compile_operation

SIDE, STEPS = 4, 4


def make_add(block_count: int) -> ttl.Operation:
    @ttl.operation(grid=(1, 1))
    def add(a: Any, b: Any, y: Any) -> None:
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(SIDE, SIDE), block_count=block_count)
        b_dfb = ttl.make_dataflow_buffer_like(b, shape=(SIDE, SIDE), block_count=block_count)
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(SIDE, SIDE), block_count=block_count)

        @ttl.compute()
        def compute() -> None:
            for _ in range(STEPS):
                with a_dfb.wait() as left, b_dfb.wait() as right, y_dfb.reserve() as result:
                    result.store(left + right)

        @ttl.datamovement()
        def read() -> None:
            for i in range(STEPS):
                columns = slice(SIDE * i, SIDE * (i + 1))
                with a_dfb.reserve() as left, b_dfb.reserve() as right:
                    copies = ttl.copy(a[0:SIDE, columns], left), ttl.copy(b[0:SIDE, columns], right)
                    for copy in copies:
                        copy.wait()

        @ttl.datamovement()
        def write() -> None:
            for i in range(STEPS):
                with y_dfb.wait() as result:
                    ttl.copy(result, y[0:SIDE, SIDE * i : SIDE * (i + 1)]).wait()

    return add


# The public compiler's reader has 222 instructions, of which 32 run for each tile.
@pytest.mark.skipif(missing() is not None, reason=str(missing()))
@pytest.mark.parametrize(
    ("block_count", "kernel", "most", "a_tile"),
    [(1, "read", 219, 32), (1, "write", 140, 36), (2, "read", 340, 32), (2, "write", 140, 36)],
)
def test_the_loop_over_tiles_is_short(
    block_count: int, kernel: str, most: int, a_tile: int
) -> None:
    shape = (32 * SIDE, 32 * SIDE * STEPS)
    tensors = [
        ttnn.zeros(shape, ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE) for _ in range(3)
    ]
    program = make_add(block_count).program(tuple(tensors), {}, TARGET.default_grid)
    found = count_instructions(compile_operation(program, TARGET, Config()), kernel)
    assert found.loops and max(found.loops) <= a_tile
    assert found.total <= most
