"""Tensors as the language sees them: shape units, slices, and what a copy may connect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from ttl.diagnostics import RuleBroken, codes

from .types import Shape, tiles_of


@runtime_checkable
class TensorLike(Protocol):
    """What the embedded and the real ttnn tensor have in common."""

    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def layout(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Extent:
    """Part of one dimension, in shape units."""

    start: int
    stop: int
    indexed: bool  # by an int: may be dropped when compared with a block

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class TensorSlice:
    tensor: Any
    extents: tuple[Extent, ...]

    @property
    def shape(self) -> Shape:
        return tuple(len(extent) for extent in self.extents)


def slice_tensor(tensor: TensorLike, index: object) -> TensorSlice:
    """`tensor[index]` in a data movement kernel, bounds checked."""
    sizes = tiles_of(tuple(tensor.shape))
    items = index if isinstance(index, tuple) else (index,)
    if len(items) != len(sizes):
        raise RuleBroken(
            codes.SLICE_OUT_OF_RANGE,
            f"{len(items)} indices for a tensor of {len(sizes)} dimensions",
            helps=("give one index or slice for each dimension",),
        )
    extents = tuple(_extent(item, size, d) for d, (item, size) in enumerate(zip(items, sizes)))
    return TensorSlice(tensor, extents)


def _extent(item: object, size: int, dimension: int) -> Extent:
    if isinstance(item, slice):
        start = 0 if item.start is None else item.start
        stop = size if item.stop is None else item.stop
        indexed = False
    else:
        start, stop, indexed = item, item + 1, True  # type: ignore[operator]
    if not 0 <= start < stop <= size or getattr(item, "step", None) not in (None, 1):
        text = f"{start}" if indexed else f"{start}:{stop}"
        raise RuleBroken(
            codes.SLICE_OUT_OF_RANGE,
            f"slice {text} of dimension {dimension} does not lie in 0:{size} (in tiles)",
            helps=("slices count tiles in the two innermost dimensions, start before stop",),
            start=start,
            stop=stop,
            size=size,
        )
    return Extent(start, stop, indexed)


def check_copy_shapes(part: TensorSlice, block: Shape) -> None:
    """The block has the slice's shape, int-indexed dimensions and leading ones left out or not."""
    kept = [len(extent) for extent in part.extents if not extent.indexed]
    if _without_leading_ones(part.shape) != _without_leading_ones(block) and (
        _without_leading_ones(tuple(kept)) != _without_leading_ones(block)
    ):
        raise RuleBroken(
            codes.SHAPE_MISMATCH,
            f"a copy connects a tensor slice of shape {part.shape} with a block of shape {block} "
            "(in tiles)",
            helps=("slice exactly as many tiles as the dataflow buffer's block has",),
            slice=part.shape,
            block=block,
        )


def _without_leading_ones(shape: Shape) -> Shape:
    leading = next((i for i, size in enumerate(shape) if size != 1), len(shape))
    return shape[leading:]
