"""How the elements of tensors and blocks are arranged."""

from __future__ import annotations

from enum import Enum
from typing import Any


def plain_repr(self: Enum) -> str:
    """As the real ttnn shows the members of its enums: without their values."""
    return f"{type(self).__name__}.{self.name}"


class Layout(Enum):
    ROW_MAJOR = 0
    TILE = 1

    __repr__ = plain_repr

    @property
    def unit(self) -> str:
        """What the sizes of blocks and slices count."""
        return "tiles" if self is Layout.TILE else "elements"


TILE_LAYOUT = Layout.TILE
ROW_MAJOR_LAYOUT = Layout.ROW_MAJOR


def layout_of(tensor: Any) -> Layout:
    """The layout of an embedded or a real ttnn tensor; both call them by the same names."""
    layout = tensor.layout
    if isinstance(layout, Layout):
        return layout
    return ROW_MAJOR_LAYOUT if getattr(layout, "name", "") == "ROW_MAJOR" else TILE_LAYOUT
