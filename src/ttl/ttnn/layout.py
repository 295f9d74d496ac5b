"""How the elements of a tensor are arranged."""

from __future__ import annotations

from enum import Enum


class Layout(Enum):
    TILE = "tile"


TILE_LAYOUT = Layout.TILE
