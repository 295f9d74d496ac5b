"""The loss of a classifier, row by row: log of the sum of powers less the score of the right class.

The right class comes as a number for each row; comparing it with the places of the scores picks the
score out without any indexing.
"""

import numpy as np
import ttnn
from against_numpy import agree, tensor, values

import ttl

NODES = 4
ROWS, CLASSES = 128, 128


@ttl.operation(grid=(NODES, 1))
def cross_entropy(
    scores: ttnn.Tensor, label: ttnn.Tensor, index: ttnn.Tensor, loss: ttnn.Tensor
) -> None:
    rows, width = (size // ttl.TILE_SIZE for size in scores.shape)
    scores_dfb = ttl.make_dataflow_buffer_like(scores, shape=(1, width), block_count=2)
    label_dfb = ttl.make_dataflow_buffer_like(label, shape=(1, 1), block_count=2)
    index_dfb = ttl.make_dataflow_buffer_like(index, shape=(1, width), block_count=1)
    loss_dfb = ttl.make_dataflow_buffer_like(loss, shape=(1, 1), block_count=2)

    with index_dfb.reserve() as index_blk:
        ttl.copy(index[0, :], index_blk).wait()
    with index_dfb.wait() as index_blk:
        for row in range(ttl.node(dims=1), rows, NODES):
            with scores_dfb.reserve() as scores_blk, label_dfb.reserve() as label_blk:
                ttl.copy(scores[row, :], scores_blk).wait()
                ttl.copy(label[row, 0], label_blk).wait()
            with scores_dfb.wait() as s, label_dfb.wait() as label_blk, loss_dfb.reserve() as y:
                largest = ttl.math.reduce_max(s, dims=[-1])
                powers = ttl.math.exp(s - ttl.block.broadcast(largest, dims=[-1]))
                total = ttl.math.reduce_sum(powers, dims=[-1])
                is_right = index_blk == ttl.block.broadcast(label_blk, dims=[-1], shape=(1, width))
                right = ttl.math.reduce_sum(s * is_right, dims=[-1])
                y.store(ttl.math.log(total) + largest - right)
            with loss_dfb.wait() as y:
                ttl.copy(y, loss[row, 0]).wait()


def main() -> None:
    generator = np.random.default_rng(0)
    scores = tensor(3 * generator.standard_normal((ROWS, CLASSES)), ttnn.float32)
    labels = generator.integers(0, CLASSES, (ROWS, 1))
    label = tensor(np.repeat(labels, ttl.TILE_SIZE, axis=1), ttnn.float32)
    index = tensor(np.tile(np.arange(CLASSES), (ttl.TILE_SIZE, 1)), ttnn.float32)
    loss = tensor(np.zeros((ROWS, 1)), ttnn.float32)
    cross_entropy(scores, label, index, loss)

    s = values(scores)
    right = np.take_along_axis(s, labels, axis=1)
    expected = np.log(np.exp(s).sum(axis=1, keepdims=True)) - right
    agree("cross_entropy", loss, expected, 0.01)


if __name__ == "__main__":
    main()
