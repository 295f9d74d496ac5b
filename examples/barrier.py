"""A barrier of semaphores: nobody reads the scratch tensor before everybody has written to it.

Each node writes its part of x to a scratch tensor in DRAM, then reads the part of its neighbour. In
between, all nodes meet: each counts up a semaphore of node (0, 0), which then tells all of them.
"""

import time

import numpy as np
import ttnn
from sample_inputs import sample_inputs

import ttl

NODES = 4


@ttl.operation(grid=(NODES, 1))
def rotate_rows(x: ttnn.Tensor, scratch: ttnn.Tensor, y: ttnn.Tensor) -> None:
    """y has the groups of rows of x, each one place further up."""
    rows_of_node = x.shape[0] // ttl.TILE_SIZE // NODES
    width = x.shape[1] // ttl.TILE_SIZE

    dfb = ttl.make_dataflow_buffer_like(x, shape=(rows_of_node, width), block_count=2)
    arrived = ttl.Semaphore(0)
    all_arrived = ttl.Semaphore(0)

    def part(tensor: ttnn.Tensor, number: int) -> object:
        first = number % NODES * rows_of_node
        return tensor[first : first + rows_of_node, 0:width]

    @ttl.datamovement()
    def read() -> None:
        node, _ = ttl.node(dims=2)
        with dfb.reserve() as block:
            x_copy = ttl.copy(part(x, node), block)
            x_copy.wait()
        all_arrived.wait_ge(1)
        with dfb.reserve() as block:
            scratch_copy = ttl.copy(part(scratch, node + 1), block)
            scratch_copy.wait()

    @ttl.datamovement()
    def write() -> None:
        node, _ = ttl.node(dims=2)
        with dfb.wait() as block:
            scratch_copy = ttl.copy(block, part(scratch, node))
            scratch_copy.wait()
        arrived.get_remote((0, 0)).inc(1)
        if node == 0:
            arrived.wait_ge(NODES)
            all_arrived.get_remote_multicast().set(1)
        with dfb.wait() as block:
            y_copy = ttl.copy(block, part(y, node))
            y_copy.wait()


def main() -> None:
    device = ttnn.open_device(device_id=0)
    for name, arrays in sample_inputs(1):
        x = ttl.from_numpy(arrays[0], dtype=ttnn.bfloat16, device=device)
        scratch, y = ttnn.zeros_like(x), ttnn.zeros_like(x)
        start = time.perf_counter()
        rotate_rows(x, scratch, y)
        milliseconds = 1000 * (time.perf_counter() - start)
        expected = np.roll(ttl.to_numpy(x), -x.shape[0] // NODES, axis=0)
        wrong = np.count_nonzero(ttl.to_numpy(y) != expected)
        print(f"{name:10} {milliseconds:8.1f} ms   {wrong} wrong elements")


if __name__ == "__main__":
    main()
