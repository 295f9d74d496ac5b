"""`flash_attention.py HEADS LENGTH WIDTH BLOCK`: attention without the whole matrix of scores.

The heads stand one below the other in q, k, v and y: HEADS * LENGTH rows, WIDTH columns. A block
has BLOCK rows of tiles. A node keeps one block of q and walks along k and v, with the largest score
and the sum of the powers so far. Softmax does not change when all scores move by the same amount,
so sum and result are corrected by a factor wherever a larger score turns up.
"""

import math
import sys

import numpy as np
from measure import measure, random_array

import ttl

HEADS, LENGTH, WIDTH, BLOCK = map(int, sys.argv[1:])
GRID = 8
COLUMNS = WIDTH // 32
STEPS = LENGTH // 32 // BLOCK  # blocks of a head
BLOCKS = HEADS * STEPS // GRID // GRID  # of q, of a node
SCALE = 1 / math.sqrt(WIDTH)
LOWEST = -1e30


@ttl.operation(grid=(GRID, GRID), fp32_dest_acc_en=True)
def attention(q, k, v, y):
    q_dfb = ttl.make_dataflow_buffer_like(q, shape=(BLOCK, COLUMNS), block_count=2)
    k_dfb = ttl.make_dataflow_buffer_like(k, shape=(BLOCK, COLUMNS), block_count=2)
    v_dfb = ttl.make_dataflow_buffer_like(v, shape=(BLOCK, COLUMNS), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(BLOCK, COLUMNS), block_count=2)

    @ttl.compute()
    def compute():
        for _ in range(BLOCKS):
            with q_dfb.wait() as q_blk, y_dfb.reserve() as y_blk:
                scaled = q_blk * ttl.block.fill(SCALE, shape=(BLOCK, COLUMNS))
                largest = ttl.block.fill(LOWEST, shape=(BLOCK, 1))
                total = ttl.block.fill(0.0, shape=(BLOCK, 1))
                result = ttl.block.fill(0.0, shape=(BLOCK, COLUMNS))
                for _ in range(STEPS):
                    with k_dfb.wait() as k_blk, v_dfb.wait() as v_blk:
                        scores = scaled @ ttl.block.transpose(k_blk)
                        block_largest = ttl.math.reduce_max(scores, dims=[-1], shape=(BLOCK, 1))
                        new_largest = ttl.math.max(largest, block_largest)
                        factor = ttl.math.exp(largest - new_largest)
                        powers = ttl.math.exp(
                            scores
                            - ttl.block.broadcast(new_largest, dims=[-1], shape=(BLOCK, BLOCK))
                        )
                        block_total = ttl.math.reduce_sum(powers, dims=[-1], shape=(BLOCK, 1))
                        total = total * factor + block_total
                        result = (
                            result * ttl.block.broadcast(factor, dims=[-1], shape=(BLOCK, COLUMNS))
                            + powers @ v_blk
                        )
                        largest = new_largest
                y_blk.store(result / ttl.block.broadcast(total, dims=[-1], shape=(BLOCK, COLUMNS)))

    @ttl.datamovement()
    def read():
        node_column, node_row = ttl.node(dims=2)
        first = (node_row * GRID + node_column) * BLOCKS
        for block in range(first, first + BLOCKS):
            with q_dfb.reserve() as q_blk:
                row = block * BLOCK
                q_copy = ttl.copy(q[row : row + BLOCK, 0:COLUMNS], q_blk)
                q_copy.wait()
            head = block // STEPS
            for step in range(head * STEPS, (head + 1) * STEPS):
                row = step * BLOCK
                with k_dfb.reserve() as k_blk, v_dfb.reserve() as v_blk:
                    k_copy = ttl.copy(k[row : row + BLOCK, 0:COLUMNS], k_blk)
                    v_copy = ttl.copy(v[row : row + BLOCK, 0:COLUMNS], v_blk)
                    k_copy.wait()
                    v_copy.wait()

    @ttl.datamovement()
    def write():
        node_column, node_row = ttl.node(dims=2)
        first = (node_row * GRID + node_column) * BLOCKS
        for block in range(first, first + BLOCKS):
            row = block * BLOCK
            with y_dfb.wait() as y_blk:
                y_copy = ttl.copy(y_blk, y[row : row + BLOCK, 0:COLUMNS])
                y_copy.wait()


def inputs(random):
    return (4 * random_array(random, HEADS * LENGTH, WIDTH) for _ in range(3))


def reference(q, k, v):
    return np.concatenate([_head(*parts) for parts in zip(*map(_heads, (q, k, v)), strict=True)])


def _heads(x):
    return np.split(x, HEADS)


def _head(q, k, v):
    scores = q @ k.T * SCALE
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers @ v / powers.sum(axis=1, keepdims=True)


measure(attention, inputs, (HEADS * LENGTH, WIDTH), reference)
