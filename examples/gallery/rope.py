"""Rotary position embedding: pairs of features turned by an angle that grows with the position.

The two features of a pair lie half a head apart, so the halves of a row come as two blocks and
no element ever changes its place.
"""

import numpy as np
import ttnn
from against_numpy import agree, tensor, values

import ttl

NODES = 4
POSITIONS = 256
HEAD = 64  # features of a head


@ttl.operation(grid=(NODES, 1))
def rope(x: ttnn.Tensor, cos: ttnn.Tensor, sin: ttnn.Tensor, y: ttnn.Tensor) -> None:
    half = x.shape[1] // ttl.TILE_SIZE // 2
    rows = x.shape[0] // ttl.TILE_SIZE // NODES
    low_dfb, high_dfb, cos_dfb, sin_dfb, y_low_dfb, y_high_dfb = (
        ttl.make_dataflow_buffer_like(each, shape=(1, half), block_count=2)
        for each in (x, x, cos, sin, y, y)
    )
    first = ttl.node(dims=1) * rows
    for row in range(first, first + rows):
        with low_dfb.reserve() as low, high_dfb.reserve() as high:
            ttl.copy(x[row, :half], low).wait()
            ttl.copy(x[row, half:], high).wait()
        with cos_dfb.reserve() as c, sin_dfb.reserve() as s:
            ttl.copy(cos[row, :], c).wait()
            ttl.copy(sin[row, :], s).wait()
        with (
            low_dfb.wait() as low,
            high_dfb.wait() as high,
            cos_dfb.wait() as c,
            sin_dfb.wait() as s,
            y_low_dfb.reserve() as y_low,
            y_high_dfb.reserve() as y_high,
        ):
            y_low.store(low * c - high * s)
            y_high.store(high * c + low * s)
        with y_low_dfb.wait() as y_low, y_high_dfb.wait() as y_high:
            ttl.copy(y_low, y[row, :half]).wait()
            ttl.copy(y_high, y[row, half:]).wait()


def main() -> None:
    generator = np.random.default_rng(0)
    speeds = 10000.0 ** (-np.arange(HEAD // 2) / (HEAD // 2))
    angles = np.arange(POSITIONS)[:, None] * speeds
    x = tensor(generator.standard_normal((POSITIONS, HEAD)))
    cos, sin = tensor(np.cos(angles)), tensor(np.sin(angles))
    y = ttnn.zeros_like(x)
    rope(x, cos, sin, y)

    low, high = np.split(values(x), 2, axis=1)
    c, s = values(cos), values(sin)
    agree("rope", y, np.hstack([low * c - high * s, high * c + low * s]), 0.01)


if __name__ == "__main__":
    main()
