"""y = a @ b on a 2x2 grid: a node reads the blocks of its row or column once and sends them on."""
# ruff: noqa: B023 - if_src and if_dst call the function at once, the loop has not gone on

import time

import numpy as np
import ttnn
from sample_inputs import sample_inputs

import ttl

BLOCK = 2  # tiles along each side of a block
GRID = 2  # nodes along each side


@ttl.operation(grid=(GRID, GRID))
def multicast_matmul(a: ttnn.Tensor, b: ttnn.Tensor, y: ttnn.Tensor) -> None:
    a_net = ttl.PipeNet([ttl.Pipe((0, row), (slice(1, GRID), row)) for row in range(GRID)])
    b_net = ttl.PipeNet([ttl.Pipe((column, 0), (column, slice(1, GRID))) for column in range(GRID)])
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(BLOCK, BLOCK), block_count=2)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(BLOCK, BLOCK), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(BLOCK, BLOCK), block_count=2)

    m_blocks = a.shape[0] // (BLOCK * ttl.TILE_SIZE) // GRID
    n_blocks = b.shape[1] // (BLOCK * ttl.TILE_SIZE) // GRID
    k_blocks = a.shape[1] // (BLOCK * ttl.TILE_SIZE)

    @ttl.compute()
    def compute() -> None:
        for _ in range(m_blocks):
            for _ in range(n_blocks):
                total = ttl.math.fill(0, shape=(BLOCK, BLOCK))
                for _ in range(k_blocks):
                    with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
                        total += a_blk @ b_blk
                with y_dfb.reserve() as y_blk:
                    y_blk.store(total)

    @ttl.datamovement()
    def read_a() -> None:
        _, node_row = ttl.node(dims=2)
        for i in range(m_blocks):
            row = (node_row * m_blocks + i) * BLOCK
            for _ in range(n_blocks):
                for step in range(0, k_blocks * BLOCK, BLOCK):
                    a_blk = a_dfb.reserve()

                    def send(pipe: ttl.SrcPipeIdentity) -> None:
                        a_copy = ttl.copy(a[row : row + BLOCK, step : step + BLOCK], a_blk)
                        a_copy.wait()
                        a_sent = ttl.copy(a_blk, pipe)
                        a_sent.wait()

                    def receive(pipe: ttl.DstPipeIdentity) -> None:
                        a_received = ttl.copy(pipe, a_blk)
                        a_received.wait()

                    a_net.if_src(send)
                    a_net.if_dst(receive)
                    a_blk.push()

    @ttl.datamovement()
    def read_b_and_write() -> None:
        node_column, node_row = ttl.node(dims=2)
        for i in range(m_blocks):
            row = (node_row * m_blocks + i) * BLOCK
            for j in range(n_blocks):
                column = (node_column * n_blocks + j) * BLOCK
                for step in range(0, k_blocks * BLOCK, BLOCK):
                    b_blk = b_dfb.reserve()

                    def send(pipe: ttl.SrcPipeIdentity) -> None:
                        b_copy = ttl.copy(b[step : step + BLOCK, column : column + BLOCK], b_blk)
                        b_copy.wait()
                        b_sent = ttl.copy(b_blk, pipe)
                        b_sent.wait()

                    def receive(pipe: ttl.DstPipeIdentity) -> None:
                        b_received = ttl.copy(pipe, b_blk)
                        b_received.wait()

                    b_net.if_src(send)
                    b_net.if_dst(receive)
                    b_blk.push()
                y_blk = y_dfb.wait()
                y_copy = ttl.copy(y_blk, y[row : row + BLOCK, column : column + BLOCK])
                y_copy.wait()
                y_blk.pop()


def main() -> None:
    device = ttnn.open_device(device_id=0)
    for name, arrays in sample_inputs(2):
        inputs = [ttl.from_numpy(x, dtype=ttnn.bfloat16, device=device) for x in arrays]
        output = ttnn.zeros_like(inputs[0])
        start = time.perf_counter()
        multicast_matmul(*inputs, output)
        milliseconds = 1000 * (time.perf_counter() - start)
        a, b = (ttl.to_numpy(x).astype(np.float32) for x in inputs)
        expected = a @ b
        error = np.abs(ttl.to_numpy(output) - expected).max() / np.abs(expected).max()
        print(f"{name:10} {milliseconds:8.1f} ms   largest error {error:.2%} of the largest value")


if __name__ == "__main__":
    main()
