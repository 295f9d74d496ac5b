from pykernel.d2m_api import *
import numpy as np


@pykernel_gen(
    grid=(2, 2),  # 2x2 grid of cores
    block_factors=[  # Tile counts per core
        (1, 1),  # lhs: 1x1 tiles
        (1, 1),  # rhs: 1x1 tiles
        (1, 1),  # out: 1x1 tiles
    ],
)
def add(lhs, rhs, out, block_factors=None, grid=None):
    @compute()
    async def add_kernel(
        lhs_cb: CircularBuffer,
        rhs_cb: CircularBuffer,
        out_cb: CircularBuffer,
    ):
        lhs_shard = lhs_cb.pop()  # Read from CB
        rhs_shard = rhs_cb.pop()
        out_shard = out_cb.reserve()  # Reserve space
        result = lhs_shard + rhs_shard  # Compute
        out_shard.store(result)  # Write
        out_cb.pop()  # Free (compute must pop)

    @datamovement()
    async def dm_reader(
        lhs_cb: CircularBuffer,
        rhs_cb: CircularBuffer,
        out_cb: CircularBuffer,
    ):
        cy = core_index(0)
        cx = core_index(1)
        idx = cy * 2 + cx  # Assuming 2x2 grid

        lhs_shard = lhs_cb.reserve()
        tx = dma(lhs_stream[idx, 0], lhs_shard)
        tx.wait()

        rhs_shard = rhs_cb.reserve()
        tx = dma(rhs_stream[idx, 0], rhs_shard)
        tx.wait()

    return Program(add_kernel, dm_reader)(lhs, rhs, out)


lhs = np.ones((128, 128), np.float32)
rhs = np.ones((128, 128), np.float32)
out = np.zeros((128, 128), np.float32)
add(lhs, rhs, out)
