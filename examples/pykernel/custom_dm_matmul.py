"""out = lhs @ rhs on 2x2 cores: each block is read once and multicast along its row or column."""

import numpy as np

from pykernel.d2m_api import *

GRID = (2, 2)


@pykernel_gen(grid=GRID, block_factors=[(1, 1), (1, 1), (1, 1)])
def matmul(
    lhs: np.ndarray,
    rhs: np.ndarray,
    out: np.ndarray,
    block_factors: list[tuple[int, int]] | None = None,
    grid: tuple[int, int] = GRID,
) -> object:
    lhs_stream = Stream(lhs)
    rhs_stream = Stream(rhs)
    GY, GX = grid
    K = GX

    @compute()
    async def mm(
        lhs_cb: CircularBuffer,
        rhs_cb: CircularBuffer,
        out_cb: CircularBuffer,
        lhs_ready: Semaphore,
        lhs_sent: Semaphore,
        rhs_ready: Semaphore,
        rhs_sent: Semaphore,
    ) -> None:
        out_shard = out_cb.reserve()
        for _ in range(K):
            lhs_shard = lhs_cb.pop()
            rhs_shard = rhs_cb.pop()
            out_shard.store(lhs_shard @ rhs_shard)  # adds to what is there
        out_cb.pop()

    @datamovement()
    async def dm_lhs(
        lhs_cb: CircularBuffer,
        rhs_cb: CircularBuffer,
        out_cb: CircularBuffer,
        lhs_ready: Semaphore,
        lhs_sent: Semaphore,
        rhs_ready: Semaphore,
        rhs_sent: Semaphore,
    ) -> None:
        cy = core_index(0)
        cx = core_index(1)
        for k in range(K):
            shard = lhs_cb.reserve()
            if cx == 0:
                dma(lhs_stream[cy, k], shard).wait()
                lhs_ready.wait(GX - 1, reset=0)
                dma(shard, shard, core=(cy, 1), mcast=(1, GX - 1)).wait()
                lhs_sent.set(1, core=(cy, 1), mcast=(1, GX - 1))
            else:
                lhs_ready.inc(1, core=(cy, 0))
                lhs_sent.wait(1, reset=0)

    @datamovement()
    async def dm_rhs(
        lhs_cb: CircularBuffer,
        rhs_cb: CircularBuffer,
        out_cb: CircularBuffer,
        lhs_ready: Semaphore,
        lhs_sent: Semaphore,
        rhs_ready: Semaphore,
        rhs_sent: Semaphore,
    ) -> None:
        cy = core_index(0)
        cx = core_index(1)
        for k in range(K):
            shard = rhs_cb.reserve()
            if cy == 0:
                dma(rhs_stream[k, cx], shard).wait()
                rhs_ready.wait(GY - 1, reset=0)
                dma(shard, shard, core=(1, cx), mcast=(GY - 1, 1)).wait()
                rhs_sent.set(1, core=(1, cx), mcast=(GY - 1, 1))
            else:
                rhs_ready.inc(1, core=(0, cx))
                rhs_sent.wait(1, reset=0)

    return Program(mm, dm_lhs, dm_rhs)(lhs, rhs, out)


def main() -> None:
    rng = np.random.default_rng(0)
    lhs, rhs = (rng.standard_normal((128, 128)).astype(np.float32) for _ in range(2))
    out = np.zeros((128, 128), np.float32)
    matmul(lhs, rhs, out)
    print(f"correlation {np.corrcoef(out.ravel(), (lhs @ rhs).ravel())[0, 1]:.4f}")


if __name__ == "__main__":
    main()
