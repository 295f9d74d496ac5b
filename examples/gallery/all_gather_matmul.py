"""y = a @ b where every node has a slice of a: slices go round a ring while they are multiplied.

No node ever holds all of a. The slice that a node has just multiplied is already on its way to the
next one, so the ring is as fast as the slower of the two, link or matrix unit.
"""

import numpy as np
import ttnn
from against_numpy import agree, tensor, values

import ttl

NODES = 4
ROWS, INNER, COLUMNS = 64, 256, 128


@ttl.operation(grid=(NODES, 1))
def all_gather_matmul(a: ttnn.Tensor, b: ttnn.Tensor, y: ttnn.Tensor) -> None:
    ring = ttl.PipeNet([ttl.Pipe((n, 0), ((n + 1) % NODES, 0)) for n in range(NODES)])
    rows = a.shape[0] // ttl.TILE_SIZE
    inner = a.shape[1] // ttl.TILE_SIZE // NODES
    columns = b.shape[1] // ttl.TILE_SIZE // NODES
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(rows, inner), block_count=2)
    sent_dfb = ttl.make_dataflow_buffer_like(a, shape=(rows, inner), block_count=2)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(inner, columns), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(rows, columns), block_count=1)

    node = ttl.node(dims=1)
    own = node * inner
    column = node * columns
    total = ttl.block.fill(0, shape=(rows, columns))
    with a_dfb.reserve() as a_blk:
        ttl.copy(a[:, own : own + inner], a_blk).wait()
    for step in range(NODES):
        row = (node - step) % NODES * inner  # of b: where the slice that is here came from
        with b_dfb.reserve() as b_blk:
            ttl.copy(b[row : row + inner, column : column + columns], b_blk).wait()
        with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
            if step < NODES - 1:
                with sent_dfb.reserve() as leaving:
                    leaving.store(a_blk)
            total += a_blk @ b_blk
        if step < NODES - 1:
            with sent_dfb.wait() as leaving:
                ring.if_src(lambda pipe: ttl.copy(leaving, pipe).wait())
            with a_dfb.reserve() as coming:
                ring.if_dst(lambda pipe: ttl.copy(pipe, coming).wait())
    with y_dfb.reserve() as y_blk:
        y_blk.store(total)
    with y_dfb.wait() as y_blk:
        ttl.copy(y_blk, y[:, column : column + columns]).wait()


def main() -> None:
    generator = np.random.default_rng(0)
    a = tensor(generator.standard_normal((ROWS, INNER)))
    b = tensor(generator.standard_normal((INNER, COLUMNS)))
    y = tensor(np.zeros((ROWS, COLUMNS)))
    all_gather_matmul(a, b, y)
    agree("all_gather_matmul", y, values(a) @ values(b), 0.01)


if __name__ == "__main__":
    main()
