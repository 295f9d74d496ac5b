"""The embedded stand-in for ttnn: tensors and devices, as much of them as programs use."""

from typing import TYPE_CHECKING, Any

from ttl.diagnostics.names import unknown_name
from ttl.semantics.dtypes import (
    bfloat4_b,
    bfloat8_b,
    bfloat16,
    float16,
    float32,
    int32,
    uint8,
    uint16,
    uint32,
)

from .creation import (
    empty,
    empty_like,
    from_device,
    from_numpy,
    from_torch,
    full,
    ones,
    ones_like,
    to_device,
    to_layout,
    to_numpy,
    to_torch,
    zeros,
    zeros_like,
)
from .device import CoreCoord, Device, close_device, open_device
from .layout import ROW_MAJOR_LAYOUT, TILE_LAYOUT, Layout
from .tensor import Tensor

__all__ = [
    "ROW_MAJOR_LAYOUT",
    "TILE_LAYOUT",
    "CoreCoord",
    "Device",
    "Layout",
    "Tensor",
    "bfloat4_b",
    "bfloat8_b",
    "bfloat16",
    "close_device",
    "empty",
    "empty_like",
    "float16",
    "float32",
    "from_device",
    "from_numpy",
    "from_torch",
    "full",
    "int32",
    "ones",
    "ones_like",
    "open_device",
    "to_device",
    "to_layout",
    "to_numpy",
    "to_torch",
    "uint8",
    "uint16",
    "uint32",
    "zeros",
    "zeros_like",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise unknown_name("the embedded ttnn", name, __all__)
