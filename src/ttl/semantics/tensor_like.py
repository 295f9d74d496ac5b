"""What is a tensor. On its own: a protocol cannot be compiled as semantics/tensors.py is."""

from __future__ import annotations

from typing import Any, Protocol


class TensorLike(Protocol):
    """What the embedded and the real ttnn tensor have in common."""

    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def layout(self) -> Any: ...
