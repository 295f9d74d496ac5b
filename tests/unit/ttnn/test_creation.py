"""Making tensors, and what cannot be made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ttl import ttnn
from ttl.diagnostics import UsageError


def test_from_numpy_and_to_numpy_copy() -> None:
    array = np.ones((32, 32), np.float32)
    tensor = ttnn.from_numpy(array)
    array[0, 0] = 2
    first = ttnn.to_numpy(tensor)
    first[0, 1] = 3
    assert ttnn.to_numpy(tensor).min() == ttnn.to_numpy(tensor).max() == 1


@pytest.mark.parametrize(
    ("array_dtype", "dtype"),
    [
        (np.float32, ttnn.float32),
        (np.float64, ttnn.float32),
        (ml_dtypes.bfloat16, ttnn.bfloat16),
    ],
)
def test_the_element_type_comes_from_the_array(array_dtype: Any, dtype: Any) -> None:
    tensor = ttnn.from_numpy(np.zeros((32, 32), array_dtype))
    assert tensor.dtype is dtype
    assert tensor.layout is ttnn.TILE_LAYOUT


def test_filled_tensors() -> None:
    assert not ttnn.to_numpy(ttnn.zeros((32, 33))).any()
    assert (ttnn.to_numpy(ttnn.ones((32, 33), ttnn.float32)) == 1).all()
    assert (ttnn.to_numpy(ttnn.full((32, 33), 2.5, ttnn.float32)) == 2.5).all()
    like = ttnn.zeros_like(ttnn.ones((3, 32, 64), ttnn.float32))
    assert (like.shape, like.dtype) == ((3, 32, 64), ttnn.float32)
    assert not ttnn.to_numpy(like).any()


def test_an_empty_tensor_shows_that_nobody_wrote_it() -> None:
    tensor = ttnn.empty_like(ttnn.ones((32, 33)))
    assert np.isnan(ttnn.to_numpy(tensor).astype(np.float32)).all()
    assert not np.isnan(tensor.storage.elements[:, 33:].astype(np.float32)).any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ttnn.zeros((32,)), r"cannot have the shape \(32,\)"),
        (lambda: ttnn.zeros((32, 0)), r"cannot have the shape \(32, 0\)"),
        (lambda: ttnn.from_numpy(np.float32(1)), r"cannot have the shape \(\)"),
        (lambda: ttnn.zeros(32), "shape=32: not a tuple"),
        (lambda: ttnn.zeros((32, 32), "bf16"), "dtype='bf16': not an element type"),
        (lambda: ttnn.zeros((32, 32), layout="row"), "layout='row': not a layout"),
        (lambda: ttnn.from_numpy(np.zeros((32, 32), int)), "an array of int64 does not say"),
        (lambda: ttnn.to_numpy(np.zeros((32, 32))), "takes a ttnn tensor, not a ndarray"),
        (lambda: ttnn.zeros((32, 32))[0, 0], "only in data movement kernels"),
    ],
)
def test_wrong_arguments_point_at_the_call(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        make()
    primary = caught.value.diagnostics[0].primary
    assert primary is not None
    assert primary.span.file == __file__
    assert "src/ttl" not in str(caught.value)


def test_a_misspelt_name_gets_the_nearest_ones() -> None:
    with pytest.raises(UsageError) as caught:
        ttnn.bfloat61  # noqa: B018
    text = str(caught.value)
    assert "error[TTL1004]: the embedded ttnn has no `bfloat61`" in text
    assert "did you mean `bfloat16`" in text
    assert "ttnn.bfloat61  # noqa" in text


def test_devices() -> None:
    device = ttnn.open_device(device_id=3)
    grid = device.compute_with_storage_grid_size()
    assert (device.id(), grid.x, grid.y) == (3, 8, 8)
    assert ttnn.zeros((32, 32), device=device).device() is device
    ttnn.close_device(device)
    assert not device.is_open
