"""Small programs that once went wrong.

A stored value that later operations use: packing comes after all of them. A fill with infinity.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from golden.example_programs import load_file
from ttl import ttnn

DEVICE = ttnn.open_device(device_id=0)

PROGRAM = """import ttl

INFINITY = float("inf")


@ttl.operation(grid=(1, 1))
def operation(a, y, z):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))
    z_dfb = ttl.make_dataflow_buffer_like(z, shape=(1, 1))

    @ttl.compute()
    def compute():
        with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk, z_dfb.reserve() as z_blk:
            double = a_blk + a_blk
            y_blk.store(double)
            z_blk.store(LATER)

    @ttl.datamovement()
    def read():
        with a_dfb.reserve() as a_blk:
            ttl.copy(a[0, 0], a_blk).wait()

    @ttl.datamovement()
    def write():
        with y_dfb.wait() as y_blk, z_dfb.wait() as z_blk:
            ttl.copy(y_blk, y[0, 0]).wait()
            ttl.copy(z_blk, z[0, 0]).wait()
"""


def run(later: str, backend: str, folder: Path) -> list[Any]:
    path = folder / "program.py"
    path.write_text(PROGRAM.replace("LATER", later))
    values = np.arange(-512, 512, dtype=np.float32).reshape(32, 32)
    a = ttnn.from_numpy(values, dtype=ttnn.float32, device=DEVICE)
    outputs = [ttnn.zeros((32, 32), ttnn.float32, device=DEVICE) for _ in "yz"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TTL_BACKEND", backend)
        load_file(path).operation(a, *outputs)
    return [ttnn.to_numpy(tensor) / values.clip(1) for tensor in outputs]


@pytest.mark.parametrize("backend", ["sim", "host"])
def test_binary_operation_on_a_stored_value(backend: str, tmp_path: Path) -> None:
    y, z = run("double - a_blk", backend, tmp_path)
    assert (y[-1] == 2).all() and (z[-1] == 1).all()


@pytest.mark.parametrize("backend", ["sim", "host"])
def test_an_operation_in_place_does_not_overwrite_a_stored_value(
    backend: str, tmp_path: Path
) -> None:
    y, z = run("ttl.math.relu(double)", backend, tmp_path)
    assert (y[0] < 0).all() and (z[0] == 0).all()


@pytest.mark.parametrize("backend", ["sim", "host"])
def test_a_fill_with_infinity(backend: str, tmp_path: Path) -> None:
    _, z = run("double - ttl.math.fill(INFINITY)", backend, tmp_path)
    assert (z == -np.inf).all()
