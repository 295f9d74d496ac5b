"""Shapes of tensors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .faults import wrong

__all__ = ["Shape"]


class Shape(tuple[int, ...]):
    """The sizes of a tensor. A tuple that also knows its rank, as in the real ttnn."""

    __slots__ = ()

    def __new__(cls, sizes: Iterable[int] = ()) -> Shape:
        return super().__new__(cls, checked_sizes(sizes))

    @property
    def rank(self) -> int:
        return len(self)

    def to_rank(self, rank: int) -> Shape:
        """The same shape with ones in front, or with ones in front taken away."""
        dropped = len(self) - rank
        if dropped > 0 and any(size != 1 for size in self[:dropped]):
            raise wrong(f"the shape {self} has more than {rank} dimensions that are not 1")
        return Shape((1,) * -dropped + tuple(self[max(0, dropped) :]))


def checked_sizes(shape: Any) -> tuple[int, ...]:
    """The sizes as ints; a diagnostic for what is no shape."""
    if not isinstance(shape, (tuple, list)):
        raise wrong(f"shape={shape!r}: not a tuple of sizes", "write for example shape=(64, 64)")
    if not all(_is_size(size) for size in shape):
        raise wrong(
            f"a tensor cannot have the shape {tuple(shape)}",
            "give it sizes that are whole numbers",
        )
    return tuple([int(size) for size in shape])


def _is_size(size: object) -> bool:
    return isinstance(size, (int, np.integer)) and bool(size >= 0)


def checked_dim(dim: Any, rank: int, name: str = "dim") -> int:
    """A dimension counted from the front; negative ones count from the end."""
    if not isinstance(dim, int) or not -rank <= dim < rank:
        raise wrong(
            f"{name}={dim!r}: a tensor of {rank} dimensions has no such dimension",
            f"use {-rank} to {rank - 1}",
        )
    return dim % rank
