"""ttl.math.exp() with flags: the same on both backends, and a constant factor inside the call."""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.config import Config, process_variables
from ttl.driver.compile import compile_operation
from ttl.target import load

TARGET = load("wormhole_b0")
DEVICE = ttnn.open_device(device_id=0)
# With the largest error of bf16 results, relative to them, on the chip.
FLAGS = [
    ({"scale": 0.125}, 2**-8),
    ({"scale": -2}, 2**-8),
    ({"scale": 0.3}, 2**-6),  # no bfloat16: the product is rounded to one first
    ({"scale": None, "iterations": 8}, 2**-8),
    ({"approx": True}, 0.04),
    ({"approx": True, "scale": 0.5, "skip_clamp_check": True}, 0.04),
]


def made(function):
    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2)
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)
        with x_dfb.reserve() as blk:
            ttl.copy(x[0, 0], blk).wait()
        with x_dfb.wait() as blk, y_dfb.reserve() as out:
            out.store(function(blk))
        with y_dfb.wait() as blk:
            ttl.copy(blk, y[0, 0]).wait()

    return operation


def tensor(dtype):
    numbers = 8 * np.random.default_rng(0).random((32, 32), np.float32) - 4
    return ttl.from_numpy(numbers, dtype=dtype, device=DEVICE)


@pytest.mark.parametrize("backend", ["sim", "host"])
@pytest.mark.parametrize(("flags", "error"), FLAGS, ids=str)
def test_flags(flags, error: float, backend: str) -> None:
    x = tensor(ttnn.bfloat16)
    y = ttnn.zeros_like(x)
    with process_variables({"TTL_BACKEND": backend}):
        made(lambda blk: ttl.math.exp(blk, **flags))(x, y)
    expected = np.exp(ttl.to_numpy(x).astype(np.float64) * (flags.get("scale") or 1))
    assert (np.abs(ttl.to_numpy(y) - expected) <= error * expected).all()


def compute_kernel(function, dtype) -> str:
    x = tensor(dtype)
    program = made(function).program((x, x), {}, TARGET.default_grid)
    kernels = compile_operation(program, TARGET, Config()).kernels
    return next(each.cpp_source for each in kernels if each.name == "compute")


@pytest.mark.parametrize(
    "function",
    [
        lambda blk: ttl.math.exp(blk, scale=0.125),
        lambda blk: ttl.math.exp(blk * 0.125),
        lambda blk: ttl.exp(0.125 * blk),
    ],
)
def test_a_factor_is_the_scale_of_the_call(function) -> None:
    text = compute_kernel(function, ttnn.float32)
    assert "exp_tile<false, true>(0, VectorMode::RC, 0x3e00u);" in text
    assert "mul" not in text


@pytest.mark.parametrize(
    ("function", "dtype"),
    [
        (lambda blk: ttl.math.exp(blk * 0.3), ttnn.float32),  # the call takes 8 digits
        (lambda blk: ttl.math.exp(blk * 0.125), ttnn.bfloat16),  # the product is rounded
    ],
)
def test_a_factor_that_would_change_the_value_is_not(function, dtype) -> None:
    text = compute_kernel(function, dtype)
    assert "exp_tile(0);" in text and "mul" in text


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"iterations": 4}, "iterations=4"),
        ({"scale": "a"}, "takes a number as `scale`"),
        ({"approx": 1}, "takes True or False as `approx`"),
        ({"scales": 2}, "has no argument `scales`"),
    ],
)
def test_wrong_flags(flags, message: str) -> None:
    x = tensor(ttnn.bfloat16)
    with pytest.raises(ttl.TTLError, match=message):
        made(lambda blk: ttl.math.exp(blk, **flags))(x, ttnn.zeros_like(x))
