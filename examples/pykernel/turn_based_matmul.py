"""out = lhs @ rhs on 2x2 cores: in turn k, column k of cores sends lhs and row k sends rhs.

Each core reads only its own part of the inputs; semaphores say whose turn it is.
"""

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
        for _ in range(GX):
            out_shard.store(lhs_cb.pop() @ rhs_cb.pop())
        out_cb.pop()

    @datamovement()
    async def dm(
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
        for turn in range(GX):
            lhs_shard = lhs_cb.reserve()
            if cx == turn:
                dma(lhs_stream[cy, cx], lhs_shard).wait()
                lhs_ready.wait(GX - 1, reset=0)
                dma(lhs_shard, lhs_shard, core=(cy, 0), mcast=(1, GX)).wait()
                lhs_sent.set(1, core=(cy, 0), mcast=(1, GX))
            else:
                lhs_ready.inc(1, core=(cy, turn))
            lhs_sent.wait(1, reset=0)

            rhs_shard = rhs_cb.reserve()
            if cy == turn:
                dma(rhs_stream[cy, cx], rhs_shard).wait()
                rhs_ready.wait(GY - 1, reset=0)
                dma(rhs_shard, rhs_shard, core=(0, cx), mcast=(GY, 1)).wait()
                rhs_sent.set(1, core=(0, cx), mcast=(GY, 1))
            else:
                rhs_ready.inc(1, core=(turn, cx))
            rhs_sent.wait(1, reset=0)

    return Program(mm, dm)(lhs, rhs, out)


def main() -> None:
    rng = np.random.default_rng(0)
    lhs, rhs = (rng.standard_normal((128, 128)).astype(np.float32) for _ in range(2))
    out = np.zeros((128, 128), np.float32)
    matmul(lhs, rhs, out)
    print(f"correlation {np.corrcoef(out.ravel(), (lhs @ rhs).ravel())[0, 1]:.4f}")


if __name__ == "__main__":
    main()
