"""The embedded stand-in for ttnn: tensors and devices, as much of them as programs use."""

from typing import TYPE_CHECKING, Any

from ttl.diagnostics import RuleBroken, UsageError, codes
from ttl.diagnostics.frames import calling_span
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
        from difflib import get_close_matches

        if name.startswith("__"):
            raise AttributeError(name)
        near = get_close_matches(name, __all__)
        broken = RuleBroken(
            codes.UNKNOWN_NAME,
            f"the embedded ttnn has no `{name}`",
            helps=(f"did you mean {' or '.join(f'`{n}`' for n in near)}?",) if near else (),
            notes=(f"it has: {', '.join(__all__)}",),
        )
        raise UsageError(broken.at(calling_span()))
