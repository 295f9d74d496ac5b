"""y has the groups of rows of x, each one place further up, as one body with a barrier."""

import ttnn

import ttl

NODES = 4


@ttl.operation(grid=(NODES, 1))
def rotate_rows(x: ttnn.Tensor, scratch: ttnn.Tensor, y: ttnn.Tensor) -> None:
    rows_of_node = x.shape[0] // ttl.TILE_SIZE // NODES
    width = x.shape[1] // ttl.TILE_SIZE

    dfb = ttl.make_dataflow_buffer_like(x, shape=(rows_of_node, width), block_count=2)
    arrived = ttl.Semaphore(0)
    all_arrived = ttl.Semaphore(0)

    def part(tensor: ttnn.Tensor, number: int) -> object:
        first = number % NODES * rows_of_node
        return tensor[first : first + rows_of_node, 0:width]

    node, _ = ttl.node(dims=2)
    with dfb.reserve() as block:
        x_copy = ttl.copy(part(x, node), block)
        x_copy.wait()
    with dfb.wait() as block:
        scratch_copy = ttl.copy(block, part(scratch, node))
        scratch_copy.wait()
    arrived.get_remote((0, 0)).inc(1)
    if node == 0:
        arrived.wait_ge(NODES)
        all_arrived.get_remote_multicast().set(1)
    all_arrived.wait_ge(1)
    with dfb.reserve() as block:
        scratch_copy = ttl.copy(part(scratch, node + 1), block)
        scratch_copy.wait()
    with dfb.wait() as block:
        y_copy = ttl.copy(block, part(y, node))
        y_copy.wait()
