"""Small programs that once went wrong.

A stored value that later operations use: packing comes after all of them. A fill with infinity.
A block that is stored as it is and popped before the sum that goes on from it. Floats that are
copied while the first format of the other source, set up at the start, is one of integers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ttl
from differential.compute_programs import ComputeProgram, assert_equal, stores
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
    a = ttl.from_numpy(values, dtype=ttnn.float32, device=DEVICE)
    outputs = [
        ttnn.zeros((32, 32), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE) for _ in "yz"
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TTL_BACKEND", backend)
        load_file(path).operation(a, *outputs)
    return [ttl.to_numpy(tensor) / values.clip(1) for tensor in outputs]


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


@ttl.operation(grid=(1, 1))
def sum_from_a_popped_block(a, y):
    first = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    others = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    total = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

    @ttl.compute()
    def compute():
        with total.reserve() as result:
            with first.wait() as block:
                result.store(block)
            for _ in range(3):
                with others.wait() as block:
                    result += block

    @ttl.datamovement()
    def read():
        with first.reserve() as block:
            ttl.copy(a[0, 0], block).wait()
        for i in range(3):
            with others.reserve() as block:
                ttl.copy(a[0, i + 1], block).wait()

    @ttl.datamovement()
    def write():
        with total.wait() as block:
            ttl.copy(block, y[0, 0]).wait()


@pytest.mark.parametrize("dtype", [ttnn.float32, ttnn.bfloat16, ttnn.int32])
def test_a_sum_goes_on_from_a_block_that_was_popped(
    dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(0).integers(-9, 9, (32, 128)).astype(np.float32)
    a = ttl.from_numpy(values, dtype=dtype, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    y = ttnn.zeros((32, 32), dtype, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    monkeypatch.setenv("TTL_BACKEND", "host")
    sum_from_a_popped_block(a, y)
    expected = sum(values[:, 32 * i : 32 * i + 32] for i in range(4))
    assert np.array_equal(ttl.to_numpy(y), expected)


def test_floats_are_copied_before_integers_are_broadcast() -> None:
    whole = "ttl.math.typecast({}_blk, ttnn.int32)"
    broadcast = f"ttl.math.broadcast({whole.format('a')}, dims=[-1], shape=(1, 1))"
    body = stores([f"{broadcast} + {whole.format('b')}"])
    assert_equal(ComputeProgram(body, out_dtype=ttnn.int32, values=(-99.0, 99.0)))
