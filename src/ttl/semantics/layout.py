"""How the elements of tensors and blocks are arranged."""

from __future__ import annotations

from enum import Enum
from typing import Any


def plain_repr(member: Enum) -> str:
    """As the real ttnn shows the members of its enums: without their values."""
    return f"{type(member).__name__}.{member.name}"


class Layout(Enum):
    ROW_MAJOR = 0
    TILE = 1

    __repr__ = plain_repr

    @property
    def unit(self) -> str:
        """What the sizes of blocks and slices count."""
        return "tiles" if self is Layout.TILE else "elements"

    def __eq__(self, other: object) -> bool:
        """Also to that of the real ttnn, so that a block's layout compares as a tensor's does."""
        return self is as_layout(other)

    __hash__ = Enum.__hash__  # as that has


TILE_LAYOUT = Layout.TILE
ROW_MAJOR_LAYOUT = Layout.ROW_MAJOR


def as_layout(value: Any) -> Layout | None:
    """The layout that a program names, of the embedded or the real ttnn: both have these names."""
    if isinstance(value, Layout):
        return value
    name = getattr(value, "name", None)
    return Layout.__members__.get(name) if isinstance(name, str) else None


def layout_of(tensor: Any) -> Layout:
    """The layout of an embedded or a real ttnn tensor."""
    return as_layout(tensor.layout) or TILE_LAYOUT
