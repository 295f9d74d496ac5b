"""Pipes: compiled as simulated, whatever the order in which the NoC carries things out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from differential.pipe_programs import PATTERNS, Pattern
from ttl import ttnn

DEVICE = ttnn.open_device(device_id=0)
RUNS = [("sim", None), ("host", None), ("host", 1), ("host", 2)]


def small_integers(tiles: tuple[int, int], seed: int) -> np.ndarray:
    """Exact in f32 in all sums and products."""
    shape = tuple(32 * size for size in tiles)
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(np.float32)


def arrays_of(pattern: Pattern) -> list[np.ndarray]:
    inputs = [small_integers(tiles, seed) for seed, tiles in enumerate(pattern.shapes[:-1])]
    height, width = pattern.shapes[-1]
    return [*inputs, np.zeros((32 * height, 32 * width), np.float32)]


def run_on(backend: str, seed: int | None, operation: Any, arrays: list[np.ndarray]) -> list[Any]:
    tensors = [
        ttnn.from_numpy(a, dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
        for a in arrays
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TTL_BACKEND", backend)
        if seed is not None:
            patch.setenv("TTL_SEED", str(seed))
        operation(*tensors)
    return [ttnn.to_numpy(tensor) for tensor in tensors]


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_runs_compiled_as_simulated(name: str) -> None:
    pattern = PATTERNS[name]
    operation, arrays = pattern.make(), arrays_of(pattern)
    expected = [array.copy() for array in arrays]
    pattern.expected(*expected)
    for backend, seed in RUNS:
        results = run_on(backend, seed, operation, arrays)
        for wanted, found in zip(expected, results, strict=True):
            assert np.array_equal(wanted, found), f"{backend}, seed {seed}"
