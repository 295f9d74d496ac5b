"""`acc += f(a)` in a loop: the same bits simulated and compiled, whatever adds up the blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ttl
from ttl import ttnn

DEVICE = ttnn.open_device(device_id=0)
STEPS = 5
FORMS: dict[str, Callable[[Any], Any]] = {
    "the block": lambda a: a,
    "a product": lambda a: a * a,
    "rearranged": lambda a: ttl.transpose(a * 1),
    "negated": lambda a: -a,
}


def make(form: Callable[[Any], Any], size: int, fp32: bool) -> ttl.Operation:
    @ttl.operation(grid=(1, 1), fp32_dest_acc_en=fp32)
    def operation(a, y):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(size, size))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(size, size))

        @ttl.datamovement()
        def read():
            for i in range(STEPS):
                with a_dfb.reserve() as block:
                    ttl.copy(a[i * size : i * size + size, 0:size], block).wait()

        @ttl.compute()
        def compute():
            with y_dfb.reserve() as acc:
                for _ in range(STEPS):
                    with a_dfb.wait() as block:
                        acc += form(block)

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as block:
                ttl.copy(block, y[0:size, 0:size]).wait()

    return operation


def result(operation: ttl.Operation, values: np.ndarray, dtype: Any, backend: str) -> np.ndarray:
    a = ttl.from_numpy(values, dtype=dtype, device=DEVICE)
    side = values.shape[1]
    y = ttnn.zeros((side, side), dtype, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TTL_BACKEND", backend)
        operation(a, y)
    return ttl.to_numpy(y).astype(np.float32).view(np.uint32)


@pytest.mark.parametrize("fp32", [True, False])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("name", FORMS)
def test_both_backends_add_up_the_same(name: str, size: int, dtype: str, fp32: bool) -> None:
    """Blocks of nine tiles do not fit in the registers; of some numbers all are -0.0, or 0.0."""
    random = np.random.default_rng(3)
    values = random.normal(size=(STEPS, 32 * size, 32 * size)).astype(np.float32)
    values[:, :5] = -0.0
    values[:, 5:10] = 0.0
    rows = values.reshape(-1, 32 * size)
    operation, kind = make(FORMS[name], size, fp32), getattr(ttnn, dtype)
    results = [result(operation, rows, kind, backend) for backend in ("sim", "host")]
    assert np.array_equal(*results)
