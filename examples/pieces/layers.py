"""Layers of a model, from buffer to buffer. Each takes one block of every buffer."""

import ttl

EPSILON = 1e-5


@ttl.operation()
def rmsnorm(
    x_dfb: ttl.DataflowBuffer, weight_dfb: ttl.DataflowBuffer, y_dfb: ttl.DataflowBuffer, size: int
) -> None:
    """Rows of `size` elements, divided by their root mean square; `weight_dfb` has one row."""
    with x_dfb.wait() as x, weight_dfb.wait() as weight, y_dfb.reserve() as y:
        mean = ttl.math.reduce_sum(ttl.math.square(x), dims=[-1]) * (1 / size)
        factor = ttl.block.broadcast(ttl.math.rsqrt(mean + EPSILON), dims=[-1])
        y.store(x * factor * ttl.block.broadcast(weight, dims=[-2]))


@ttl.operation()
def softmax(x_dfb: ttl.DataflowBuffer, y_dfb: ttl.DataflowBuffer) -> None:
    with x_dfb.wait() as x, y_dfb.reserve() as y:
        largest = ttl.block.broadcast(ttl.math.reduce_max(x, dims=[-1]), dims=[-1])
        powers = ttl.math.exp(x - largest)
        total = ttl.block.broadcast(ttl.math.reduce_sum(powers, dims=[-1]), dims=[-1])
        y.store(powers / total)


@ttl.operation()
def linear(
    x_dfb: ttl.DataflowBuffer, weight_dfb: ttl.DataflowBuffer, y_dfb: ttl.DataflowBuffer, steps: int
) -> None:
    """x @ weight, summed over `steps` pairs of blocks."""
    with y_dfb.reserve() as y:
        total = ttl.math.fill(0, shape=y_dfb.shape)
        for _ in range(steps):
            with x_dfb.wait() as x, weight_dfb.wait() as weight:
                total += x @ weight
        y.store(total)


@ttl.operation()
def projections(
    x_dfb: ttl.DataflowBuffer,
    weight_dfb: ttl.DataflowBuffer,
    q_dfb: ttl.DataflowBuffer,
    k_dfb: ttl.DataflowBuffer,
    v_dfb: ttl.DataflowBuffer,
) -> None:
    """x times the next three weights."""
    with x_dfb.wait() as x:
        with weight_dfb.wait() as weight, q_dfb.reserve() as q:
            q.store(x @ weight)
        with weight_dfb.wait() as weight, k_dfb.reserve() as k:
            k.store(x @ weight)
        with weight_dfb.wait() as weight, v_dfb.reserve() as v:
            v.store(x @ weight)


@ttl.operation()
def scores(
    q_dfb: ttl.DataflowBuffer,
    k_dfb: ttl.DataflowBuffer,
    s_dfb: ttl.DataflowBuffer,
    scale: float,
) -> None:
    with q_dfb.wait() as q, k_dfb.wait() as k, s_dfb.reserve() as s:
        s.store((q @ ttl.block.transpose(k)) * scale)


@ttl.operation()
def gelu(x_dfb: ttl.DataflowBuffer, y_dfb: ttl.DataflowBuffer) -> None:
    with x_dfb.wait() as x, y_dfb.reserve() as y:
        y.store(ttl.math.gelu(x))


@ttl.operation()
def add(a_dfb: ttl.DataflowBuffer, b_dfb: ttl.DataflowBuffer, y_dfb: ttl.DataflowBuffer) -> None:
    with a_dfb.wait() as a, b_dfb.wait() as b, y_dfb.reserve() as y:
        y.store(a + b)


@ttl.operation()
def fork(x_dfb: ttl.DataflowBuffer, y_dfb: ttl.DataflowBuffer, z_dfb: ttl.DataflowBuffer) -> None:
    """One block for two that need it."""
    with x_dfb.wait() as x, y_dfb.reserve() as y, z_dfb.reserve() as z:
        y.store(x)
        z.store(x)
