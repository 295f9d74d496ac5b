"""The embedded stand-in for ttnn: tensors and devices, as much of them as programs use."""

from typing import TYPE_CHECKING, Any

from ttl.diagnostics.names import unknown_name
from ttl.semantics.dtypes import bfloat16, float32

from .creation import (
    empty,
    empty_like,
    from_numpy,
    full,
    ones,
    ones_like,
    to_numpy,
    zeros,
    zeros_like,
)
from .device import CoreCoord, Device, close_device, open_device
from .layout import TILE_LAYOUT, Layout
from .tensor import Tensor

__all__ = [
    "TILE_LAYOUT",
    "CoreCoord",
    "Device",
    "Layout",
    "Tensor",
    "bfloat16",
    "close_device",
    "empty",
    "empty_like",
    "float32",
    "from_numpy",
    "full",
    "ones",
    "ones_like",
    "open_device",
    "to_numpy",
    "zeros",
    "zeros_like",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise unknown_name("the embedded ttnn", name, __all__)
