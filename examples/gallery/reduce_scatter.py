"""Every node of a ring ends with the sum of one part of what all nodes have.

Partial sums go round the ring and grow: at each stop the node adds its own numbers for the part
that has just arrived. After one round less a step, each part is complete on a node of its own.
"""

import numpy as np
import ttnn
from against_numpy import agree, tensor, values

import ttl

NODES = 4
WIDTH = 64


@ttl.operation(grid=(NODES, 1))
def reduce_scatter(x: ttnn.Tensor, y: ttnn.Tensor) -> None:
    """Row n of tiles is what node n has; column block p is part p of it."""
    ring = ttl.PipeNet([ttl.Pipe((n, 0), ((n + 1) % NODES, 0)) for n in range(NODES)])
    width = x.shape[1] // ttl.TILE_SIZE // NODES
    own_dfb, sent_dfb, got_dfb, y_dfb = (
        ttl.make_dataflow_buffer_like(each, shape=(1, width), block_count=2)
        for each in (x, x, x, y)
    )
    node = ttl.node(dims=1)
    part = (node - 1) % NODES * width
    with own_dfb.reserve() as own:
        ttl.copy(x[node, part : part + width], own).wait()
    with own_dfb.wait() as own, sent_dfb.reserve() as leaving:
        leaving.store(own)
    for step in range(NODES - 1):
        part = (node - step - 2) % NODES * width
        with own_dfb.reserve() as own:
            ttl.copy(x[node, part : part + width], own).wait()
        with sent_dfb.wait() as leaving:
            ring.if_src(lambda pipe: ttl.copy(leaving, pipe).wait())
        with got_dfb.reserve() as coming:
            ring.if_dst(lambda pipe: ttl.copy(pipe, coming).wait())
        with got_dfb.wait() as got, own_dfb.wait() as own:
            if step < NODES - 2:
                with sent_dfb.reserve() as leaving:
                    leaving.store(got + own)
            else:
                with y_dfb.reserve() as y_blk:
                    y_blk.store(got + own)
    with y_dfb.wait() as y_blk:
        ttl.copy(y_blk, y[node, :]).wait()


def main() -> None:
    generator = np.random.default_rng(0)
    height = ttl.TILE_SIZE
    x = tensor(generator.standard_normal((NODES * height, NODES * WIDTH)), ttnn.float32)
    y = tensor(np.zeros((NODES * height, WIDTH)), ttnn.float32)
    reduce_scatter(x, y)
    whole = values(x).reshape(NODES, height, NODES * WIDTH).sum(axis=0)
    agree("reduce_scatter", y, np.vstack(np.split(whole, NODES, axis=1)), 1e-5)


if __name__ == "__main__":
    main()
