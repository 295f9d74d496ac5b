from pykernel.d2m_api import *
import numpy as np


@pykernel_gen(grid=(1, 1), block_factors=[(1, 1), (1, 1), (1, 1), (1, 1)])
def flash_attention(Q, K, V, out, block_factors=None, grid=None):
    Q_stream = Stream(Q)
    K_stream = Stream(K)
    V_stream = Stream(V)
    NUM_KV_BLOCKS = 4

    @compute()
    async def attention_compute(Q_cb, K_cb, V_cb, out_cb):
        m_old = fill(-inf, shape)  # fill() not implemented
        l_old = fill(0, shape)  # fill() not implemented
        O_acc = fill(0, shape)  # fill() not implemented

        for kv_idx in range(NUM_KV_BLOCKS):
            Q_block = Q_cb.pop()
            K_block = K_cb.pop()
            V_block = V_cb.pop()

            S = Q_block @ transpose(K_block)  # transpose() not implemented
            S_scaled = S * (1.0 / sqrt(d_head))  # sqrt() and scalar broadcast not implemented

            m_new = rowmax(S_scaled, m_old)  # rowmax() not implemented
            P = exp(S_scaled - m_new)  # exp() not implemented
            correction = exp(m_old - m_new)  # exp() not implemented
            l_new = correction * l_old + rowsum(P)  # rowsum() not implemented

            O_acc = (l_old / l_new) * correction * O_acc + (P / l_new) @ V_block

            m_old = m_new
            l_old = l_new

        out_block = out_cb.reserve()
        out_block.store(O_acc)
        out_cb.pop()

    @datamovement()
    async def dm_reader(Q_cb, K_cb, V_cb, out_cb):
        idx = core_index(0) * 1 + core_index(1)

        for kv_idx in range(NUM_KV_BLOCKS):
            Q_shard = Q_cb.reserve()
            dma(Q_stream[idx, 0], Q_shard).wait()

            K_shard = K_cb.reserve()
            dma(K_stream[kv_idx, 0], K_shard).wait()

            V_shard = V_cb.reserve()
            dma(V_stream[kv_idx, 0], V_shard).wait()

    return Program(attention_compute, dm_reader)(Q, K, V, out)


tensors = [np.ones((128, 32), np.float32) for _ in range(4)]
flash_attention(*tensors)
