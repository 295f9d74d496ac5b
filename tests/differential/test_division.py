"""`division="reciprocal"`: what a block is divided by is spread as 1 / s, once for each s."""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.config import Config
from ttl.driver.compile import compile_operation
from ttl.target import load

DEVICE = ttnn.open_device(device_id=0)
STEPS = 4


def make(division: str, dims: list[int], fp32: bool) -> ttl.Operation:
    spread = (2, 1) if dims == [-1] else (1, 2)

    @ttl.operation(grid=(1, 1), division=division, fp32_dest_acc_en=fp32)
    def divide(a, s, y):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(2, 2), block_count=2)
        s_dfb = ttl.make_dataflow_buffer_like(s, shape=spread, block_count=1)
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(2, 2), block_count=2)

        @ttl.datamovement()
        def read():
            with s_dfb.reserve() as block:
                ttl.copy(s[0 : spread[0], 0 : spread[1]], block).wait()
            for i in range(STEPS):
                with a_dfb.reserve() as block:
                    ttl.copy(a[0:2, 2 * i : 2 * i + 2], block).wait()

        @ttl.compute()
        def compute():
            with s_dfb.wait() as by:
                for _ in range(STEPS):
                    with a_dfb.wait() as block, y_dfb.reserve() as result:
                        divisor = ttl.block.broadcast(by, dims=dims, shape=(2, 2))
                        result.store(block / divisor)

        @ttl.datamovement()
        def write():
            for i in range(STEPS):
                with y_dfb.wait() as block:
                    ttl.copy(block, y[0:2, 2 * i : 2 * i + 2]).wait()

    return divide


def tensors(dims: list[int]) -> list[ttnn.Tensor]:
    random = np.random.default_rng(7)
    shapes = (64, 64 * STEPS), (64, 32) if dims == [-1] else (32, 64)
    numbers = [random.uniform(1, 3, shape).astype(np.float32) for shape in shapes]
    given = [ttl.from_numpy(each, dtype=ttnn.bfloat16, device=DEVICE) for each in numbers]
    result = ttnn.zeros(shapes[0], ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    return [*given, result]


@pytest.mark.parametrize("fp32", [False, True])
@pytest.mark.parametrize("dims", [[-1], [-2]])
def test_the_quotient_is_two_roundings_away(
    dims: list[int], fp32: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTL_BACKEND", "host")
    a, s, y = tensors(dims)
    make("reciprocal", dims, fp32)(a, s, y)
    left, by, result = (ttl.to_numpy(each).astype(np.float32) for each in (a, s, y))
    expected = left / (by[:, :1] if dims == [-1] else np.tile(by[:1], STEPS))
    # The result is rounded to bfloat16, and the reciprocal to that or to a TF32.
    assert np.max(np.abs(result / expected - 1)) <= 2.0**-8 + (2.0**-10 if fp32 else 2.0**-8)


@pytest.mark.parametrize(("division", "is_divided"), [("exact", True), ("reciprocal", False)])
def test_no_tile_is_divided(division: str, is_divided: bool) -> None:
    target = load("wormhole_b0")
    given = tuple(tensors([-1]))
    program = make(division, [-1], False).program(given, {}, target.default_grid)
    compiled = compile_operation(program, target, Config())
    (source,) = (kernel.cpp_source for kernel in compiled.kernels if kernel.name == "compute")
    assert ("div_binary_tile(" in source) is is_divided
    before, _, loop = source.partition(f"< {STEPS};")
    assert ("recip_tile(" in before) is not is_divided
    assert "recip_tile(" not in loop
    assert ("mul_tiles_bcast_cols(" in loop) is not is_divided
