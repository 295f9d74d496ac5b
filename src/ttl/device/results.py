"""What real tensors hold, as arrays of numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .descriptors import is_mesh


def values_of(ttnn: Any, tensor: Any) -> list[NDArray[Any]]:
    """Of each device that the tensor has a part on; floats as float32."""
    parts = ttnn.get_device_tensors(tensor) if is_mesh(tensor.device()) else [tensor]
    return [_array(ttnn, part) for part in parts]


def _array(ttnn: Any, tensor: Any) -> NDArray[Any]:
    """numpy has no bfloat16, and ttnn gives no usable array of it."""
    if tensor.dtype == ttnn.bfloat16:
        tensor = ttnn.typecast(tensor, ttnn.float32)
    return np.asarray(tensor.to_numpy())
