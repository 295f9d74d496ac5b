"""All element types of tensors are compiled."""

from __future__ import annotations

from typing import Any

import pytest

import ttl
from ttl import ttnn
from ttl.frontend import build_module
from ttl.semantics.dtypes import DTYPES
from ttl.target import load

DEVICE = ttnn.open_device(device_id=0)

TARGET = load("wormhole_b0")
ROWS = ttnn.ROW_MAJOR_LAYOUT


@ttl.operation(grid=(1, 1))
def operation(a):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

    @ttl.datamovement()
    def read():
        with a_dfb.reserve() as block:
            ttl.copy(a[0, 0], block).wait()


def build(tensor: ttnn.Tensor) -> Any:
    return build_module(operation.program((tensor,), {}, TARGET.default_grid), TARGET)


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_element_types(dtype: Any) -> None:
    tensor = ttnn.zeros((32, 32), dtype, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    build(tensor).verify()


@pytest.mark.parametrize("dtype", [d for d in DTYPES.values() if not d.is_block_float], ids=str)
def test_row_major(dtype: Any) -> None:
    """Nothing is computed with it: all element types are data."""
    text = str(build(ttnn.zeros((32, 32), dtype, layout=ROWS, device=DEVICE)))
    assert "!ttcore.tile<1x1, " in text
