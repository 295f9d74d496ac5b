"""Shapes of tensors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ttl.diagnostics import codes
from ttl.semantics.current_engine import running_engine

from .faults import wrong, wrong_call

__all__ = ["Shape"]

MOST_DIMENSIONS = 4  # a shape can be indexed like one of this many dimensions, with leading ones


class Shape(tuple[int, ...]):
    """The sizes of a tensor.

    As in the real ttnn it is indexed by ints only and compares with lists. It is a tuple only
    because the language handles shapes as such: in kernels, compiled ones too, they are tuples.
    """

    __slots__ = ()

    def __new__(cls, sizes: Iterable[int] = ()) -> Shape:
        return super().__new__(cls, checked_sizes(sizes))

    @property
    def rank(self) -> int:
        return len(self)

    def to_rank(self, rank: int) -> Shape:
        """Return the shape with leading ones added or removed."""
        sizes = tuple(self)
        dropped = len(sizes) - rank
        if dropped > 0 and any(size != 1 for size in sizes[:dropped]):
            raise wrong(f"the shape {sizes} has more than {rank} dimensions that are not 1")
        return Shape((1,) * -dropped + sizes[max(0, dropped) :])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            if _is_in_kernel():
                return tuple(self)[index]
            raise wrong_call(
                "a ttnn.Shape is not sliced", "write list(tensor.shape)[...], or take its sizes"
            )
        position: int = index.__index__()
        rank = len(self)
        if -rank <= position < rank:
            return super().__getitem__(position)
        if -MOST_DIMENSIONS <= position < 0:
            return 1
        if _is_in_kernel():
            raise codes.KERNEL_EXCEPTION.broken("IndexError: tuple index out of range")
        raise wrong(f"index {position} of the shape {tuple(self)}")

    def __add__(self, other: Any) -> Any:
        if _is_in_kernel():
            return tuple(self) + other if isinstance(other, tuple) else NotImplemented
        raise wrong_call("a ttnn.Shape is not added to", "write (*tensor.shape, size)")

    def __eq__(self, other: object) -> bool:
        return tuple(self) == (tuple(other) if isinstance(other, list) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def __repr__(self) -> str:
        return f"Shape({list(self)})"

    def __format__(self, spec: str) -> str:
        """Format for messages, as programs write it."""
        return format(str(tuple(self)), spec)


def _is_in_kernel() -> bool:
    return running_engine(None) is not None


def checked_sizes(shape: Any) -> tuple[int, ...]:
    """Return the sizes as ints; raise a diagnostic if it is no shape."""
    if not isinstance(shape, (tuple, list)):
        raise wrong_call(
            f"shape={shape!r}: not a tuple of sizes", "write for example shape=(64, 64)"
        )
    if not all(isinstance(size, (int, np.integer)) and size >= 0 for size in shape):
        raise wrong_call(
            f"a tensor cannot have the shape {tuple(shape)}",
            "give it sizes that are whole numbers",
        )
    return tuple([int(size) for size in shape])


def checked_dim(dim: Any, rank: int, name: str = "dim") -> int:
    """Return a dimension counted from the front; negative ones count from the end."""
    if not isinstance(dim, int) or not -rank <= dim < rank:
        raise wrong(
            f"{name}={dim!r}: a tensor of {rank} dimensions has no such dimension",
            f"use {-rank} to {rank - 1}",
        )
    return dim % rank
