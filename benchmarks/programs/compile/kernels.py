"""`kernels.py KERNEL [REPEATS]`: compile one kernel, then again REPEATS times.

Either compiler runs this as it is: pyttlang, or the public one with the modules of standins/ in
place of torch and a ttnn that needs hardware. The last line is JSON: CPU seconds of the first
compilation, of each that follows, and of the process up to the first C++.
"""

# ruff: noqa: B023 - if_src and if_dst call the function at once, the loop has not gone on

import json
import os
import sys
import time

os.environ["TTLANG_COMPILE_ONLY"] = "1"

import ttnn

import ttl

BLOCK = 4  # tiles along each side of a block
STEPS = 4  # blocks along the inner dimension of the matrix product
SIZE = BLOCK * STEPS * 32
GRID = 4  # nodes along each side, where pipes are


def add(a, b, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(BLOCK, BLOCK), block_count=2)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(BLOCK, BLOCK), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(BLOCK, BLOCK), block_count=2)

    @ttl.compute()
    def compute():
        for _ in range(STEPS):
            with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
                y_blk.store(a_blk + b_blk)

    @ttl.datamovement()
    def read():
        for step in range(STEPS):
            row = step * BLOCK
            with a_dfb.reserve() as a_blk, b_dfb.reserve() as b_blk:
                a_copy = ttl.copy(a[row : row + BLOCK, 0:BLOCK], a_blk)
                b_copy = ttl.copy(b[row : row + BLOCK, 0:BLOCK], b_blk)
                a_copy.wait()
                b_copy.wait()

    @ttl.datamovement()
    def write():
        for step in range(STEPS):
            row = step * BLOCK
            with y_dfb.wait() as y_blk:
                y_copy = ttl.copy(y_blk, y[row : row + BLOCK, 0:BLOCK])
                y_copy.wait()


def multiply_add_exp(a, b, c, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(BLOCK, BLOCK), block_count=2)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(BLOCK, BLOCK), block_count=2)
    c_dfb = ttl.make_dataflow_buffer_like(c, shape=(BLOCK, BLOCK), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(BLOCK, BLOCK), block_count=2)

    @ttl.compute()
    def compute():
        for _ in range(STEPS):
            with (
                a_dfb.wait() as a_blk,
                b_dfb.wait() as b_blk,
                c_dfb.wait() as c_blk,
                y_dfb.reserve() as y_blk,
            ):
                y_blk.store(a_blk * b_blk + ttl.math.exp(c_blk))

    @ttl.datamovement()
    def read():
        for step in range(STEPS):
            row = step * BLOCK
            with a_dfb.reserve() as a_blk, b_dfb.reserve() as b_blk, c_dfb.reserve() as c_blk:
                a_copy = ttl.copy(a[row : row + BLOCK, 0:BLOCK], a_blk)
                b_copy = ttl.copy(b[row : row + BLOCK, 0:BLOCK], b_blk)
                c_copy = ttl.copy(c[row : row + BLOCK, 0:BLOCK], c_blk)
                a_copy.wait()
                b_copy.wait()
                c_copy.wait()

    @ttl.datamovement()
    def write():
        for step in range(STEPS):
            row = step * BLOCK
            with y_dfb.wait() as y_blk:
                y_copy = ttl.copy(y_blk, y[row : row + BLOCK, 0:BLOCK])
                y_copy.wait()


def matmul(a, b, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(BLOCK, BLOCK), block_count=2)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(BLOCK, BLOCK), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(BLOCK, BLOCK), block_count=2)

    @ttl.compute()
    def compute():
        with y_dfb.reserve() as y_blk:
            for _ in range(STEPS):
                with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
                    y_blk += a_blk @ b_blk

    @ttl.datamovement()
    def read():
        for step in range(STEPS):
            inner = step * BLOCK
            with a_dfb.reserve() as a_blk, b_dfb.reserve() as b_blk:
                a_copy = ttl.copy(a[0:BLOCK, inner : inner + BLOCK], a_blk)
                b_copy = ttl.copy(b[inner : inner + BLOCK, 0:BLOCK], b_blk)
                a_copy.wait()
                b_copy.wait()

    @ttl.datamovement()
    def write():
        with y_dfb.wait() as y_blk:
            y_copy = ttl.copy(y_blk, y[0:BLOCK, 0:BLOCK])
            y_copy.wait()


def broadcasts(a, b, c, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, BLOCK), block_count=2)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(BLOCK, 1), block_count=2)
    c_dfb = ttl.make_dataflow_buffer_like(c, shape=(1, 1), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(BLOCK, BLOCK), block_count=2)

    @ttl.compute()
    def compute():
        for _ in range(STEPS):
            with (
                a_dfb.wait() as a_blk,
                b_dfb.wait() as b_blk,
                c_dfb.wait() as c_blk,
                y_dfb.reserve() as y_blk,
            ):
                rows = ttl.math.broadcast(a_blk, y_blk, dims=[0])
                columns = ttl.math.broadcast(b_blk, y_blk, dims=[1])
                everywhere = ttl.math.broadcast(c_blk, y_blk, dims=[0, 1])
                y_blk.store(rows * columns + everywhere)

    @ttl.datamovement()
    def read():
        for step in range(STEPS):
            row = step * BLOCK
            with a_dfb.reserve() as a_blk, b_dfb.reserve() as b_blk, c_dfb.reserve() as c_blk:
                a_copy = ttl.copy(a[step : step + 1, 0:BLOCK], a_blk)
                b_copy = ttl.copy(b[row : row + BLOCK, 0:1], b_blk)
                c_copy = ttl.copy(c[step : step + 1, 0:1], c_blk)
                a_copy.wait()
                b_copy.wait()
                c_copy.wait()

    @ttl.datamovement()
    def write():
        for step in range(STEPS):
            row = step * BLOCK
            with y_dfb.wait() as y_blk:
                y_copy = ttl.copy(y_blk, y[row : row + BLOCK, 0:BLOCK])
                y_copy.wait()


def multicast_matmul(a, b, y):
    """The first node of a row of nodes reads blocks of a for the row, of a column those of b."""
    a_net = ttl.PipeNet([ttl.Pipe((0, row), (slice(0, GRID), row)) for row in range(GRID)])
    b_net = ttl.PipeNet([ttl.Pipe((column, 0), (column, slice(0, GRID))) for column in range(GRID)])
    a_out = ttl.make_dataflow_buffer_like(a, shape=(BLOCK, BLOCK), block_count=2)
    b_out = ttl.make_dataflow_buffer_like(b, shape=(BLOCK, BLOCK), block_count=2)
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(BLOCK, BLOCK), block_count=2)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(BLOCK, BLOCK), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(BLOCK, BLOCK), block_count=2)

    @ttl.compute()
    def compute():
        with y_dfb.reserve() as y_blk:
            for _ in range(STEPS):
                with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
                    y_blk += a_blk @ b_blk

    @ttl.datamovement()
    def send():
        column, row = ttl.node(dims=2)
        for step in range(STEPS):
            inner = step * BLOCK

            def send_a(pipe):
                with a_out.reserve() as block:
                    a_copy = ttl.copy(
                        a[row * BLOCK : (row + 1) * BLOCK, inner : inner + BLOCK], block
                    )
                    a_copy.wait()
                with a_out.wait() as block:
                    a_send = ttl.copy(block, pipe)
                    a_send.wait()

            def send_b(pipe):
                with b_out.reserve() as block:
                    b_copy = ttl.copy(
                        b[inner : inner + BLOCK, column * BLOCK : (column + 1) * BLOCK], block
                    )
                    b_copy.wait()
                with b_out.wait() as block:
                    b_send = ttl.copy(block, pipe)
                    b_send.wait()

            a_net.if_src(send_a)
            b_net.if_src(send_b)

    @ttl.datamovement()
    def receive():
        column, row = ttl.node(dims=2)
        for _ in range(STEPS):
            with a_dfb.reserve() as a_blk:

                def receive_a(pipe):
                    a_receive = ttl.copy(pipe, a_blk)
                    a_receive.wait()

                a_net.if_dst(receive_a)
            with b_dfb.reserve() as b_blk:

                def receive_b(pipe):
                    b_receive = ttl.copy(pipe, b_blk)
                    b_receive.wait()

                b_net.if_dst(receive_b)
        with y_dfb.wait() as y_blk:
            y_copy = ttl.copy(
                y_blk,
                y[row * BLOCK : (row + 1) * BLOCK, column * BLOCK : (column + 1) * BLOCK],
            )
            y_copy.wait()


def bias_relu(a, b, c, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(BLOCK, BLOCK), block_count=2)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(BLOCK, BLOCK), block_count=2)
    c_dfb = ttl.make_dataflow_buffer_like(c, shape=(BLOCK, BLOCK), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(BLOCK, BLOCK), block_count=2)

    @ttl.compute()
    def compute():
        for _ in range(STEPS):
            with (
                a_dfb.wait() as a_blk,
                b_dfb.wait() as b_blk,
                c_dfb.wait() as c_blk,
                y_dfb.reserve() as y_blk,
            ):
                y_blk.store(ttl.math.relu(a_blk @ b_blk + c_blk))

    @ttl.datamovement()
    def read():
        for step in range(STEPS):
            row = step * BLOCK
            with a_dfb.reserve() as a_blk, b_dfb.reserve() as b_blk, c_dfb.reserve() as c_blk:
                a_copy = ttl.copy(a[row : row + BLOCK, 0:BLOCK], a_blk)
                b_copy = ttl.copy(b[0:BLOCK, 0:BLOCK], b_blk)
                c_copy = ttl.copy(c[row : row + BLOCK, 0:BLOCK], c_blk)
                a_copy.wait()
                b_copy.wait()
                c_copy.wait()

    @ttl.datamovement()
    def write():
        for step in range(STEPS):
            row = step * BLOCK
            with y_dfb.wait() as y_blk:
                y_copy = ttl.copy(y_blk, y[row : row + BLOCK, 0:BLOCK])
                y_copy.wait()


def activations(a, b, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(BLOCK, BLOCK), block_count=2)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(BLOCK, BLOCK), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(BLOCK, BLOCK), block_count=2)

    @ttl.compute()
    def compute():
        for _ in range(STEPS):
            with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
                gate = ttl.math.sigmoid(a_blk) * ttl.math.tanh(b_blk)
                y_blk.store(ttl.math.sqrt(ttl.math.exp(gate)) + ttl.math.abs(a_blk - b_blk))

    @ttl.datamovement()
    def read():
        for step in range(STEPS):
            row = step * BLOCK
            with a_dfb.reserve() as a_blk, b_dfb.reserve() as b_blk:
                a_copy = ttl.copy(a[row : row + BLOCK, 0:BLOCK], a_blk)
                b_copy = ttl.copy(b[row : row + BLOCK, 0:BLOCK], b_blk)
                a_copy.wait()
                b_copy.wait()

    @ttl.datamovement()
    def write():
        for step in range(STEPS):
            row = step * BLOCK
            with y_dfb.wait() as y_blk:
                y_copy = ttl.copy(y_blk, y[row : row + BLOCK, 0:BLOCK])
                y_copy.wait()


def two_stages(a, b, y):
    """What the first stage computes goes through a buffer to the second."""
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(BLOCK, BLOCK), block_count=2)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(BLOCK, BLOCK), block_count=2)
    inner_dfb = ttl.make_dataflow_buffer_like(y, shape=(BLOCK, BLOCK), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(BLOCK, BLOCK), block_count=2)

    @ttl.compute()
    def compute():
        for _ in range(STEPS):
            with a_dfb.wait() as a_blk, inner_dfb.reserve() as inner_blk:
                inner_blk.store(ttl.math.exp(a_blk))
            with inner_dfb.wait() as inner_blk, b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
                y_blk.store(inner_blk * b_blk + inner_blk)

    @ttl.datamovement()
    def read():
        for step in range(STEPS):
            row = step * BLOCK
            with a_dfb.reserve() as a_blk, b_dfb.reserve() as b_blk:
                a_copy = ttl.copy(a[row : row + BLOCK, 0:BLOCK], a_blk)
                b_copy = ttl.copy(b[row : row + BLOCK, 0:BLOCK], b_blk)
                a_copy.wait()
                b_copy.wait()

    @ttl.datamovement()
    def write():
        for step in range(STEPS):
            row = step * BLOCK
            with y_dfb.wait() as y_blk:
                y_copy = ttl.copy(y_blk, y[row : row + BLOCK, 0:BLOCK])
                y_copy.wait()


def nested_loops(a, b, y):
    """Each node has its row and column of blocks, in two loops."""
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(1, 1), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)

    @ttl.compute()
    def compute():
        for _ in range(BLOCK):
            for _ in range(BLOCK):
                with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
                    y_blk.store(a_blk * b_blk)

    @ttl.datamovement()
    def read():
        node_column, node_row = ttl.node(dims=2)
        for i in range(BLOCK):
            for j in range(BLOCK):
                row = node_row * BLOCK + i
                column = node_column * BLOCK + j
                with a_dfb.reserve() as a_blk, b_dfb.reserve() as b_blk:
                    a_copy = ttl.copy(a[row, column], a_blk)
                    b_copy = ttl.copy(b[row, column], b_blk)
                    a_copy.wait()
                    b_copy.wait()

    @ttl.datamovement()
    def write():
        node_column, node_row = ttl.node(dims=2)
        for i in range(BLOCK):
            for j in range(BLOCK):
                row = node_row * BLOCK + i
                column = node_column * BLOCK + j
                with y_dfb.wait() as y_blk:
                    y_copy = ttl.copy(y_blk, y[row, column])
                    y_copy.wait()


def row_sums(a, b, y):
    """b holds ones: what the sums are multiplied by."""
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(BLOCK, BLOCK), block_count=2)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(1, 1), block_count=1)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(BLOCK, 1), block_count=2)

    @ttl.compute()
    def compute():
        with b_dfb.wait() as b_blk:
            for _ in range(STEPS):
                with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
                    y_blk.store(ttl.math.reduce_sum(a_blk, b_blk, dims=[1]))

    @ttl.datamovement()
    def read():
        with b_dfb.reserve() as b_blk:
            b_copy = ttl.copy(b[0, 0], b_blk)
            b_copy.wait()
        for step in range(STEPS):
            row = step * BLOCK
            with a_dfb.reserve() as a_blk:
                a_copy = ttl.copy(a[row : row + BLOCK, 0:BLOCK], a_blk)
                a_copy.wait()

    @ttl.datamovement()
    def write():
        for step in range(STEPS):
            row = step * BLOCK
            with y_dfb.wait() as y_blk:
                y_copy = ttl.copy(y_blk, y[row : row + BLOCK, 0:1])
                y_copy.wait()


KERNELS = {
    "add": (add, 3, 1),
    "multiply-add-exp": (multiply_add_exp, 4, 1),
    "matmul": (matmul, 3, 1),
    "broadcasts": (broadcasts, 4, 1),
    "multicast-matmul": (multicast_matmul, 3, GRID),
    "bias-relu": (bias_relu, 4, 1),
    "activations": (activations, 3, 1),
    "two-stages": (two_stages, 3, 1),
    "row-sums": (row_sums, 3, 1),
    "nested-loops": (nested_loops, 3, GRID),
}


def compile_once(function, tensors, grid):
    """An operation that no compiler has seen before, as far as it can tell."""
    forget()
    start = time.process_time()
    ttl.operation(grid=(grid, grid))(function)(*tensors)
    return time.process_time() - start


def forget():
    try:
        from ttl.driver import PROCESS_DRIVER
    except ImportError:  # the public compiler keeps what it compiled in the operation
        return
    PROCESS_DRIVER.artifacts.clear()


def main():
    function, count, grid = KERNELS[sys.argv[1]]
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    device = ttnn.open_device(device_id=0)
    tensors = [
        ttnn.zeros((SIZE, SIZE), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
        for _ in range(count)
    ]
    figures = {
        "first": compile_once(function, tensors, grid),
        "process": time.process_time(),
        "again": [compile_once(function, tensors, grid) for _ in range(repeats)],
    }
    print(f"\n{json.dumps(figures)}")


if __name__ == "__main__":
    main()
