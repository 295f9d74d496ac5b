"""A 3x3 convolution of an image as nine matrix products, without rearranging it in memory.

A row of the image, 32 pixels by 32 channels, is a tile. The neighbour above or below is another
tile; the neighbour to the left or right is the same tile times a matrix that moves its rows by one.
"""

import numpy as np
import ttnn
from against_numpy import agree, tensor, values

import ttl

NODES = 4
HEIGHT, WIDTH, CHANNELS = 16, 32, 32
TILE = ttl.TILE_SIZE


@ttl.operation(grid=(NODES, 1))
def conv2d(image: ttnn.Tensor, shift: ttnn.Tensor, weight: ttnn.Tensor, y: ttnn.Tensor) -> None:
    rows = y.shape[0] // TILE // NODES
    image_dfb = ttl.make_dataflow_buffer_like(image, shape=(1, 1), block_count=4)
    shift_dfb = ttl.make_dataflow_buffer_like(shift, shape=(1, 1), block_count=4)
    weight_dfb = ttl.make_dataflow_buffer_like(weight, shape=(1, 1), block_count=4)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)

    first = ttl.node(dims=1) * rows
    for row in range(first, first + rows):
        total = ttl.block.fill(0, shape=(1, 1))
        for down in range(3):
            for across in range(3):
                with image_dfb.reserve() as image_blk, shift_dfb.reserve() as shift_blk:
                    ttl.copy(image[row + down, 0], image_blk).wait()
                    ttl.copy(shift[across, 0], shift_blk).wait()
                with weight_dfb.reserve() as weight_blk:
                    ttl.copy(weight[3 * down + across, 0], weight_blk).wait()
                with shift_dfb.wait() as s, image_dfb.wait() as x, weight_dfb.wait() as w:
                    total += (s @ x) @ w
        with y_dfb.reserve() as y_blk:
            y_blk.store(ttl.math.relu(total))
        with y_dfb.wait() as y_blk:
            ttl.copy(y_blk, y[row, 0]).wait()


def convolved(image: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The same with a window that slides over the padded image."""
    padded = np.pad(image, ((1, 1), (1, 1), (0, 0)))
    total = np.zeros((HEIGHT, WIDTH, CHANNELS), np.float32)
    for down in range(3):
        for across in range(3):
            window = padded[down : down + HEIGHT, across : across + WIDTH]
            total += window @ weight[3 * down + across]
    return np.maximum(total, 0)


def main() -> None:
    generator = np.random.default_rng(0)
    picture = generator.standard_normal((HEIGHT, WIDTH, CHANNELS))
    above_and_below = np.pad(picture, ((1, 1), (0, 0), (0, 0)))
    image = tensor(above_and_below.reshape(-1, CHANNELS))
    shift = tensor(np.vstack([np.eye(WIDTH, k=step) for step in (-1, 0, 1)]))
    weight = tensor(generator.standard_normal((9 * CHANNELS, CHANNELS)) / 16)
    y = tensor(np.zeros((HEIGHT * WIDTH, CHANNELS)))
    conv2d(image, shift, weight, y)

    exact = values(image).reshape(HEIGHT + 2, WIDTH, CHANNELS)[1:-1]
    expected = convolved(exact, values(weight).reshape(9, CHANNELS, CHANNELS))
    agree("conv2d", y, expected.reshape(-1, CHANNELS), 0.01)


if __name__ == "__main__":
    main()
