"""The types of a call's tensors on the host and on the device."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType

from ttl.dialects.metal import MetalLayoutAttr
from ttl.dialects.ttcore import TileType

from .operands import Argument


def device_type(operand: Argument) -> TensorType:
    layout = MetalLayoutAttr.of(operand.layout)
    return TensorType(TileType.of(operand.dtype), operand.device_shape, layout)


def stream_type(type: TensorType) -> TensorType:
    """Return the type of a view of the tensor."""
    layout = type.encoding
    assert isinstance(layout, MetalLayoutAttr)
    view = MetalLayoutAttr.of(layout.layout, f"map({len(type.get_shape())})")
    return TensorType(type.element_type, type.get_shape(), view)


def host_type(operand: Argument) -> TensorType:
    return TensorType(TileType.of(operand.dtype).element, operand.layout.logical_shape)
