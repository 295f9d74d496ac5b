"""One step of AdamW, fused: four tensors are read, three written, nothing in between.

As separate operations every product and every sum would go to memory and come back.
"""

import numpy as np
import ttnn
from against_numpy import agree, tensor, values

import ttl

NODES = 4
SIZE = 128
RATE, BETA1, BETA2, EPSILON, DECAY = 1e-2, 0.9, 0.99, 1e-8, 0.1
STEP = 3  # of the training: it corrects the start from zero


@ttl.operation(grid=(NODES, 1))
def adamw_step(
    weight: ttnn.Tensor, gradient: ttnn.Tensor, first: ttnn.Tensor, second: ttnn.Tensor
) -> None:
    rows, columns = (size // ttl.TILE_SIZE for size in weight.shape)
    weight_dfb, gradient_dfb, first_dfb, second_dfb = (
        ttl.make_dataflow_buffer_like(each, shape=(1, columns), block_count=2)
        for each in (weight, gradient, first, second)
    )
    new_weight_dfb, new_first_dfb, new_second_dfb = (
        ttl.make_dataflow_buffer_like(each, shape=(1, columns), block_count=2)
        for each in (weight, first, second)
    )
    for row in range(ttl.node(dims=1), rows, NODES):
        with weight_dfb.reserve() as w, gradient_dfb.reserve() as g:
            ttl.copy(weight[row, :], w).wait()
            ttl.copy(gradient[row, :], g).wait()
        with first_dfb.reserve() as m, second_dfb.reserve() as v:
            ttl.copy(first[row, :], m).wait()
            ttl.copy(second[row, :], v).wait()
        with (
            weight_dfb.wait() as w,
            gradient_dfb.wait() as g,
            first_dfb.wait() as m,
            second_dfb.wait() as v,
        ):
            mean = BETA1 * m + (1 - BETA1) * g
            square = BETA2 * v + (1 - BETA2) * ttl.math.square(g)
            deviation = ttl.math.sqrt(square * (1 / (1 - BETA2**STEP))) + EPSILON
            step = mean * (1 / (1 - BETA1**STEP)) / deviation
            with new_weight_dfb.reserve() as new_weight:
                new_weight.store(w * (1 - RATE * DECAY) - RATE * step)
            with new_first_dfb.reserve() as new_first, new_second_dfb.reserve() as new_second:
                new_first.store(mean)
                new_second.store(square)
        with new_weight_dfb.wait() as w:
            ttl.copy(w, weight[row, :]).wait()
        with new_first_dfb.wait() as m, new_second_dfb.wait() as v:
            ttl.copy(m, first[row, :]).wait()
            ttl.copy(v, second[row, :]).wait()


def main() -> None:
    generator = np.random.default_rng(0)
    weight, gradient, first = (
        tensor(generator.standard_normal((SIZE, SIZE)), ttnn.float32) for _ in range(3)
    )
    second = tensor(generator.uniform(0, 1, (SIZE, SIZE)), ttnn.float32)
    w, g, m, v = (values(each) for each in (weight, gradient, first, second))
    adamw_step(weight, gradient, first, second)

    m, v = BETA1 * m + (1 - BETA1) * g, BETA2 * v + (1 - BETA2) * g * g
    step = m / (1 - BETA1**STEP) / (np.sqrt(v / (1 - BETA2**STEP)) + EPSILON)
    agree("adamw_step, weights", weight, w * (1 - RATE * DECAY) - RATE * step, 1e-4)
    agree("adamw_step, means", first, m, 1e-5)
    agree("adamw_step, squares", second, v, 1e-5)


if __name__ == "__main__":
    main()
