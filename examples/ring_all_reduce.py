"""Every node of a ring gets the sum of what all nodes have: blocks go round, each node adds.

A node passes on the block it got last while it receives the next one, so all links of the ring are
in use all the time.
"""
# ruff: noqa: B023 - if_src and if_dst call the function at once, the loop has not gone on

import time

import numpy as np
import ttnn
from sample_inputs import sample_inputs

import ttl

NODES = 4
BLOCK = 2  # tiles along each side of a block


@ttl.operation(grid=(NODES, 1))
def ring_all_reduce(x: ttnn.Tensor, y: ttnn.Tensor) -> None:
    """Node n has the n-th group of rows of x; in y every group is the sum of those of x."""
    ring = ttl.PipeNet([ttl.Pipe((n, 0), ((n + 1) % NODES, 0)) for n in range(NODES)])
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(BLOCK, BLOCK), block_count=3)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(BLOCK, BLOCK), block_count=2)

    rows_of_node = x.shape[0] // ttl.TILE_SIZE // NODES
    columns = x.shape[1] // ttl.TILE_SIZE

    @ttl.compute()
    def add() -> None:
        for _ in range(0, rows_of_node, BLOCK):
            for _ in range(0, columns, BLOCK):
                total = ttl.math.fill(0, shape=(BLOCK, BLOCK))
                for _ in range(NODES):
                    with x_dfb.wait() as x_blk:
                        total += x_blk
                with y_dfb.reserve() as y_blk:
                    y_blk.store(total)

    @ttl.datamovement()
    def hand_round() -> None:
        first = ttl.node(dims=1) * rows_of_node
        for row in range(first, first + rows_of_node, BLOCK):
            for column in range(0, columns, BLOCK):
                held = x_dfb.reserve()
                x_copy = ttl.copy(x[row : row + BLOCK, column : column + BLOCK], held)
                x_copy.wait()
                for _ in range(NODES - 1):
                    following = x_dfb.reserve()
                    both = ttl.GroupTransfer()
                    ring.if_dst(lambda pipe: both.add(ttl.copy(pipe, following)))
                    ring.if_src(lambda pipe: both.add(ttl.copy(held, pipe)))
                    both.wait_all()
                    held.push()
                    held = following
                held.push()

    @ttl.datamovement()
    def write() -> None:
        first = ttl.node(dims=1) * rows_of_node
        for row in range(first, first + rows_of_node, BLOCK):
            for column in range(0, columns, BLOCK):
                with y_dfb.wait() as y_blk:
                    y_copy = ttl.copy(y_blk, y[row : row + BLOCK, column : column + BLOCK])
                    y_copy.wait()


def main() -> None:
    device = ttnn.open_device(device_id=0)
    for name, arrays in sample_inputs(1):
        x = ttl.from_numpy(arrays[0], dtype=ttnn.bfloat16, device=device)
        y = ttnn.zeros_like(x)
        start = time.perf_counter()
        ring_all_reduce(x, y)
        milliseconds = 1000 * (time.perf_counter() - start)
        groups = ttl.to_numpy(x).astype(np.float32).reshape(NODES, -1, x.shape[1])
        expected = np.tile(groups.sum(axis=0), (NODES, 1))
        error = np.abs(ttl.to_numpy(y) - expected).max() / np.abs(expected).max()
        print(f"{name:10} {milliseconds:8.1f} ms   largest error {error:.2%} of the largest value")


if __name__ == "__main__":
    main()
