"""out = lhs + rhs on 2x2 cores: the guide's minimal example, with what it leaves out.

As printed in the guide there is no Stream, and its index counts cores, not rows of the grid.
"""

import numpy as np

from pykernel.d2m_api import *


@pykernel_gen(grid=(2, 2), block_factors=[(1, 1), (1, 1), (1, 1)])
def add(
    lhs: np.ndarray,
    rhs: np.ndarray,
    out: np.ndarray,
    block_factors: list[tuple[int, int]] | None = None,
    grid: tuple[int, int] | None = None,
) -> object:
    lhs_stream = Stream(lhs)
    rhs_stream = Stream(rhs)

    @compute()
    async def add_kernel(
        lhs_cb: CircularBuffer,
        rhs_cb: CircularBuffer,
        out_cb: CircularBuffer,
    ) -> None:
        lhs_shard = lhs_cb.pop()
        rhs_shard = rhs_cb.pop()
        out_shard = out_cb.reserve()
        result = lhs_shard + rhs_shard
        out_shard.store(result)
        out_cb.pop()

    @datamovement()
    async def dm_reader(
        lhs_cb: CircularBuffer,
        rhs_cb: CircularBuffer,
        out_cb: CircularBuffer,
    ) -> None:
        cy = core_index(0)
        cx = core_index(1)

        lhs_shard = lhs_cb.reserve()
        tx = dma(lhs_stream[cy, cx], lhs_shard)
        tx.wait()

        rhs_shard = rhs_cb.reserve()
        tx = dma(rhs_stream[cy, cx], rhs_shard)
        tx.wait()

    return Program(add_kernel, dm_reader)(lhs, rhs, out)


def main() -> None:
    rng = np.random.default_rng(0)
    lhs, rhs = (rng.standard_normal((128, 128)).astype(np.float32) for _ in range(2))
    out = np.zeros((128, 128), np.float32)
    add(lhs, rhs, out)
    print(f"largest error {np.abs(out - (lhs + rhs)).max():.1e}")


if __name__ == "__main__":
    main()
