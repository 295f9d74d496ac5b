"""Compares tensors that ttl.from_numpy() makes with the real ttnn and with the embedded one.

Run by the real ttnn's Python: `arrays.py FOLDER`. Prints how many kinds of tensors it compared.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import ttl.ttnn
from device import mock_chip
from ttl.device.plan import TTNN_DTYPES

SHAPES = ((64, 64), (40, 50), (2, 3, 33, 7), (5,), ())
LAYOUTS = ("TILE_LAYOUT", "ROW_MAJOR_LAYOUT")
SPECIAL = np.array([[np.nan, np.inf, -np.inf, -0.0, 1e-42, 3e38, 3.4e38]], np.float32)


def check(real: Any, array: Any, name: str, layout: str, device: Any) -> None:
    """Made on the host, read back; on the device there is memory for addresses only."""
    pairs = [
        ttl.from_numpy(array, dtype=getattr(ttnn, name), layout=getattr(ttnn, layout))
        for ttnn in (real, ttl.ttnn)
    ]
    tensor, other = pairs
    assert type(tensor) is real.Tensor and type(other) is ttl.ttnn.Tensor
    assert (tensor.dtype, tensor.layout) == (getattr(real, name), getattr(real, layout))
    found, expected = (ttl.to_numpy(each) for each in pairs)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert np.array_equal(*(each.astype(np.float64) for each in (found, expected)), equal_nan=True)
    placed = ttl.from_numpy(array, tensor.dtype, tensor.layout, device, real.L1_MEMORY_CONFIG)
    assert placed.memory_config().buffer_type == real.BufferType.L1
    assert (tuple(placed.shape), placed.dtype) == (array.shape, tensor.dtype)


def check_choices(ttnn: Any, device: Any) -> None:
    """What is not said, and which ttnn it is."""
    half = np.ones((4, 4), ml_dtypes.bfloat16)
    assert ttl.from_numpy(half).dtype is ttnn.bfloat16
    assert ttl.from_numpy(half).layout is ttnn.TILE_LAYOUT
    assert ttl.from_numpy(np.ones(3)).dtype is ttnn.float32
    assert ttl.from_numpy(half, ttl.ttnn.float32, device=device).dtype is ttnn.float32
    assert isinstance(ttl.from_numpy(half, ttl.ttnn.bfloat16), ttl.ttnn.Tensor)
    rows = ttl.from_numpy(half, layout=ttl.ROW_MAJOR_LAYOUT)
    assert rows.layout is ttnn.ROW_MAJOR_LAYOUT
    for mapper in (ttnn.ShardTensorToMesh(device, dim=0), ttnn.ReplicateTensorToMesh(device)):
        spread = ttl.from_numpy(half, mesh_mapper=mapper)
        assert ttl.to_numpy(spread, ttnn.ConcatMeshToTensor(device, dim=0)).shape == (4, 4)
        assert ttl.from_numpy(half, device=device, mesh_mapper=mapper).device() is device
    ttnn.deallocate(placed := ttl.from_numpy(half, device=device))
    for wrong in (
        lambda: ttl.from_numpy(half, dtype=ttnn.fp8_e4m3),
        lambda: ttl.from_numpy(half, dtype=ttl.ttnn.float16, device=device),
        lambda: ttl.from_numpy(half, dtype=ttnn.bfloat8_b, layout=ttnn.ROW_MAJOR_LAYOUT),
        lambda: ttl.to_numpy(placed),
    ):
        try:
            wrong()
        except ttl.UsageError:
            continue
        raise AssertionError("not refused")


def main() -> None:
    mock_chip.prepare("wormhole_b0", Path(sys.argv[1]))
    import ttnn

    device, count = ttnn.open_device(device_id=0), 0
    generator = np.random.default_rng(0)
    for shape, name, layout in product(SHAPES, TTNN_DTYPES.values(), LAYOUTS):
        if name.endswith("_b") and layout == "ROW_MAJOR_LAYOUT":
            continue
        lowest = 0 if name.startswith("u") else -100
        check(ttnn, generator.uniform(lowest, 100, shape), name, layout, device)
        count += 1
    for name in ("bfloat16", "float32", "bfloat8_b", "bfloat4_b"):
        check(ttnn, SPECIAL, name, "TILE_LAYOUT", device)
        count += 1
    check_choices(ttnn, device)
    print(count)


if __name__ == "__main__":
    main()
