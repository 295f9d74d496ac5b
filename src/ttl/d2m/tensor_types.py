"""The types that the tensors of a call have on the host and on the device."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import TensorType

from ttl.dialects.metal import MetalLayoutAttr
from ttl.dialects.ttcore import TileType
from ttl.semantics.dtypes import dtype_of

from .program import Operand


def device_type(operand: Operand) -> TensorType[Any]:
    shape = operand.layout.device_shape(operand.grid)
    element = TileType.of(dtype_of(operand.tensor))
    return TensorType(element, shape, MetalLayoutAttr.of(operand.layout))


def stream_type(type: TensorType[Any]) -> TensorType[Any]:
    """A view of the tensor."""
    layout = type.encoding
    assert isinstance(layout, MetalLayoutAttr)
    view = MetalLayoutAttr.of(layout.layout, f"map({len(type.get_shape())})")
    return TensorType(type.element_type, type.get_shape(), view)


def host_type(operand: Operand) -> TensorType[Any]:
    element = TileType.of(dtype_of(operand.tensor)).element
    return TensorType(element, operand.layout.logical_shape)
