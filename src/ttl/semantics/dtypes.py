"""Element types: how wide they are, what the chip calls them, and how a value is rounded."""

from __future__ import annotations

from dataclasses import dataclass, field

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class DType:
    """`carrier` is the numpy type the simulator computes in; it holds every value exactly."""

    name: str
    data_format: str  # the chip's name, as in the artifact
    mlir: str
    storage: np.dtype[np.generic] = field(compare=False)
    carrier: np.dtype[np.generic] = field(compare=False)

    def __repr__(self) -> str:
        return self.name

    @property
    def tile_bytes(self) -> int:
        return 32 * 32 * self.storage.itemsize


bfloat16 = DType(
    "bfloat16", "BFloat16", "bf16", np.dtype(ml_dtypes.bfloat16), np.dtype(np.float32)
)
float32 = DType("float32", "Float32", "f32", np.dtype(np.float32), np.dtype(np.float32))

DTYPES = {dtype.name: dtype for dtype in (bfloat16, float32)}


def round_to(values: Array, dtype: DType) -> Array:
    """The nearest values (ties to even) that `dtype` can hold, in its carrier."""
    if dtype.storage == dtype.carrier:
        return values.astype(dtype.carrier, copy=False)
    return values.astype(dtype.storage).astype(dtype.carrier)
