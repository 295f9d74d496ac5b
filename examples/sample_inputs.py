"""Inputs for the examples: three random sets of tensors, and one that shows misplaced tiles."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

SIZE = 256


def sample_inputs(count: int) -> Iterator[tuple[str, list[NDArray[np.float32]]]]:
    """(name, `count` arrays) for each run of an example."""
    for seed in range(3):
        generator = np.random.default_rng(seed)
        arrays = [4 * generator.random((SIZE, SIZE), np.float32) - 2 for _ in range(count)]
        yield f"random {seed}", arrays
    yield "distinct", [distinct(step) for step in range(1, 2 * count, 2)]


def distinct(step: int) -> NDArray[np.float32]:
    """All elements of a tile differ and no two tiles are alike, not even transposed.

    All elements of the tensor cannot differ: it has 65,536, and bf16 only 65,280 finite values.
    """
    position = (np.arange(32).reshape(32, 1) * 32 + np.arange(32)).reshape(1, 32, 1, 32)
    tile = np.arange(64).reshape(8, 1, 8, 1)
    code = (position * 5 + tile * 37).reshape(SIZE, SIZE) * step % 2048
    sign, mantissa, exponent = code % 2, code // 2 % 128, code // 256
    values = (1 - 2 * sign) * np.ldexp(1 + mantissa / 128, exponent - 6)
    singles: NDArray[np.float32] = values.astype(np.float32)
    return singles
