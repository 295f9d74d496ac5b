"""How the elements of a tensor are arranged."""

from ttl.semantics.layout import ROW_MAJOR_LAYOUT, TILE_LAYOUT, Layout

__all__ = ["ROW_MAJOR_LAYOUT", "TILE_LAYOUT", "Layout"]
