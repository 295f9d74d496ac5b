"""Shards of tensors: makes configs from shapes, checks them, and measures their L1."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from ttl.semantics.dtypes import DType
from ttl.semantics.layout import TILE_LAYOUT, Layout
from ttl.semantics.types import TILE_SIZE, element_shape, tiles_of
from ttl.target import choice_with

from .cores import CoreRangeSet, core_range_set, corerange_to_cores
from .enums import BufferType, ShardOrientation, ShardStrategy, TensorMemoryLayout
from .faults import wrong, wrong_type
from .memory_config import MemoryConfig, NdShardSpec, ShardSpec
from .shape import checked_sizes

__all__ = ["create_sharded_memory_config"]

Sizes = tuple[int, ...]

MEMORY_LAYOUTS = {
    ShardStrategy.HEIGHT: TensorMemoryLayout.HEIGHT_SHARDED,
    ShardStrategy.WIDTH: TensorMemoryLayout.WIDTH_SHARDED,
    ShardStrategy.BLOCK: TensorMemoryLayout.BLOCK_SHARDED,
}


class Matrix(NamedTuple):
    """Tensor as a matrix to cut into shards: all dimensions but the last are flattened."""

    height: int
    width: int


def matrix_of(shape: Sizes) -> Matrix:
    return Matrix(prod(shape[:-1]), shape[-1] if shape else 1)


def padded_shape(shape: Sizes, layout: Layout) -> Sizes:
    """Return the shape in memory: with whole tiles, or unchanged."""
    if layout is not TILE_LAYOUT:
        return shape
    return element_shape(tiles_of(shape or (1,)))


# Making -------------------------------------------------------------------------------------------


def create_sharded_memory_config(
    shape: Any,
    core_grid: Any,
    strategy: Any,
    orientation: ShardOrientation | None = None,
    use_height_and_width_as_shard_shape: bool = False,
) -> MemoryConfig:
    """An L1 config that spreads a tensor of `shape` over the cores.

    With `use_height_and_width_as_shard_shape`, `shape` is that of one shard.
    """
    sizes = checked_sizes(shape)
    if len(sizes) < 2 or 0 in sizes:
        raise wrong(f"shape={sizes}: a sharded tensor has two or more dimensions and no empty one")
    if not isinstance(strategy, ShardStrategy):
        raise wrong_type("strategy", strategy, "a ttnn.ShardStrategy", "use HEIGHT, WIDTH or BLOCK")
    cores = core_range_set(core_grid, "core_grid")
    along = orientation or ShardOrientation.ROW_MAJOR
    if use_height_and_width_as_shard_shape:
        shard = sizes[-2:]
    elif isinstance(core_grid, CoreRangeSet):
        raise wrong(
            "core_grid is a CoreRangeSet, which does not say how a tensor is cut",
            "give a ttnn.CoreGrid, or the shard's shape and "
            "use_height_and_width_as_shard_shape=True",
        )
    else:
        shard = _even_shard(matrix_of(sizes), _shard_counts(cores, strategy, along))
    spec = ShardSpec(cores, shard, along)
    return MemoryConfig(MEMORY_LAYOUTS[strategy], BufferType.L1, spec)


def ceil_sharded(
    shape: Sizes,
    layout: Layout,
    cores: CoreRangeSet,
    strategy: ShardStrategy,
    orientation: ShardOrientation,
    buffer_type: BufferType,
) -> MemoryConfig:
    """Make a config for any shape: shards of whole tiles, the last ones may not be full."""
    matrix = matrix_of(padded_shape(shape, layout))
    unit = TILE_SIZE if layout is TILE_LAYOUT else 1
    down, across = _shard_counts(cores, strategy, orientation)
    shard = (_ceil_to(matrix.height, down, unit), _ceil_to(matrix.width, across, unit))
    spec = ShardSpec(cores, shard, orientation)
    return MemoryConfig(MEMORY_LAYOUTS[strategy], buffer_type, spec)


def _ceil_to(size: int, parts: int, unit: int) -> int:
    return -(-size // (parts * unit)) * unit


def _shard_counts(
    cores: CoreRangeSet, strategy: ShardStrategy, orientation: ShardOrientation
) -> tuple[int, int]:
    """Return the numbers of shards down and across."""
    if strategy is ShardStrategy.HEIGHT:
        return cores.num_cores(), 1
    if strategy is ShardStrategy.WIDTH:
        return 1, cores.num_cores()
    box = cores.bounding_box().grid_size()
    return (box.y, box.x) if orientation is ShardOrientation.ROW_MAJOR else (box.x, box.y)


def _even_shard(matrix: Matrix, counts: tuple[int, int]) -> Sizes:
    for name, size, count in zip(("height", "width"), matrix, counts, strict=True):
        if size % count:
            raise wrong(
                f"the {name} {size} of the tensor cannot be cut into {count} equal shards",
                "use another core_grid, or give the shard's shape and "
                "use_height_and_width_as_shard_shape=True",
            )
    return matrix.height // counts[0], matrix.width // counts[1]


# Checking -----------------------------------------------------------------------------------------


def check_memory_config(config: Any, shape: Sizes, layout: Layout, grid: tuple[int, int]) -> None:
    """Check that a tensor can have this config on a chip with `grid` cores."""
    if not isinstance(config, MemoryConfig):
        raise wrong_type(
            "memory_config",
            config,
            "a memory config",
            "use for example ttnn.DRAM_MEMORY_CONFIG or ttnn.L1_MEMORY_CONFIG",
        )
    if not config.is_sharded():
        return
    spec = config.shard_spec or config.nd_shard_spec
    if spec is None:
        raise wrong(
            f"a tensor cannot be {config.memory_layout.name} without a shard spec",
            "make the memory config with ttnn.create_sharded_memory_config()",
        )
    if config.buffer_type is BufferType.L1:
        _check_cores(spec.grid, grid)
    padded = padded_shape(shape, layout)
    _check_shard_tiles(spec, layout)
    if isinstance(spec, NdShardSpec):
        _check_nd(spec, padded)
    else:
        _check_matrix(config.memory_layout, spec, matrix_of(padded))


def _check_cores(cores: CoreRangeSet, grid: tuple[int, int]) -> None:
    if cores.empty():
        raise wrong("a shard spec without cores", "give a ttnn.CoreRangeSet with cores")
    end = cores.bounding_box().end
    columns, rows = grid
    if end.x >= columns or end.y >= rows:
        target = choice_with((end.x + 1, end.y + 1))
        other = f", or pass --target {target} (TTL_TARGET={target})" if target else ""
        raise wrong(
            f"core {(end.x, end.y)} is not in the {(columns, rows)} grid of the device (x, y)",
            f"use cores up to ({columns - 1}, {rows - 1}){other}",
        )


def _check_shard_tiles(spec: ShardSpec | NdShardSpec, layout: Layout) -> None:
    shard = spec.shard_shape
    if layout is TILE_LAYOUT and any(size % TILE_SIZE for size in shard[-2:]):
        whole = (*shard[:-2], *[_ceil_to(size, 1, TILE_SIZE) for size in shard[-2:]])
        raise wrong(
            f"shard_shape={shard} of a tensor in tiles is not made of whole tiles",
            f"use {whole}, or ttnn.ROW_MAJOR_LAYOUT",
        )


def _check_nd(spec: NdShardSpec, padded: Sizes) -> None:
    if len(spec.shard_shape) > len(padded):
        raise wrong(
            f"shard_shape={spec.shard_shape} has more dimensions than the tensor of shape {padded}"
        )


def _check_matrix(memory_layout: TensorMemoryLayout, spec: ShardSpec, matrix: Matrix) -> None:
    height, width = spec.shape
    down, across = -(-matrix.height // height), -(-matrix.width // width)
    what = f"a {memory_layout.name} tensor of {matrix.height}x{matrix.width} elements"
    shards = f"in shards of {height}x{width}"
    if memory_layout is TensorMemoryLayout.HEIGHT_SHARDED and width != matrix.width:
        raise wrong(f"{what} {shards}: a shard has whole rows", f"use ({height}, {matrix.width})")
    if memory_layout is TensorMemoryLayout.WIDTH_SHARDED and height != matrix.height:
        raise wrong(
            f"{what} {shards}: a shard has whole columns", f"use ({matrix.height}, {width})"
        )
    if memory_layout is TensorMemoryLayout.BLOCK_SHARDED:
        _check_block(spec, down, across, f"{what} {shards}")
    elif down * across > spec.num_cores():
        raise wrong(
            f"{what} {shards} has {down * across} of them, and {spec.num_cores()} cores to hold "
            "them",
            "use larger shards or more cores",
        )


def _check_block(spec: ShardSpec, down: int, across: int, what: str) -> None:
    box = spec.grid.bounding_box()
    if CoreRangeSet([box]).num_cores() != spec.num_cores():
        raise wrong(f"{what}: the cores are not one rectangle", "use a single ttnn.CoreRange")
    rows, columns = _shard_counts(spec.grid, ShardStrategy.BLOCK, spec.orientation)
    if down > rows or across > columns:
        raise wrong(
            f"{what} has {down}x{across} of them, and {rows}x{columns} cores to hold them",
            "use larger shards or more cores",
        )


# Measuring ----------------------------------------------------------------------------------------


def l1_bytes_per_core(
    config: MemoryConfig, padded: Sizes, dtype: DType, layout: Layout, cores: int, alignment: int
) -> int:
    """Return the bytes on the core with the largest part of a tensor; zero for DRAM."""
    if config.buffer_type is not BufferType.L1:
        return 0
    spec: ShardSpec | NdShardSpec | None = config.shard_spec or config.nd_shard_spec
    if spec is None:  # pages are distributed round-robin over the cores
        pages, page = _pages(padded, dtype, layout, alignment)
        return -(-pages // cores) * page
    shard = spec.shard_shape
    pages, page = _pages(shard, dtype, layout, alignment)
    if isinstance(spec, ShardSpec):
        return pages * page
    ranked = (1,) * (len(padded) - len(shard)) + shard
    shards = prod(-(-size // part) for size, part in zip(padded, ranked, strict=True))
    return -(-shards // spec.num_cores()) * pages * page


def accessor_words(config: MemoryConfig, padded: Sizes, layout: Layout) -> tuple[int, ...]:
    """Return the words that describe shards to kernels; empty for an interleaved tensor.

    Rank, number of cores, the tensor's and the shard's shape in pages, the cores two in a word.
    """
    spec: ShardSpec | NdShardSpec | None = config.shard_spec or config.nd_shard_spec
    if spec is None:
        return ()
    tensor = padded if isinstance(spec, NdShardSpec) else tuple(matrix_of(padded))
    shard = (1,) * (len(tensor) - len(spec.shard_shape)) + tuple(spec.shard_shape)
    inner = (TILE_SIZE, TILE_SIZE) if layout is TILE_LAYOUT else (1, min(shard[-1], tensor[-1]))
    page = (1,) * (len(tensor) - 2) + inner[-len(tensor) :]
    in_pages = [
        -(-size // part)
        for sizes in (tensor, shard)
        for size, part in zip(sizes, page, strict=True)
    ]
    cores = [core.x << 8 | core.y for core in corerange_to_cores(spec.grid, row_wise=True)]
    seconds = [*cores[1::2], 0][: len(cores[::2])]
    pairs = [first << 16 | second for first, second in zip(cores[::2], seconds, strict=True)]
    return len(tensor), len(cores), *in_pages, *pairs


def _pages(sizes: Sizes, dtype: DType, layout: Layout, alignment: int) -> tuple[int, int]:
    """Return the number of pages, tiles or rows, and the bytes of each."""
    if layout is TILE_LAYOUT:
        return prod(tiles_of(sizes)), dtype.tile_bytes
    matrix = matrix_of(sizes)
    return matrix.height, -(-matrix.width * dtype.element_bytes // alignment) * alignment
