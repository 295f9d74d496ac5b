"""Specifications of tensors without elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ttl.semantics.dtypes import DType
from ttl.semantics.layout import TILE_LAYOUT, Layout
from ttl.semantics.types import TILE_SIZE

from .cores import EqualParts, core_range_set
from .enums import BufferType, ShardOrientation, ShardStrategy, TensorMemoryLayout
from .faults import wrong
from .memory_config import MemoryConfig, NdShardSpec, ShardSpec
from .shape import Shape, checked_dim
from .sharding import ceil_sharded, padded_shape
from .tile import DEFAULT_TILE, Tile

__all__ = ["TensorSpec"]


class TensorSpec(EqualParts):
    """Shape, element type, layout and memory of a tensor; the `..._sharded` methods add shards."""

    __slots__ = ("buffer_type", "dtype", "layout", "memory_config", "shape")

    def __init__(
        self,
        shape: Any,
        dtype: DType,
        layout: Layout,
        memory_layout: TensorMemoryLayout | BufferType | None = None,
        shard_spec: ShardSpec | NdShardSpec | None = None,
        buffer_type: BufferType = BufferType.DRAM,
        tile: Tile | None = None,
        *,
        memory_config: MemoryConfig | None = None,
        nd_shard_spec: NdShardSpec | None = None,
    ):
        self.shape = Shape(shape)
        self.dtype = dtype
        self.layout = layout
        if isinstance(memory_layout, BufferType):  # the form without shards
            buffer_type, memory_layout = memory_layout, None
        self.buffer_type = buffer_type
        self.memory_config = memory_config or MemoryConfig(
            memory_layout, buffer_type, shard_spec, nd_shard_spec
        )

    @property
    def tile(self) -> Tile:
        return DEFAULT_TILE

    def height_sharded(
        self, core_ranges: Any, orientation: ShardOrientation = ShardOrientation.ROW_MAJOR
    ) -> TensorSpec:
        return self._cut(core_ranges, ShardStrategy.HEIGHT, orientation)

    def width_sharded(
        self, core_ranges: Any, orientation: ShardOrientation = ShardOrientation.ROW_MAJOR
    ) -> TensorSpec:
        return self._cut(core_ranges, ShardStrategy.WIDTH, orientation)

    def block_sharded(
        self, core_ranges: Any, orientation: ShardOrientation = ShardOrientation.ROW_MAJOR
    ) -> TensorSpec:
        return self._cut(core_ranges, ShardStrategy.BLOCK, orientation)

    def sharded_across_dims(
        self,
        dims: Sequence[int],
        core_ranges: Any,
        orientation: ShardOrientation = ShardOrientation.ROW_MAJOR,
    ) -> TensorSpec:
        """Cut in these dimensions into the smallest parts that fit; the others stay whole."""
        cores = core_range_set(core_ranges)
        shard = list(padded_shape(tuple(self.shape), self.layout))
        chosen = [checked_dim(dim, len(shard), "dims") for dim in dims]
        left = cores.num_cores()
        for dim in chosen:
            unit = TILE_SIZE if self.layout is TILE_LAYOUT and dim >= len(shard) - 2 else 1
            units = -(-shard[dim] // unit)
            size = -(-units // left)
            left //= -(-units // size)
            shard[dim] = size * unit
        return self._nd(NdShardSpec(shard, cores, orientation))

    def nd_sharded(
        self,
        shard_shape: Any,
        core_ranges: Any,
        orientation: ShardOrientation = ShardOrientation.ROW_MAJOR,
    ) -> TensorSpec:
        return self._nd(NdShardSpec(shard_shape, core_ranges, orientation))

    def _cut(self, cores: Any, strategy: ShardStrategy, along: ShardOrientation) -> TensorSpec:
        if not self.shape or 0 in self.shape:
            raise wrong(f"a tensor of shape {self.shape} cannot be cut into shards")
        config = ceil_sharded(
            tuple(self.shape), self.layout, core_range_set(cores), strategy, along, self.buffer_type
        )
        return self._with(config)

    def _nd(self, spec: NdShardSpec) -> TensorSpec:
        return self._with(MemoryConfig(TensorMemoryLayout.ND_SHARDED, self.buffer_type, spec))

    def _with(self, config: MemoryConfig) -> TensorSpec:
        return TensorSpec(
            self.shape, self.dtype, self.layout, buffer_type=self.buffer_type, memory_config=config
        )

    def __repr__(self) -> str:
        return f"TensorSpec({self.shape}, {self.dtype}, {self.layout.name}, {self.memory_config})"
