"""Tensors as the language sees them: shape units, slices, and what a copy may connect."""

from __future__ import annotations

from operator import index
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


class Extent:
    """Part of one dimension, in shape units. A plain class: kernels make them by the million."""

    __slots__ = ("indexed", "start", "stop")

    def __init__(self, start: int, stop: int, indexed: bool):
        self.start = start
        self.stop = stop
        self.indexed = indexed  # by an int: may be dropped when compared with a block

    def __len__(self) -> int:
        return self.stop - self.start


class TensorSlice:
    """`tensor[...]` in a kernel: a tensor and one extent for each of its dimensions."""

    __slots__ = ("extents", "shape", "tensor")

    def __init__(self, tensor: Any, extents: tuple[Extent, ...]):
        self.tensor = tensor
        self.extents = extents
        self.shape: Shape = tuple([extent.stop - extent.start for extent in extents])


def slice_tensor(tensor: TensorLike, items: object) -> TensorSlice:
    """`tensor[items]` in a data movement kernel, bounds checked."""
    sizes = tiles_of(tuple(tensor.shape))
    if not isinstance(items, tuple):
        items = (items,)
    if len(items) != len(sizes):
        raise RuleBroken(
            codes.SLICE_OUT_OF_RANGE,
            f"{len(items)} indices for a tensor of {len(sizes)} dimensions",
            helps=("give one index or slice for each dimension",),
        )
    extents: list[Extent] = []
    for item, size in zip(items, sizes, strict=True):
        if type(item) is int:
            start, stop, indexed = item, item + 1, True
        else:
            start, stop, indexed = _bounds(item, size)
        if not 0 <= start < stop <= size:
            raise _out_of_range(start, stop, indexed, len(extents), size)
        extents.append(Extent(start, stop, indexed))
    return TensorSlice(tensor, tuple(extents))


def _bounds(item: object, size: int) -> tuple[int, int, bool]:
    """Start, stop, and whether the item is an index."""
    try:
        if not isinstance(item, slice):
            start = index(item)  # type: ignore[arg-type]
            return start, start + 1, True
        if item.step in (None, 1):
            start = 0 if item.start is None else index(item.start)
            return start, size if item.stop is None else index(item.stop), False
    except TypeError:
        pass
    raise RuleBroken(
        codes.SLICE_OUT_OF_RANGE,
        f"{item!r} is neither an index nor a slice of whole tiles",
        helps=("write an int, or start:stop without a step",),
    )


def _out_of_range(start: int, stop: int, indexed: bool, dimension: int, size: int) -> RuleBroken:
    text = f"{start}" if indexed else f"{start}:{stop}"
    return RuleBroken(
        codes.SLICE_OUT_OF_RANGE,
        f"slice {text} of dimension {dimension} does not lie in 0:{size} (in tiles)",
        helps=("slices count tiles in the two innermost dimensions, start before stop",),
        start=start,
        stop=stop,
        size=size,
    )


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
