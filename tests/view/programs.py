"""Programs that the tests make pages of, and the command that makes them."""

from __future__ import annotations

import os
import sys
from unittest.mock import patch

from ttl.cli import main

SENT_ON = '''\
"""Two nodes: the first hands what it reads to the second."""

import numpy as np
import ttnn

import ttl

TILES = 4


@ttl.operation(grid=(2, 1))
def double(x, y):
    net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)

    @ttl.compute()
    def compute():
        for _ in range(TILES):
            with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                y_blk.store(x_blk + x_blk)

    @ttl.datamovement()
    def read():
        for i in range(TILES):
            with x_dfb.reserve() as x_blk:

                def send(pipe):
                    x_copy = ttl.copy(x[0:1, i : i + 1], x_blk)
                    x_copy.wait()
                    sent = ttl.copy(x_blk, pipe)
                    sent.wait()

                def receive(pipe):
                    received = ttl.copy(pipe, x_blk)
                    received.wait()

                net.if_src(send)
                net.if_dst(receive)

    @ttl.datamovement()
    def write():
        column, _ = ttl.node(dims=2)
        for i in range(TILES):
            with y_dfb.wait() as y_blk:
                y_copy = ttl.copy(y_blk, y[column : column + 1, i : i + 1])
                y_copy.wait()


device = ttnn.open_device(device_id=0)
x = ttl.from_numpy(np.ones((32, 32 * TILES), np.float32), dtype=ttnn.bfloat16, device=device)
y = ttl.from_numpy(np.zeros((64, 32 * TILES), np.float32), dtype=ttnn.bfloat16, device=device)
double(x, y)
assert (ttl.to_numpy(y) == 2).all()
'''

DEADLOCK = """\
import ttnn

import ttl


@ttl.operation(grid=(1, 1))
def stuck(x, y):
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)

    @ttl.compute()
    def compute():
        with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
            y_blk.store(x_blk + x_blk)

    @ttl.datamovement()
    def read():
        pass

    @ttl.datamovement()
    def write():
        with y_dfb.wait() as y_blk:
            y_copy = ttl.copy(y_blk, y[0:1, 0:1])
            y_copy.wait()


device = ttnn.open_device(device_id=0)
stuck(
    *(
        ttnn.ones((32, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
        for _ in "xy"
    )
)
"""


def line_of(text: str, program: str = SENT_ON) -> int:
    """Of the only line that has the text."""
    (line,) = [n for n, each in enumerate(program.splitlines(), 1) if text in each]
    return line


def ttl(*arguments: object) -> int:
    """The command, in this process, which it leaves as it was."""
    with (
        patch.dict(sys.modules, {"__main__": sys.modules["__main__"]}),
        patch.object(sys, "argv", ["ttl", *map(str, arguments)]),
        patch.object(sys, "path", sys.path.copy()),
        patch.dict(os.environ),
    ):
        return main([str(each) for each in arguments])
