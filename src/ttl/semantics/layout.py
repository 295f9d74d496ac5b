"""Layouts: how tensors and blocks arrange their elements."""

from __future__ import annotations

from enum import Enum
from typing import Any


def plain_repr(member: Enum) -> str:
    """Show an enum member as the real ttnn does, without its value."""
    return f"{type(member).__name__}.{member.name}"


class Layout(Enum):
    ROW_MAJOR = 0
    TILE = 1

    __repr__ = plain_repr

    @property
    def unit(self) -> str:
        """The unit that sizes of blocks and slices count."""
        return "tiles" if self is Layout.TILE else "elements"

    def __eq__(self, other: object) -> bool:
        """Return whether two layouts are equal; the real ttnn's layouts count too."""
        return self is as_layout(other)

    __hash__ = Enum.__hash__  # equals the real ttnn's


TILE_LAYOUT = Layout.TILE
ROW_MAJOR_LAYOUT = Layout.ROW_MAJOR


def as_layout(value: object) -> Layout | None:
    """Return the layout that a program names, from the embedded or the real ttnn."""
    if isinstance(value, Layout):
        return value
    name = getattr(value, "name", None)
    return Layout.__members__.get(name) if isinstance(name, str) else None


def layout_of(tensor: Any) -> Layout:
    """Return the layout of an embedded or a real ttnn tensor."""
    return as_layout(tensor.layout) or TILE_LAYOUT
