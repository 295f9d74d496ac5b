"""The shards of a height-sharded tensor: one below the other, each on its own core."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .ttnn_values import Corner, Corners, as_corners, memory_config_of, shard_shape_of
from .types import TILE_SIZE


@dataclass(frozen=True, slots=True)
class HeightShards:
    """The shards of a tensor; sizes count tiles."""

    rows: int  # of a shard
    columns: int
    cores: tuple[Corner, ...]  # of the shards, in their order

    @property
    def tiles(self) -> int:
        return self.rows * self.columns


def memory_words(tensor: object) -> str:
    """Return where a tensor is stored, in ttnn's words."""
    config = memory_config_of(tensor)
    if config is None:
        return "in the memory of the host"
    return f"{config.memory_layout.name} in {config.buffer_type.name}"


def height_shards(tensor: object) -> HeightShards | None:
    """Return the height shards of a tensor of tiles in L1, or None for any other tensor."""
    config = memory_config_of(tensor)
    if config is None or config.buffer_type.name != "L1":
        return None
    spec = config.shard_spec
    if config.memory_layout.name != "HEIGHT_SHARDED" or spec is None:
        return None
    height, width = shard_shape_of(spec)
    by_rows = spec.orientation.name == "ROW_MAJOR"
    ranges = [corners for each in spec.grid.ranges() if (corners := as_corners(each))]
    cores = tuple(core for corners in ranges for core in _cores(corners, by_rows))
    return HeightShards(-(-height // TILE_SIZE), -(-width // TILE_SIZE), cores)


def _cores(corners: Corners, by_rows: bool) -> Iterator[Corner]:
    (left, top), (right, bottom) = corners
    columns, rows = range(left, right + 1), range(top, bottom + 1)
    if by_rows:
        yield from ((x, y) for y in rows for x in columns)
    else:
        yield from ((x, y) for x in columns for y in rows)
