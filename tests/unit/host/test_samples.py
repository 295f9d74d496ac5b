"""The kernels as the compiler emits them, against numpy."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from ttl.artifact import ComputeConfig, ThreadKind
from ttl.host import launch

BF16 = ml_dtypes.bfloat16
SIZE = 256


def _random(seed: int, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, (SIZE, SIZE)).astype(BF16)


def _operation(tiny, name, config, names):
    def source(part):
        return (tiny.samples / f"{part}.cpp").read_text()

    kernels = [
        tiny.make_kernel("compute", ThreadKind.COMPUTE, source(f"{name}_compute"), (), config),
        tiny.make_kernel("read", ThreadKind.READER, source(f"{name}_read"), (0, 1, 2)),
        tiny.make_kernel("write", ThreadKind.WRITER, source("elementwise_write"), (3,)),
    ]
    buffers = [tiny.make_buffer(n, i, 4, 2) for i, n in enumerate(names)]
    return tiny.make_operation(kernels, buffers, 4, corner=(1, 1))


def _run(tiny, operation, inputs, cache_dir):
    tensors = [tiny.Tensor(tiny.to_tiles(value)) for value in inputs]
    tensors.append(tiny.Tensor(np.zeros((64, 1024), BF16)))
    launch(operation, tensors, cache_dir=cache_dir)
    return tiny.from_tiles(tensors[3].tiles, SIZE, SIZE)


def rounded(value: np.ndarray) -> np.ndarray:
    return value.astype(BF16).astype(np.float32)


def test_elementwise(tiny, cache_dir):
    operation = _operation(tiny, "elementwise", ComputeConfig(), ["a", "b", "c", "y"])
    a, b, c = (_random(seed) for seed in (1, 2, 3))
    result = _run(tiny, operation, (a, b, c), cache_dir)
    wide = [value.astype(np.float32) for value in (a, b, c)]
    exponential = rounded(np.exp(wide[2].astype(np.float64)).astype(np.float32))
    expected = rounded(rounded(wide[0] * wide[1]) + exponential)
    np.testing.assert_array_equal(result.astype(np.float32), expected)


def test_matmul_bias_relu(tiny, cache_dir):
    config = ComputeConfig(fp32_dest_acc_en=True, dst_full_sync_en=True)
    operation = _operation(tiny, "matmul", config, ["a", "b", "bias", "y"])
    a, b, bias = (_random(seed) for seed in (4, 5, 6))
    result = _run(tiny, operation, (a, b, bias), cache_dir).astype(np.float64)
    wide = [value.astype(np.float64) for value in (a, b, bias)]
    expected = np.maximum(wide[0] @ wide[1] + wide[2], 0)
    np.testing.assert_allclose(result, expected, rtol=2.0**-8, atol=1e-4)
    assert (result > 0).mean() > 0.3


def test_the_same_every_time(tiny, cache_dir):
    operation = _operation(tiny, "elementwise", ComputeConfig(), ["a", "b", "c", "y"])
    inputs = tuple(_random(seed) for seed in (1, 2, 3))
    first = _run(tiny, operation, inputs, cache_dir).tobytes()
    assert all(_run(tiny, operation, inputs, cache_dir).tobytes() == first for _ in range(3))
