"""Grouped-query flash attention with a causal mask: several heads of queries share keys and values.

One node for each head of queries. Blocks of keys after the diagonal are never read, those before
it need no mask, and the one on it gets the same triangle for every head.
"""

import numpy as np
import ttnn
from against_numpy import agree, tensor, values

import ttl

HEADS, GROUPS = 4, 2  # heads of queries; groups of them, each with its keys and values
POSITIONS, HEAD = 128, 64
BLOCK = 1  # tiles of positions in a block
LOWEST = -1e30


@ttl.operation(grid=(HEADS, 1))
def gqa_flash_attention(
    q: ttnn.Tensor, k: ttnn.Tensor, v: ttnn.Tensor, triangle: ttnn.Tensor, y: ttnn.Tensor
) -> None:
    width = q.shape[1] // ttl.TILE_SIZE
    positions = q.shape[0] // ttl.TILE_SIZE // HEADS
    scale = q.shape[1] ** -0.5
    q_dfb, k_dfb, v_dfb, y_dfb = (
        ttl.make_dataflow_buffer_like(each, shape=(BLOCK, width), block_count=2)
        for each in (q, k, v, y)
    )
    triangle_dfb = ttl.make_dataflow_buffer_like(triangle, shape=(BLOCK, BLOCK), block_count=1)

    head = ttl.node(dims=1)
    first_query, first_key = head * positions, head // (HEADS // GROUPS) * positions
    with triangle_dfb.reserve() as triangle_blk:
        ttl.copy(triangle[:, :], triangle_blk).wait()
    with triangle_dfb.wait() as triangle_blk:
        for row in range(0, positions, BLOCK):
            with q_dfb.reserve() as q_blk:
                ttl.copy(q[first_query + row : first_query + row + BLOCK, :], q_blk).wait()
            with q_dfb.wait() as q_blk, y_dfb.reserve() as y_blk:
                largest = ttl.block.fill(LOWEST, shape=(BLOCK, 1))
                total = ttl.block.fill(0, shape=(BLOCK, 1))
                weighed = ttl.block.fill(0, shape=(BLOCK, width))
                for step in range(0, row + BLOCK, BLOCK):
                    key = first_key + step
                    with k_dfb.reserve() as k_blk, v_dfb.reserve() as v_blk:
                        ttl.copy(k[key : key + BLOCK, :], k_blk).wait()
                        ttl.copy(v[key : key + BLOCK, :], v_blk).wait()
                    with k_dfb.wait() as k_blk, v_dfb.wait() as v_blk:
                        scores = (q_blk @ ttl.block.transpose(k_blk)) * scale
                        if step == row:
                            scores = scores + triangle_blk
                        higher = ttl.math.max(largest, ttl.math.reduce_max(scores, dims=[-1]))
                        factor = ttl.math.exp(largest - higher)
                        powers = ttl.math.exp(scores - ttl.block.broadcast(higher, dims=[-1]))
                        total = total * factor + ttl.math.reduce_sum(powers, dims=[-1])
                        weighed = weighed * ttl.block.broadcast(factor, dims=[-1]) + powers @ v_blk
                        largest = higher
                y_blk.store(weighed / ttl.block.broadcast(total, dims=[-1]))
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[first_query + row : first_query + row + BLOCK, :]).wait()


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    scores = q @ k.T * HEAD**-0.5
    scores[np.triu_indices(POSITIONS, 1)] = -np.inf
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True) @ v)


def main() -> None:
    generator = np.random.default_rng(0)
    q = tensor(generator.standard_normal((HEADS * POSITIONS, HEAD)))
    k, v = (tensor(generator.standard_normal((GROUPS * POSITIONS, HEAD))) for _ in range(2))
    side = BLOCK * ttl.TILE_SIZE
    triangle = tensor(np.triu(np.full((side, side), LOWEST), 1))
    y = ttnn.zeros_like(q)
    gqa_flash_attention(q, k, v, triangle, y)

    queries = np.split(values(q), HEADS)
    keys, weighed = (np.split(values(each), GROUPS) for each in (k, v))
    groups = [head * GROUPS // HEADS for head in range(HEADS)]
    expected = [attention(queries[n], keys[g], weighed[g]) for n, g in enumerate(groups)]
    agree("gqa_flash_attention", y, np.vstack(expected), 0.02)


if __name__ == "__main__":
    main()
