"""A program that needs the passes that the examples do not need.

An operation is composed and its result multiplied, a sum is too large for the registers, a signpost
is there, and each block goes to its own node by a pipe.
"""

from __future__ import annotations

import ttl
from golden.example_programs import DEVICE, TARGET
from ttl import ttnn
from ttl.language.operation import Program

STEPS, SIDE = 3, 3


@ttl.operation(grid=(1, 1), fp32_dest_acc_en=True)
def stages(a, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(SIDE, SIDE), block_count=2)
    sent_dfb = ttl.make_dataflow_buffer_like(a, shape=(SIDE, SIDE), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(SIDE, SIDE), block_count=2)
    net = ttl.PipeNet([ttl.Pipe(src=(0, 0), dst=(0, 0))])

    @ttl.compute()
    def compute():
        with y_dfb.reserve() as y_blk:
            for _ in range(STEPS):
                with a_dfb.wait() as block:
                    y_blk += (block // block) @ block

    @ttl.datamovement()
    def read():
        for step in range(STEPS):
            with ttl.signpost("load"), sent_dfb.reserve() as block:
                ttl.copy(a[0:SIDE, step * SIDE : (step + 1) * SIDE], block)
            with sent_dfb.wait() as block:
                net.if_src(lambda pipe, block=block: ttl.copy(block, pipe).wait())

    @ttl.datamovement()
    def write():
        for _ in range(STEPS):
            with a_dfb.reserve() as block:
                net.if_dst(lambda pipe, block=block: ttl.copy(pipe, block).wait())
        with y_dfb.wait() as block:
            ttl.copy(block, y[0:SIDE, 0:SIDE]).wait()


def stages_program() -> Program:
    rows = SIDE * 32
    tensors = [
        ttnn.zeros((rows, width), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE)
        for width in (rows * STEPS, rows)
    ]
    return stages.program(tuple(tensors), {}, TARGET.default_grid)
