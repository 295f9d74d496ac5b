"""Making tensors, and what cannot be made."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
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
        (np.float16, ttnn.float16),
        (np.int32, ttnn.int32),
        (np.uint32, ttnn.uint32),
        (np.uint16, ttnn.uint16),
        (np.uint8, ttnn.uint8),
    ],
)
def test_the_element_type_comes_from_the_array(array_dtype: Any, dtype: Any) -> None:
    tensor = ttnn.from_numpy(np.zeros((32, 32), array_dtype))
    assert tensor.dtype is dtype
    assert tensor.layout is ttnn.TILE_LAYOUT


def test_filled_tensors() -> None:
    assert not ttnn.to_numpy(ttnn.zeros((32, 33), layout=ttnn.TILE_LAYOUT)).any()
    assert (ttnn.to_numpy(ttnn.ones((32, 33), ttnn.float32, layout=ttnn.TILE_LAYOUT)) == 1).all()
    assert (
        ttnn.to_numpy(ttnn.full((32, 33), 2.5, ttnn.float32, layout=ttnn.TILE_LAYOUT)) == 2.5
    ).all()
    like = ttnn.zeros_like(ttnn.ones((3, 32, 64), ttnn.float32, layout=ttnn.TILE_LAYOUT))
    assert (like.shape, like.dtype) == ((3, 32, 64), ttnn.float32)
    assert not ttnn.to_numpy(like).any()


def test_an_empty_tensor_shows_that_nobody_wrote_it() -> None:
    tensor = ttnn.empty_like(ttnn.ones((32, 33), layout=ttnn.TILE_LAYOUT))
    assert np.isnan(ttnn.to_numpy(tensor).astype(np.float32)).all()
    assert not np.isnan(tensor.storage.elements[:, 33:].astype(np.float32)).any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: ttnn.zeros((32, -1), layout=ttnn.TILE_LAYOUT),
            r"cannot have the shape \(32, -1\)",
        ),
        (
            lambda: ttnn.zeros((32, 1.5), layout=ttnn.TILE_LAYOUT),
            r"cannot have the shape \(32, 1\.5\)",
        ),
        (lambda: ttnn.from_numpy(np.array([["a"]])), "an array of <U1 has no numbers"),
        (
            lambda: ttnn.zeros((4, 4), ttnn.bfloat8_b, ttnn.ROW_MAJOR_LAYOUT),
            "bfloat8_b exists only in tiles",
        ),
        (lambda: ttnn.to_layout(np.zeros(3), ttnn.TILE_LAYOUT), r"to_layout\(\) takes a ttnn"),
        (
            lambda: ttnn.from_torch([[1.0]], layout=ttnn.TILE_LAYOUT),
            "takes a torch tensor, not a list",
        ),
        (lambda: ttnn.zeros(32, layout=ttnn.TILE_LAYOUT), "shape=32: not a tuple"),
        (
            lambda: ttnn.zeros((32, 32), "bf16", layout=ttnn.TILE_LAYOUT),
            "dtype='bf16': not an element type",
        ),
        (lambda: ttnn.zeros((32, 32), layout="row"), "layout='row': not a layout"),
        (lambda: ttnn.Tensor(np.zeros(2)), "of an array of float64"),
        (lambda: ttnn.Tensor(3), "tensor=3: not an array or a list"),
        (lambda: ttnn.Tensor([1.0], (2,), ttnn.float32, ttnn.TILE_LAYOUT), "1 numbers do not make"),
        (lambda: ttnn.empty((32, 32)), "needs a device"),
        (lambda: ttnn.rand((32, 32), ttnn.float32), "device=DataType.FLOAT32: not a device"),
        (lambda: ttnn.to_numpy(np.zeros((32, 32))), "takes a ttnn tensor, not a ndarray"),
        (lambda: ttnn.to_numpy(None), "an operation returns nothing: it writes its arguments"),
    ],
)
def test_wrong_arguments_point_at_the_call(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        make()
    primary = caught.value.diagnostics[0].primary
    assert primary is not None
    assert primary.span.file == __file__
    assert "src/ttl" not in str(caught.value)


@pytest.mark.parametrize("layout", [ttnn.TILE_LAYOUT, ttnn.ROW_MAJOR_LAYOUT])
@pytest.mark.parametrize("shape", [(), (5,), (40,), (3, 7), (2, 33, 65), (4, 0), (0,)])
def test_the_logical_shape_is_kept(shape: tuple[int, ...], layout: ttnn.Layout) -> None:
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    tensor = ttnn.from_numpy(values, layout=layout)
    assert (tensor.shape, tensor.layout) == (shape, layout)
    assert np.array_equal(ttnn.to_numpy(tensor), values)
    assert tensor.storage.elements.sum() == values.sum()  # padding is zero
    if layout is ttnn.ROW_MAJOR_LAYOUT:
        assert tensor.padded_shape == (shape or (1,))


def test_to_layout_copies_the_elements_both_ways() -> None:
    values = np.arange(3 * 33 * 7, dtype=np.int32).reshape(3, 33, 7)
    rows = ttnn.from_numpy(values, layout=ttnn.ROW_MAJOR_LAYOUT)
    tiles = ttnn.to_layout(rows, ttnn.TILE_LAYOUT)
    back = ttnn.to_layout(tiles, ttnn.ROW_MAJOR_LAYOUT)
    assert (rows.padded_shape, tiles.padded_shape) == ((3, 33, 7), (3, 64, 32))
    for tensor in (tiles, back):
        assert tensor.dtype is ttnn.int32
        assert np.array_equal(ttnn.to_numpy(tensor), values)
    tiles.storage.fill(np.array(0))
    assert np.array_equal(ttnn.to_numpy(rows), values)


def test_block_floats_are_rounded_in_the_tensor() -> None:
    values = np.ones((2, 40), np.float32)
    values[0, 37] = 100.0  # shares its exponent with columns 32 to 39 of its row
    array = ttnn.to_numpy(ttnn.from_numpy(values, dtype=ttnn.bfloat4_b))
    assert array.dtype == np.float32
    assert array[0, 32:37].tolist() == [0.0] * 5 and array[0, 37] == 96.0
    assert (array[1] == 1).all() and (array[0, :32] == 1).all()


def test_empty_tensors_of_integers_show_a_pattern() -> None:
    assert (
        ttnn.to_numpy(ttnn.empty((3, 5), ttnn.uint16, device=ttnn.open_device(device_id=0)))
        == 0xA5A5
    ).all()


def test_integers_wrap_around_in_tensors() -> None:
    assert (ttnn.to_numpy(ttnn.full((2, 2), -1, ttnn.uint8, layout=ttnn.TILE_LAYOUT)) == 255).all()
    array = ttnn.to_numpy(ttnn.from_numpy(np.array([[2**32 + 3]]), dtype=ttnn.uint32))
    assert array.tolist() == [[3]]


def test_tensors_move_between_devices() -> None:
    host = ttnn.ones((2, 2), layout=ttnn.TILE_LAYOUT)
    device = ttnn.open_device(device_id=1)
    there = ttnn.to_device(host, device)
    assert there.device() is device and host.device() is None
    assert ttnn.from_device(there).device() is None
    assert (ttnn.to_numpy(there) == 1).all()


class TorchTensor:
    """As much of a torch tensor as from_torch() uses."""

    __module__ = "torch"

    def __init__(self, array: np.ndarray, dtype: str):
        self.array, self.dtype = array, dtype

    def detach(self) -> TorchTensor:
        return self

    def cpu(self) -> TorchTensor:
        return self

    def view(self, dtype: Any) -> TorchTensor:
        return TorchTensor(self.array.view(dtype), f"torch.{np.dtype(dtype).name}")

    def numpy(self) -> np.ndarray:
        if self.dtype == "torch.bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.array


@pytest.mark.parametrize(
    ("array_dtype", "torch_dtype", "dtype"),
    [
        (ml_dtypes.bfloat16, "torch.bfloat16", ttnn.bfloat16),
        (np.float32, "torch.float32", ttnn.float32),
        (np.int32, "torch.int32", ttnn.int32),
    ],
)
def test_from_torch(
    array_dtype: Any, torch_dtype: str, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(int16=np.int16))
    values = np.arange(12).reshape(3, 4).astype(array_dtype)
    tensor = ttnn.from_torch(TorchTensor(values, torch_dtype), layout=ttnn.TILE_LAYOUT)
    assert (tensor.dtype, tensor.shape) == (dtype, (3, 4))
    assert np.array_equal(ttnn.to_numpy(tensor), values)
    values[...] = 0  # the tensor has a copy
    assert ttnn.to_numpy(tensor).any()
    narrowed = ttnn.from_torch(
        TorchTensor(values, torch_dtype), dtype=ttnn.uint8, layout=ttnn.TILE_LAYOUT
    )
    assert narrowed.dtype is ttnn.uint8


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
    assert ttnn.zeros((32, 32), layout=ttnn.TILE_LAYOUT, device=device).device() is device
    ttnn.synchronize_device(device)
    ttnn.CloseDevice(device)
    assert not device.is_open


@pytest.mark.parametrize(("chip", "size"), [("wormhole_b0", 1463968), ("blackhole", 1531776)])
def test_the_l1_of_a_core(chip: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the real ttnn answers with these chips; programs make their devices by it."""
    monkeypatch.setenv("TTL_TARGET", chip)
    assert ttnn.device.get_max_worker_l1_unreserved_size() == size
    assert ttnn.get_max_worker_l1_unreserved_size() == size
    ttnn.open_device(device_id=0, worker_l1_size=size - 85 * 1024)


def test_from_torch_takes_an_array_as_the_real_one_does() -> None:
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    tensor = ttnn.from_torch(values, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT)
    assert tensor.dtype is ttnn.bfloat16
    assert np.array_equal(ttnn.to_numpy(tensor).astype(np.float32), values)
