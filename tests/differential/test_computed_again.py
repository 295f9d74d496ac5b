"""What one call of the matrix unit makes of two blocks is computed again, not kept in a buffer."""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.config import Config
from ttl.driver.compile import compile_operation
from ttl.target import load

DEVICE = ttnn.open_device(device_id=0)


def make(are_gone: bool) -> ttl.Operation:
    """The second store of the sum is before the blocks are popped, or after."""

    @ttl.operation(grid=(1, 1))
    def sums(a, b, y):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(2, 2))
        b_dfb = ttl.make_dataflow_buffer_like(b, shape=(2, 2))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(2, 2))

        @ttl.datamovement()
        def read():
            for tensor, dfb in ((a, a_dfb), (b, b_dfb)):
                with dfb.reserve() as block:
                    ttl.copy(tensor[0:2, 0:2], block).wait()

        @ttl.compute()
        def compute():
            left, right = a_dfb.wait(), b_dfb.wait()
            total = left + right
            with y_dfb.reserve() as result:
                result.store(abs(total))
            if are_gone:
                left.pop()
                right.pop()
            with y_dfb.reserve() as result:
                result.store(total * 2)
            if not are_gone:
                left.pop()
                right.pop()

        @ttl.datamovement()
        def write():
            for i in range(2):
                with y_dfb.wait() as result:
                    ttl.copy(result, y[0:2, 2 * i : 2 * i + 2]).wait()

    return sums


def tensors() -> list[ttnn.Tensor]:
    random = np.random.default_rng(3)
    numbers = [random.normal(size=(64, 64)).astype(np.float32) for _ in range(2)]
    given = [ttl.from_numpy(each, dtype=ttnn.bfloat16, device=DEVICE) for each in numbers]
    return [*given, ttnn.zeros((64, 128), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE)]


@pytest.mark.parametrize("are_gone", [False, True])
def test_the_sum(are_gone: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the blocks go, it is computed again before that and stays in registers."""
    operation, results = make(are_gone), []
    for backend in ("sim", "host"):
        monkeypatch.setenv("TTL_BACKEND", backend)
        given = tensors()
        operation(*given)
        results.append(ttl.to_numpy(given[-1]))
    assert np.array_equal(*results)
    target = load("wormhole_b0")
    program = operation.program(tuple(given), {}, target.default_grid)
    compiled = compile_operation(program, target, Config())
    (source,) = (kernel.cpp_source for kernel in compiled.kernels if kernel.name == "compute")
    assert source.count("add_tiles(") == 2
    assert "kept" not in source
