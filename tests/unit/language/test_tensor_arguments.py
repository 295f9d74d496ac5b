"""Tensors that an operation cannot use are named at the call."""

from __future__ import annotations

from typing import Any

import pytest

import ttl
from ttl import ttnn
from ttl.diagnostics import UsageError


@ttl.operation(grid=(1, 1))
def operation(a, b):
    @ttl.datamovement()
    def kernel():
        pass


@ttl.operation(grid=(1, 1))
def three(a, b, c):
    @ttl.datamovement()
    def kernel():
        pass


DEVICE = ttnn.open_device(device_id=0)


def good(device: Any = DEVICE) -> ttnn.Tensor:
    return ttnn.zeros((32, 32), layout=ttnn.TILE_LAYOUT, device=device)


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (
            ttnn.zeros((), layout=ttnn.TILE_LAYOUT),
            r"`b` of operation is a tensor without dimensions, of shape \(\)",
        ),
        (
            ttnn.zeros((4, 0), layout=ttnn.TILE_LAYOUT),
            r"`b` of operation is an empty tensor, of shape \(4, 0\)",
        ),
        (ttnn.zeros((0,), layout=ttnn.ROW_MAJOR_LAYOUT), "`b` of operation is an empty tensor"),
        (ttnn.zeros((), layout=ttnn.ROW_MAJOR_LAYOUT), "`b` of operation is a tensor without dim"),
    ],
)
def test_tensors_that_cannot_be_sliced(tensor: ttnn.Tensor, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        operation(good(), tensor)
    (found,) = caught.value.diagnostics
    assert found.code.slug == "unusable-tensor"
    assert found.primary is not None and found.primary.span.file == __file__
    assert found.helps


@pytest.mark.parametrize("layout", [ttnn.ROW_MAJOR_LAYOUT, ttnn.TILE_LAYOUT])
def test_one_dimension_is_enough(layout: Any) -> None:
    operation(good(), ttnn.zeros((5,), layout=layout, device=DEVICE))


def test_tensors_of_two_devices() -> None:
    first, second = (ttnn.open_device(device_id=number) for number in (0, 1))
    message = "`b` of operation is on device 1, argument `a` on device 0"
    with pytest.raises(UsageError, match=message):
        operation(good(device=first), good(device=second))
    operation(good(device=first), good(device=ttnn.open_device(device_id=0)))


@pytest.mark.parametrize("other", [DEVICE, None])
def test_host_tensors_go_with_any_device(other: Any) -> None:
    operation(good(), good(device=None))
    operation(good(device=None), good(device=other))
    second = ttnn.open_device(device_id=1)
    with pytest.raises(UsageError, match="`c` of three is on device 1, argument `b` on device 0"):
        three(good(device=None), good(), good(device=second))


def test_the_same_tensor_twice() -> None:
    tensor = good()
    operation(tensor, tensor)
