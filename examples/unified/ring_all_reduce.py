"""Every node of a ring gets the sum of what all nodes have, as one body.

The compute thread adds each block that comes and stores it again for the next node: so what is
received lies in one buffer, and what is sent in another.
"""

import ttnn

import ttl

NODES = 4
BLOCK = 2  # tiles along each side of a block


@ttl.operation(grid=(NODES, 1))
def ring_all_reduce(x: ttnn.Tensor, y: ttnn.Tensor) -> None:
    ring = ttl.PipeNet([ttl.Pipe((n, 0), ((n + 1) % NODES, 0)) for n in range(NODES)])
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(BLOCK, BLOCK), block_count=2)
    sent_dfb = ttl.make_dataflow_buffer_like(x, shape=(BLOCK, BLOCK), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(BLOCK, BLOCK), block_count=2)

    rows_of_node = x.shape[0] // ttl.TILE_SIZE // NODES
    columns = x.shape[1] // ttl.TILE_SIZE
    first = ttl.node(dims=1) * rows_of_node
    for row in range(first, first + rows_of_node, BLOCK):
        for column in range(0, columns, BLOCK):
            with x_dfb.reserve() as own:
                ttl.copy(x[row : row + BLOCK, column : column + BLOCK], own).wait()
            total = ttl.math.fill(0, shape=(BLOCK, BLOCK))
            for _ in range(NODES - 1):
                with x_dfb.wait() as held, sent_dfb.reserve() as following:
                    total += held
                    following.store(held)
                with sent_dfb.wait() as leaving:
                    ring.if_src(lambda pipe: ttl.copy(leaving, pipe).wait())
                with x_dfb.reserve() as coming:
                    ring.if_dst(lambda pipe: ttl.copy(pipe, coming).wait())
            with x_dfb.wait() as last, y_dfb.reserve() as y_blk:
                total += last
                y_blk.store(total)
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[row : row + BLOCK, column : column + BLOCK]).wait()
