"""TTL_FLOAT32 reaches the simulator, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.config import Config
from ttl.diagnostics import UsageError

DEVICE = ttnn.open_device(device_id=0)


@ttl.operation(grid=(1, 1))
def double(a, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

    @ttl.datamovement()
    def read():
        with a_dfb.reserve() as block:
            ttl.copy(a[0, 0], block).wait()

    @ttl.compute()
    def compute():
        with a_dfb.wait() as x, y_dfb.reserve() as out:
            out.store(x * x)

    @ttl.datamovement()
    def write():
        with y_dfb.wait() as block:
            ttl.copy(block, y[0, 0]).wait()


@pytest.mark.parametrize(("setting", "square"), [("0", 2.015625), ("1", 1.421875**2)])
def test_the_variable(monkeypatch, setting: str, square: float) -> None:
    monkeypatch.setenv("TTL_FLOAT32", setting)
    y = ttnn.zeros((32, 32), layout=ttnn.TILE_LAYOUT, device=DEVICE)
    double(ttnn.full((32, 32), 1.421875, layout=ttnn.TILE_LAYOUT, device=DEVICE), y)
    assert (ttl.to_numpy(y).astype(np.float64) == square).all()


def test_compiled_kernels_have_no_such_option(monkeypatch) -> None:
    monkeypatch.setenv("TTL_FLOAT32", "1")
    monkeypatch.setenv("TTL_BACKEND", "host")
    with pytest.raises(UsageError, match=r"TTL_FLOAT32=1\) is for the simulator"):
        double(
            ttnn.ones((32, 32), layout=ttnn.TILE_LAYOUT, device=DEVICE),
            ttnn.zeros((32, 32), layout=ttnn.TILE_LAYOUT, device=DEVICE),
        )


def test_it_is_off_by_default() -> None:
    assert not Config.from_environment({}).float32
