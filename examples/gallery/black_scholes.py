"""Prices of European call options by the formula of Black and Scholes: long arithmetic, no reuse.

Forty operations for three numbers read: one expression, held in registers from start to end.
"""

from math import erf

import numpy as np
import ttnn
from against_numpy import agree, tensor, values

import ttl

NODES = 4
SIZE = 128
RATE, VOLATILITY = 0.03, 0.25


def normal(x: ttl.BlockExpression) -> ttl.BlockExpression:
    """The share of a normal distribution below x."""
    return 0.5 * ttl.math.erf(x * 0.5**0.5) + 0.5


@ttl.operation(grid=(NODES, 1))
def black_scholes(
    price: ttnn.Tensor, strike: ttnn.Tensor, years: ttnn.Tensor, call: ttnn.Tensor
) -> None:
    rows, columns = (size // ttl.TILE_SIZE for size in price.shape)
    price_dfb, strike_dfb, years_dfb, call_dfb = (
        ttl.make_dataflow_buffer_like(each, shape=(1, 1), block_count=2)
        for each in (price, strike, years, call)
    )
    for row in range(ttl.node(dims=1), rows, NODES):
        for column in range(columns):
            with price_dfb.reserve() as s, strike_dfb.reserve() as k, years_dfb.reserve() as t:
                ttl.copy(price[row, column], s).wait()
                ttl.copy(strike[row, column], k).wait()
                ttl.copy(years[row, column], t).wait()
            with price_dfb.wait() as s, strike_dfb.wait() as k, years_dfb.wait() as t:
                deviation = VOLATILITY * ttl.math.sqrt(t)
                growth = ttl.math.log(s / k) + (RATE + VOLATILITY**2 / 2) * t
                upper = growth / deviation
                lower = upper - deviation
                discounted = k * ttl.math.exp(-RATE * t)
                with call_dfb.reserve() as call_blk:
                    call_blk.store(s * normal(upper) - discounted * normal(lower))
            with call_dfb.wait() as call_blk:
                ttl.copy(call_blk, call[row, column]).wait()


def main() -> None:
    generator = np.random.default_rng(0)
    price = tensor(generator.uniform(80, 120, (SIZE, SIZE)), ttnn.float32)
    strike = tensor(generator.uniform(80, 120, (SIZE, SIZE)), ttnn.float32)
    years = tensor(generator.uniform(0.1, 2, (SIZE, SIZE)), ttnn.float32)
    call = ttnn.zeros_like(price)
    black_scholes(price, strike, years, call)

    s, k, t = values(price), values(strike), values(years)
    deviation = VOLATILITY * np.sqrt(t)
    upper = (np.log(s / k) + (RATE + VOLATILITY**2 / 2) * t) / deviation
    below = np.vectorize(lambda x: 0.5 * (1 + erf(x * 0.5**0.5)))
    expected = s * below(upper) - k * np.exp(-RATE * t) * below(upper - deviation)
    agree("black_scholes", call, expected, 1e-3)


if __name__ == "__main__":
    main()
