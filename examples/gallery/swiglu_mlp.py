"""The MLP of Llama, silu(x @ gate) * (x @ up) @ down, as one kernel.

The hidden layer is the largest of the model and never exists: it is made a block at a time, and
each block is multiplied by its rows of `down` and forgotten.
"""

import numpy as np
import ttnn
from against_numpy import agree, tensor, values

import ttl

NODES = 4
ROWS, WIDTH, HIDDEN = 256, 64, 256
STEP = 2  # tiles of the hidden layer in a step


@ttl.operation(grid=(NODES, 1))
def swiglu_mlp(
    x: ttnn.Tensor, gate: ttnn.Tensor, up: ttnn.Tensor, down: ttnn.Tensor, y: ttnn.Tensor
) -> None:
    width, hidden = (size // ttl.TILE_SIZE for size in gate.shape)
    rows = x.shape[0] // ttl.TILE_SIZE // NODES
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(rows, width), block_count=1)
    gate_dfb = ttl.make_dataflow_buffer_like(gate, shape=(width, STEP), block_count=2)
    up_dfb = ttl.make_dataflow_buffer_like(up, shape=(width, STEP), block_count=2)
    down_dfb = ttl.make_dataflow_buffer_like(down, shape=(STEP, width), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(rows, width), block_count=1)

    first = ttl.node(dims=1) * rows
    with x_dfb.reserve() as x_blk:
        ttl.copy(x[first : first + rows, :], x_blk).wait()
    with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
        total = ttl.block.fill(0, shape=(rows, width))
        for step in range(0, hidden, STEP):
            with gate_dfb.reserve() as g, up_dfb.reserve() as u, down_dfb.reserve() as d:
                ttl.copy(gate[:, step : step + STEP], g).wait()
                ttl.copy(up[:, step : step + STEP], u).wait()
                ttl.copy(down[step : step + STEP, :], d).wait()
            with gate_dfb.wait() as g, up_dfb.wait() as u, down_dfb.wait() as d:
                total += (ttl.math.silu(x_blk @ g) * (x_blk @ u)) @ d
        y_blk.store(total)
    with y_dfb.wait() as y_blk:
        ttl.copy(y_blk, y[first : first + rows, :]).wait()


def main() -> None:
    generator = np.random.default_rng(0)
    x = tensor(generator.standard_normal((ROWS, WIDTH)))
    gate, up = (tensor(generator.standard_normal((WIDTH, HIDDEN)) / 8) for _ in range(2))
    down = tensor(generator.standard_normal((HIDDEN, WIDTH)) / 16)
    y = ttnn.zeros_like(x)
    swiglu_mlp(x, gate, up, down, y)

    gated = values(x) @ values(gate)
    hidden = gated / (1 + np.exp(-gated)) * (values(x) @ values(up))
    agree("swiglu_mlp", y, hidden @ values(down), 0.02)


if __name__ == "__main__":
    main()
