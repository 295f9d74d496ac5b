"""softmax(Q K^T / sqrt(d)) V, one block of queries against the blocks of K and V in turn.

The guide's listing with what it leaves out: annotations, the constants `inf` and `d_head`, the
shapes of fills, and the broadcasts of what a row has one of. Q has its block once, so that it is
read anew for each block of K and V, as in the guide.
"""

from math import inf

import numpy as np

from pykernel.d2m_api import *

NUM_KV_BLOCKS = 4
D_HEAD = 32
ROWS = NUM_KV_BLOCKS * 32


@pykernel_gen(grid=(4, 1), block_factors=[(1, 1), (1, 1), (1, 1), (1, 1)])
def flash_attention(
    Q: np.ndarray,
    K: np.ndarray,
    V: np.ndarray,
    out: np.ndarray,
    block_factors: list[tuple[int, int]] | None = None,
    grid: tuple[int, int] | None = None,
) -> object:
    Q_stream = Stream(Q)
    K_stream = Stream(K)
    V_stream = Stream(V)

    @compute()
    async def attention_compute(
        Q_cb: CircularBuffer,
        K_cb: CircularBuffer,
        V_cb: CircularBuffer,
        out_cb: CircularBuffer,
    ) -> None:
        m_old = fill(-inf, (1, 1))
        l_old = fill(0, (1, 1))
        O_acc = fill(0, (1, 1))

        for _ in range(NUM_KV_BLOCKS):
            Q_block = Q_cb.pop()
            K_block = K_cb.pop()
            V_block = V_cb.pop()

            S = Q_block @ transpose(K_block)
            S_scaled = S * (1.0 / sqrt(D_HEAD))

            m_new = rowmax(S_scaled, m_old)
            P = exp(S_scaled - bcast(m_new, S_scaled))
            correction = exp(m_old - m_new)
            l_new = correction * l_old + rowsum(P)

            weight = recip(l_new)
            kept = bcast(l_old * weight * correction, O_acc)
            O_acc = kept * O_acc + (P * bcast(weight, P)) @ V_block

            m_old = m_new
            l_old = l_new

        out_block = out_cb.reserve()
        out_block.store(O_acc)
        out_cb.pop()

    @datamovement()
    async def dm_reader(
        Q_cb: CircularBuffer,
        K_cb: CircularBuffer,
        V_cb: CircularBuffer,
        out_cb: CircularBuffer,
    ) -> None:
        idx = core_index(0)

        for kv_idx in range(NUM_KV_BLOCKS):
            Q_shard = Q_cb.reserve()
            dma(Q_stream[idx, 0], Q_shard).wait()

            K_shard = K_cb.reserve()
            dma(K_stream[kv_idx, 0], K_shard).wait()

            V_shard = V_cb.reserve()
            dma(V_stream[kv_idx, 0], V_shard).wait()

    return Program(attention_compute, dm_reader)(Q, K, V, out)


def reference(Q: np.ndarray, K: np.ndarray, V: np.ndarray) -> np.ndarray:
    scores = Q @ K.T / np.sqrt(D_HEAD)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True) @ V)


def main() -> None:
    rng = np.random.default_rng(0)
    Q, K, V = (rng.standard_normal((ROWS, D_HEAD)).astype(np.float32) for _ in range(3))
    out = np.zeros((ROWS, D_HEAD), np.float32)
    flash_attention(Q, K, V, out)
    print(f"largest error {np.abs(out - reference(Q, K, V)).max():.1e}")


if __name__ == "__main__":
    main()
