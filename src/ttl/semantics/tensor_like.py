"""Tensors as kernels and backends know them, whichever library they come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class TensorLike(Protocol):
    """A tensor of the embedded or the real ttnn."""

    @property
    def shape(self) -> Sequence[int]: ...

    @property
    def dtype(self) -> Any:
        """Return a DType, or the real ttnn's: `find_dtype` reads both."""

    @property
    def layout(self) -> object:
        """Return a Layout, or the real ttnn's: `layout_of` reads both."""

    def device(self) -> Any:
        """Return its device, or None for a host tensor."""

    def memory_config(self) -> Any: ...

    def buffer_address(self) -> int: ...


class StoredTensor(TensorLike, Protocol):
    """A tensor of the embedded ttnn, whose elements are in this process."""

    @property
    def storage(self) -> Any: ...
