"""Memory and shards of tensors. Data are still stored in one piece."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ttl.semantics.tensor_layout import TensorLayout
from ttl.target import TARGETS, load

from .cores import CoreRange, CoreRangeSet, EqualParts, core_range_set, num_cores_to_corerangeset
from .enums import (
    BufferType,
    NamedChoice,
    ShardDistributionStrategy,
    ShardOrientation,
    TensorMemoryLayout,
)
from .faults import wrong, wrong_call, wrong_type
from .shape import checked_sizes

__all__ = [
    "DRAM_MEMORY_CONFIG",
    "L1_BLOCK_SHARDED_MEMORY_CONFIG",
    "L1_HEIGHT_SHARDED_MEMORY_CONFIG",
    "L1_MEMORY_CONFIG",
    "L1_WIDTH_SHARDED_MEMORY_CONFIG",
    "MemoryConfig",
    "NdShardSpec",
    "ShardSpec",
]


class ShardSpec(EqualParts):
    """Which cores hold a tensor, and the rows and columns of elements of each shard.

    `shard_grid`, the number of shards in each direction, is how programs for the public simulator
    give the cores.
    """

    __slots__ = ("grid", "orientation", "shard_shape")

    def __init__(
        self,
        grid: Any = None,
        shard_shape: Any = None,
        shard_orientation: ShardOrientation | None = None,
        *,
        shard_grid: Any = None,
        orientation: ShardOrientation | None = None,
    ):
        along = shard_orientation or orientation
        if along is None and shard_grid is None:
            raise wrong_call(
                "a ttnn.ShardSpec needs an orientation",
                "write ttnn.ShardSpec(grid, shard_shape, ttnn.ShardOrientation.ROW_MAJOR)",
            )
        self.grid = _shard_cores(grid if shard_grid is None else shard_grid)
        self.shard_shape = _shard_shape(shard_shape)
        if len(self.shard_shape) != 2:
            raise wrong(
                f"shard_shape={self.shard_shape}: a shard has a height and a width",
                "give two sizes in elements, or use ttnn.NdShardSpec",
            )
        self.orientation = _orientation(along)

    @property
    def shape(self) -> list[int]:
        return list(self.shard_shape)

    def num_cores(self) -> int:
        return self.grid.num_cores()

    def __repr__(self) -> str:
        return (
            f"ShardSpec{{grid={self.grid.to_json()}, shape={self.shape}, "
            f"orientation={_in_full(self.orientation)}}}"
        )


class NdShardSpec(EqualParts):
    """Which cores hold a tensor, and the size of a shard in each of its dimensions."""

    __slots__ = ("grid", "orientation", "shard_distribution_strategy", "shard_shape")

    def __init__(
        self,
        shard_shape: Any,
        grid: Any = None,
        orientation: ShardOrientation | None = None,
        shard_distribution_strategy: ShardDistributionStrategy | None = None,
        *,
        core_ranges: Any = None,
        shard_grid: Any = None,
        distribution: ShardDistributionStrategy | None = None,
    ):
        given = [cores for cores in (grid, core_ranges, shard_grid) if cores is not None]
        self.shard_shape = _shard_shape(shard_shape)
        self.grid = _shard_cores(given[0] if given else None)
        self.orientation = _orientation(orientation)
        self.shard_distribution_strategy = (
            shard_distribution_strategy or distribution or ShardDistributionStrategy.ROUND_ROBIN_1D
        )

    @property
    def core_ranges(self) -> CoreRangeSet:
        return self.grid

    def num_cores(self) -> int:
        return self.grid.num_cores()

    def __repr__(self) -> str:
        return (
            f'{{"shard_shape":{list(self.shard_shape)},"grid":{self.grid.to_json()},'
            f'"orientation":"{_in_full(self.orientation)}","shard_distribution_strategy":'
            f'"{_in_full(self.shard_distribution_strategy)}"}}'
        )


class MemoryConfig(EqualParts):
    """DRAM or L1, and interleaved or sharded.

    Written `MemoryConfig(TensorMemoryLayout, BufferType, ShardSpec)`, `MemoryConfig(BufferType,
    NdShardSpec)` or, in programs for the public simulator, with `strategy=`.
    """

    __slots__ = ("buffer_type", "memory_layout", "nd_shard_spec", "shard_spec")

    def __init__(
        self,
        memory_layout: Any = None,
        buffer_type: Any = None,
        shard_spec: Any = None,
        nd_shard_spec: NdShardSpec | None = None,
        *,
        strategy: TensorMemoryLayout | None = None,
    ):
        given = (memory_layout, buffer_type, shard_spec, nd_shard_spec, strategy)
        if isinstance(memory_layout, BufferType) and _one_of(NdShardSpec, given) is None:
            raise wrong_call(
                f"MemoryConfig({memory_layout}): a memory layout comes first",
                f"write ttnn.MemoryConfig(buffer_type=ttnn.{memory_layout})",
            )
        # The forms differ in order and number of arguments: their types distinguish them.
        self.buffer_type = _one_of(BufferType, given) or BufferType.DRAM
        self.shard_spec = _one_of(ShardSpec, given)
        self.nd_shard_spec = _one_of(NdShardSpec, given)
        default = TensorMemoryLayout.INTERLEAVED
        if self.nd_shard_spec is not None:
            default = TensorMemoryLayout.ND_SHARDED
        self.memory_layout = _one_of(TensorMemoryLayout, given) or default
        for value in given:
            if value is not None and not isinstance(value, _PARTS):
                raise wrong_type(
                    "MemoryConfig argument",
                    value,
                    "a part of a memory config",
                    "write ttnn.MemoryConfig(TensorMemoryLayout, BufferType, ShardSpec)",
                )
        self._check_parts()

    def _check_parts(self) -> None:
        has_spec = self.shard_spec is not None or self.nd_shard_spec is not None
        if has_spec and not self.is_sharded():
            raise wrong(
                "an interleaved memory config has no shard spec",
                "name a sharded ttnn.TensorMemoryLayout, or leave the spec out",
            )
        is_nd = self.memory_layout is TensorMemoryLayout.ND_SHARDED
        if has_spec and self.shard_spec is not None and is_nd:
            raise wrong("ND_SHARDED needs a ttnn.NdShardSpec, not a ttnn.ShardSpec")
        if self.nd_shard_spec is not None:
            self.memory_layout = TensorMemoryLayout.ND_SHARDED

    @property
    def strategy(self) -> TensorMemoryLayout:
        return self.memory_layout

    @property
    def interleaved(self) -> bool:
        return not self.is_sharded()

    def is_sharded(self) -> bool:
        return self.memory_layout is not TensorMemoryLayout.INTERLEAVED

    def to_json(self) -> str:
        is_nd = "true" if self.nd_shard_spec is not None else "false"
        return (
            f'{{"buffer_type":{self.buffer_type.value},"created_with_nd_shard_spec":{is_nd},'
            f'"memory_layout":{self.memory_layout.value},"per_core_allocation":false}}'
        )

    def __repr__(self) -> str:
        return (
            f"MemoryConfig(memory_layout={_in_full(self.memory_layout)},"
            f"buffer_type={_in_full(self.buffer_type)},shard_spec={_or_none(self.shard_spec)},"
            f"nd_shard_spec={_or_none(self.nd_shard_spec)},"
            f"created_with_nd_shard_spec={int(self.nd_shard_spec is not None)},"
            "per_core_allocation=0,range_lockstep_allocation=0)"
        )

    def __format__(self, spec: str) -> str:
        """Format for messages."""
        shards = self.shard_spec or self.nd_shard_spec
        text = f"MemoryConfig({self.memory_layout.name}, {self.buffer_type.name}, {shards})"
        return format(text, spec)


_PARTS = (BufferType, TensorMemoryLayout, ShardSpec, NdShardSpec)


def _in_full(choice: NamedChoice) -> str:
    return f"{type(choice).__name__}::{choice.name}"


def _or_none(spec: object) -> str:
    return "std::nullopt" if spec is None else repr(spec)


def _one_of(kind: type, given: Sequence[Any]) -> Any:
    found = [value for value in given if isinstance(value, kind)]
    if len(found) > 1 and any(value != found[0] for value in found):
        raise wrong(f"a memory config with two {kind.__name__}s: {found[0]} and {found[1]}")
    return found[0] if found else None


def _shard_cores(given: Any) -> CoreRangeSet:
    """Convert to a set of cores, also from the number of shards: (n,) or (rows, columns)."""
    if given is None:
        raise wrong("a shard spec needs cores", "give a ttnn.CoreRangeSet")
    counts = isinstance(given, (tuple, list)) and all(isinstance(n, int) for n in given)
    if not counts:
        return core_range_set(given, "grid")
    if len(given) == 1:
        return num_cores_to_corerangeset(given[0], load(TARGETS[0]).default_grid, row_wise=True)
    *leading, columns = given
    rows = 1
    for size in leading:
        rows *= size
    if rows < 1 or columns < 1:
        raise wrong_type("shard_grid", given, "a number of shards in each direction")
    return CoreRangeSet([CoreRange((0, 0), (columns - 1, rows - 1))])


def _shard_shape(given: Any) -> tuple[int, ...]:
    if given is None:
        raise wrong("a shard spec needs a shard_shape", "give the size of a shard in elements")
    shape = checked_sizes(given)
    if not shape or 0 in shape:
        raise wrong(f"shard_shape={shape}: a shard has elements in every dimension")
    return shape


def _orientation(given: Any) -> ShardOrientation:
    if given is None:
        return ShardOrientation.ROW_MAJOR
    if not isinstance(given, ShardOrientation):
        raise wrong_type("orientation", given, "a ttnn.ShardOrientation")
    return given


def memory_config_of(layout: TensorLayout) -> MemoryConfig:
    """Convert the layout of a tensor in a graph, without guessing."""
    place = BufferType.L1 if layout.buffer_type == "l1" else BufferType.DRAM
    if not layout.is_sharded:
        return MemoryConfig(TensorMemoryLayout.INTERLEAVED, place)
    cores = CoreRangeSet([CoreRange(first, last) for first, last in layout.cores])
    spec = ShardSpec(cores, layout.shard_elements, ShardOrientation.ROW_MAJOR)
    return MemoryConfig(TensorMemoryLayout[layout.memory_layout.upper()], place, spec)


DRAM_MEMORY_CONFIG = MemoryConfig(TensorMemoryLayout.INTERLEAVED, BufferType.DRAM)
L1_MEMORY_CONFIG = MemoryConfig(TensorMemoryLayout.INTERLEAVED, BufferType.L1)
L1_BLOCK_SHARDED_MEMORY_CONFIG = MemoryConfig(TensorMemoryLayout.BLOCK_SHARDED, BufferType.L1)
L1_HEIGHT_SHARDED_MEMORY_CONFIG = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1)
L1_WIDTH_SHARDED_MEMORY_CONFIG = MemoryConfig(TensorMemoryLayout.WIDTH_SHARDED, BufferType.L1)
