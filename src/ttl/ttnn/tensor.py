"""Tensors of the embedded ttnn."""

from __future__ import annotations

from typing import Any

from ttl.diagnostics import RuleBroken, UsageError, codes
from ttl.diagnostics.frames import calling_span
from ttl.semantics.current_engine import ENGINE
from ttl.semantics.dtypes import DType
from ttl.semantics.tensors import TensorSlice
from ttl.semantics.types import Shape

from .device import Device
from .layout import Layout
from .storage import make_storage


class Tensor:
    """A tensor in tiles or rows. Last tiles are padded; `shape` is what the program asked for."""

    __slots__ = ("_device", "dtype", "layout", "shape", "storage")

    def __init__(self, shape: Shape, dtype: DType, layout: Layout, device: Device | None):
        self.shape = shape
        self.dtype = dtype
        self.layout = layout
        self.storage = make_storage(shape, dtype, layout)
        self._device = device

    @property
    def padded_shape(self) -> Shape:
        return self.storage.elements.shape

    def device(self) -> Device | None:
        return self._device

    def __getitem__(self, index: Any) -> TensorSlice:
        """In data movement kernels: a slice, in tiles or, of a row-major tensor, in elements."""
        engine = ENGINE.get(None)
        if engine is None:
            raise UsageError(_outside_kernel().at(calling_span()))
        part: TensorSlice = engine.slice(self, index)
        return part

    def __repr__(self) -> str:
        return f"Tensor(shape={self.shape}, dtype={self.dtype}, layout={self.layout.name})"


def _outside_kernel() -> RuleBroken:
    return RuleBroken(
        codes.OUTSIDE_OPERATION,
        "a tensor is sliced only in data movement kernels of a running operation",
        helps=("use ttnn.to_numpy(tensor) to look at its elements",),
    )
