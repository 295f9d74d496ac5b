"""A transformer block of the pieces: attention and a gelu layer, one sequence a node."""

import math

import numpy as np
import ttnn
from layers import add, fork, gelu, linear, projections, rmsnorm, scores, softmax
from movement import load, multicast_load, store

import ttl

NODES, TOKENS, WIDTH = 2, 64, 64
ROWS, COLUMNS = TOKENS // ttl.TILE_SIZE, WIDTH // ttl.TILE_SIZE


@ttl.operation(grid=(NODES, 1))
def transformer_block(
    x: ttnn.Tensor, norms: ttnn.Tensor, weights: ttnn.Tensor, y: ttnn.Tensor
) -> None:
    """The six weights lie one below the other, and so do the two rows of norms."""
    net = ttl.PipeNet([ttl.Pipe((0, 0), (slice(0, NODES), 0))])

    def buffers(like: ttnn.Tensor, rows: int, columns: int, count: int) -> list[ttl.DataflowBuffer]:
        return [ttl.make_dataflow_buffer_like(like, shape=(rows, columns)) for _ in range(count)]

    x_dfb, kept, first, normal, q, k, v = buffers(x, ROWS, COLUMNS, 7)
    weighed, attended, middle, left, right = buffers(x, ROWS, COLUMNS, 5)
    normal_again, wide, active, narrow, out = buffers(x, ROWS, COLUMNS, 5)
    score_dfb, share_dfb = buffers(x, ROWS, ROWS, 2)
    norm_sent, norm = buffers(norms, 1, COLUMNS, 2)
    weight_sent, weight = buffers(weights, COLUMNS, COLUMNS, 2)

    row = ttl.node(dims=1) * ROWS
    load(x, row, 0, x_dfb)
    for number in range(2):
        multicast_load(norms, number, 0, net, norm_sent, norm)
    for number in range(6):
        multicast_load(weights, number * COLUMNS, 0, net, weight_sent, weight)

    fork(x_dfb, first, kept)
    rmsnorm(first, norm, normal, WIDTH)
    projections(normal, weight, q, k, v)
    scores(q, k, score_dfb, WIDTH**-0.5)
    softmax(score_dfb, share_dfb)
    linear(share_dfb, v, weighed, 1)
    linear(weighed, weight, attended, 1)
    add(attended, kept, middle)
    fork(middle, left, right)
    rmsnorm(left, norm, normal_again, WIDTH)
    linear(normal_again, weight, wide, 1)
    gelu(wide, active)
    linear(active, weight, narrow, 1)
    add(narrow, right, out)
    store(out, y, row, 0)


def reference(x: np.ndarray, norms: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The same in numpy."""

    def normalized(rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
        spread = np.sqrt((rows**2).mean(axis=1, keepdims=True) + 1e-5)
        return np.asarray(rows / spread * weight)

    wq, wk, wv, wo, w1, w2 = weights.reshape(6, WIDTH, WIDTH)
    results = []
    for rows in x.reshape(NODES, TOKENS, WIDTH):
        n = normalized(rows, norms[0])
        powers = np.exp((n @ wq) @ (n @ wk).T * WIDTH**-0.5)
        middle = (powers / powers.sum(axis=1, keepdims=True)) @ (n @ wv) @ wo + rows
        wide = normalized(middle, norms[ttl.TILE_SIZE]) @ w1
        active = 0.5 * wide * (1 + np.vectorize(math.erf)(wide / 2**0.5))
        results.append(active @ w2 + middle)
    return np.concatenate(results)


def run(dtype: ttnn.DataType = ttnn.bfloat16) -> tuple[np.ndarray, np.ndarray]:
    """What the block makes of random numbers, and what it should."""
    device = ttnn.open_device(device_id=0)
    generator = np.random.default_rng(0)
    x = generator.standard_normal((NODES * TOKENS, WIDTH), np.float32)
    norms = generator.random((2 * ttl.TILE_SIZE, WIDTH), np.float32) + 0.5
    weights = generator.standard_normal((6 * WIDTH, WIDTH), np.float32) / WIDTH**0.5
    given = [ttl.from_numpy(each, dtype=dtype, device=device) for each in (x, norms, weights)]
    y = ttnn.zeros_like(given[0])
    transformer_block(*given, y)
    exact = reference(*(ttl.to_numpy(each).astype(np.float32) for each in given))
    return ttl.to_numpy(y).astype(np.float32), exact


if __name__ == "__main__":
    result, exact = run()
    print(f"largest error {np.abs(result - exact).max() / np.abs(exact).max():.2%} of the largest")
