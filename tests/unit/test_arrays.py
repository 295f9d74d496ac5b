"""ttl.from_numpy and ttl.to_numpy with the embedded ttnn; tests/device has the real one."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.semantics.dtypes import DTYPES

DEVICE = ttnn.open_device(device_id=0)
RealDataType = Enum("RealDataType", ["FLOAT32", "BFLOAT16"])
RealLayout = Enum("RealLayout", ["ROW_MAJOR", "TILE"])


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_there_and_back(dtype: Any) -> None:
    numbers = np.arange(40 * 50).reshape(40, 50) % 100
    tensor = ttl.from_numpy(numbers, dtype=dtype, device=DEVICE)
    assert (tensor.dtype, tensor.layout) == (dtype, ttnn.TILE_LAYOUT)
    found = ttl.to_numpy(tensor)
    assert found.dtype == dtype.storage
    np.testing.assert_array_equal(found, ttnn.to_numpy(tensor))
    found[...] = 0
    assert ttl.to_numpy(tensor).any()


def test_what_is_not_said() -> None:
    assert ttl.from_numpy(np.ones(3)).dtype is ttnn.float32
    assert ttl.from_numpy(np.ones(3, ml_dtypes.bfloat16)).dtype is ttnn.bfloat16
    assert ttl.from_numpy([[1.0, 2.0]]).device() is None
    assert ttl.from_numpy(np.ones((2, 2)), memory_config=ttnn.L1_MEMORY_CONFIG, device=DEVICE)


def test_names_of_the_real_ttnn() -> None:
    tensor = ttl.from_numpy(np.ones((4, 4)), RealDataType.BFLOAT16, RealLayout.ROW_MAJOR, DEVICE)
    assert (tensor.dtype, tensor.layout) == (ttnn.bfloat16, ttnn.ROW_MAJOR_LAYOUT)


def test_a_mesh() -> None:
    mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 2))
    numbers = np.arange(64.0).reshape(2, 32)
    mapper = ttnn.ShardTensorToMesh(mesh, dim=0)
    tensor = ttl.from_numpy(numbers, device=mesh, mesh_mapper=mapper)
    joined = ttl.to_numpy(tensor, ttnn.ConcatMeshToTensor(mesh, dim=0))
    np.testing.assert_array_equal(joined, numbers)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ttl.from_numpy(np.array(["a"])), "has no numbers"),
        (lambda: ttl.from_numpy(np.zeros(2, "V4")), "has no numbers"),
        (lambda: ttl.from_numpy(np.ones(3, np.int64)), "does not say which element type"),
        (lambda: ttl.from_numpy(np.ones(3), dtype="float32"), "not an element type"),
        (lambda: ttl.from_numpy(np.ones(3), layout="tile"), "not a layout"),
        (
            lambda: ttl.from_numpy(np.ones(3), ttnn.bfloat8_b, ttnn.ROW_MAJOR_LAYOUT),
            "bfloat8_b is only in tiles",
        ),
        (lambda: ttl.to_numpy(np.ones(3)), "takes a tensor of ttnn, not a ndarray"),
    ],
)
def test_what_is_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ttl.UsageError, match=message) as caught:
        call()
    (found,) = caught.value.diagnostics
    assert found.code.code == "TTL1003" and found.primary is not None
