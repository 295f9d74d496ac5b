"""Sizes, cores and memory that a program names by objects of ttnn, as plain values.

The embedded and the real ttnn name their fields alike, so these functions recognize objects by
fields and import no class of the real one. `dtypes` reads element types, `layout` reads layouts.
"""

from __future__ import annotations

from typing import Any

Corner = tuple[int, int]
Corners = tuple[Corner, Corner]  # the first and the last core of a rectangle


def is_shape(value: object) -> bool:
    """Return whether it is a ttnn.Shape, which need not be a tuple."""
    return type(value).__name__ == "Shape"


def as_sizes(value: Any) -> tuple[Any, ...] | None:
    """Return the items of a tuple, a list or a ttnn.Shape, None for anything else."""
    return tuple(value) if isinstance(value, (tuple, list)) or is_shape(value) else None


def as_core(value: object) -> Corner | None:
    """Return a ttnn.CoreCoord's column and row, or a ttnn.CoreGrid's columns and rows."""
    column, row = (getattr(value, name, None) for name in ("x", "y"))
    return (column, row) if isinstance(column, int) and isinstance(row, int) else None


def as_corners(value: object) -> Corners | None:
    """Return the corners of a ttnn.CoreRange or of a ttnn.CoreRangeSet of one rectangle."""
    if callable(ranges := getattr(value, "ranges", None)):
        found = list(ranges())
        return as_corners(found[0]) if len(found) == 1 else None
    start, end = (as_core(getattr(value, name, None)) for name in ("start", "end"))
    return None if start is None or end is None else (start, end)


def as_grid(value: object) -> Any:
    """Return the columns and rows of cores that begin at (0, 0), anything else unchanged."""
    place = as_place(value)
    if place is value or as_corners(value) is None:
        return place
    return value if any(part.start for part in place) else tuple(part.stop for part in place)


def as_place(value: object) -> Any:
    """Return a ttnn.CoreCoord's node or a ttnn.CoreRange's nodes, anything else unchanged."""
    if isinstance(value, tuple):
        return tuple(value)
    if (core := as_core(value)) is not None:
        return core
    if (corners := as_corners(value)) is None:
        return value
    return tuple(slice(first, last + 1) for first, last in zip(*corners, strict=True))


# Classes whose objects never change, and methods that ask a tensor for a fixed fact.
VALUES = (
    "CoreCoord",
    "CoreGrid",
    "CoreRange",
    "CoreRangeSet",
    "MemoryConfig",
    "NdShardSpec",
    "Shape",
    "ShardSpec",
)
QUESTIONS = (
    "element_size",
    "get_dtype",
    "get_layout",
    "is_sharded",
    "logical_volume",
    "memory_config",
    "volume",
)


def asks_ttnn(function: Any) -> bool:
    """Return whether a call of the function makes or reads an unchanging value of ttnn."""
    owner = getattr(function, "__self__", None)
    if type(owner).__name__ == "Tensor":
        return function.__name__ in QUESTIONS
    asked = function if owner is None else owner
    return is_ttnn_value(asked if isinstance(asked, type) else type(asked))


def is_ttnn_value(kind: type) -> bool:
    """Return whether it is a class of ttnn's unchanging values."""
    return kind.__name__ in VALUES and kind.__module__.partition(".")[0] in ("ttl", "ttnn")


def memory_config_of(tensor: object) -> Any | None:
    """Return the tensor's ttnn.MemoryConfig, or None."""
    config = getattr(tensor, "memory_config", None)
    return config() if callable(config) else config


def shard_shape_of(spec: Any) -> tuple[int, ...]:
    """Return the shard shape of a ttnn.ShardSpec or a ttnn.NdShardSpec."""
    return tuple(spec.shard_shape if hasattr(spec, "shard_shape") else spec.shape)
