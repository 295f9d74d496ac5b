"""Tensors as the language sees them: shape units, slices, and what a copy may connect."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from operator import index
from typing import Any, NamedTuple

from ttl.diagnostics import Label, RuleBroken, codes

from .dtypes import DType
from .layout import TILE_LAYOUT, Layout, layout_of
from .tensor_like import TensorLike
from .ttnn_values import memory_config_of, shard_shape_of
from .types import BlockType, Shape, tiles_of


class Extent(NamedTuple):
    """Part of one dimension, in shape units."""

    start: int
    stop: int
    indexed: bool  # by an int: may be dropped when compared with a block

    @property
    def size(self) -> int:
        return self.stop - self.start


class TensorSlice:
    """A part of a tensor, written `tensor[...]` in a kernel; starts and sizes are in shape units.

    `words` holds the whole tensor's words if the part is tiles of a matrix, so that frequent
    readers need no view.
    """

    __slots__ = ("has_padding", "items", "shape", "starts", "tensor", "view", "words")

    def __init__(self, tensor: Any, items: tuple[object, ...], starts: Shape, shape: Shape):
        self.tensor = tensor
        self.view: object = None  # the region, made on first use
        self.words: Any = None
        self.has_padding = True  # unless the engine finds that the tensor has none
        self.items = items  # as the user wrote them
        self.starts = starts
        self.shape = shape

    @property
    def region(self) -> Any:
        """Return a view of the tensor's memory."""
        if self.view is None:
            self.view = self.tensor.storage.region(self)
        return self.view

    @property
    def extents(self) -> tuple[Extent, ...]:
        parts = zip(self.items, self.starts, self.shape, strict=True)
        return tuple(
            Extent(start, start + size, not isinstance(item, slice)) for item, start, size in parts
        )


def slice_tensor(tensor: Any, items: object, sizes: Shape | None = None) -> TensorSlice:
    """Return `tensor[items]` after checking its bounds.

    `sizes` is shape_in_units(tensor), if the caller has it already.
    """
    sizes = sizes or shape_in_units(tensor)
    if type(items) is not tuple:
        items = (items,)
    if len(items) != len(sizes):
        raise wrong_index_count(len(items), tensor)
    bounds = [_bounds(*item, tensor) for item in zip(items, sizes, range(len(items)), strict=True)]
    starts = tuple([start for start, _ in bounds])
    return TensorSlice(tensor, items, starts, tuple([stop - start for start, stop in bounds]))


A_TENSOR = "a tensor"  # placeholder in messages, which with_tensor_name() replaces


def with_tensor_name(broken: RuleBroken, name: str) -> RuleBroken:
    """Put the user's name of the tensor into the message about it."""
    return broken.respelled(A_TENSOR, f"tensor `{name}`") if name else broken


def wrong_index_count(given: int, tensor: TensorLike) -> RuleBroken:
    indices, dimensions = _count(given, "index", "indices"), len(tensor.shape)
    return codes.SLICE_OUT_OF_RANGE.broken(
        f"{indices} for {A_TENSOR} of {_count(dimensions, 'dimension', 'dimensions')}",
        "give one index or slice for each dimension",
        subject=tensor,
    )


def _count(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"


def shape_in_units(tensor: TensorLike) -> Shape:
    """Return the sizes that slices count: tiles in the two innermost dimensions, or elements."""
    shape = tuple(tensor.shape)
    return tiles_of(shape) if layout_of(tensor) is TILE_LAYOUT else shape


SHARDED_ROWS = ("WIDTH_SHARDED", "BLOCK_SHARDED", "ND_SHARDED")


def row_page_elements(tensor: TensorLike) -> int | None:
    """Return the elements per page of a row-major tensor: a whole row, or a shard's part of it.

    None for tensors of tiles. The last page of a row may have fewer.
    """
    if layout_of(tensor) is TILE_LAYOUT:
        return None
    row = int((1, *tensor.shape)[-1])  # a tensor without dimensions has one element
    config = memory_config_of(tensor)
    if config is None or config.memory_layout.name not in SHARDED_ROWS:
        return row
    spec = config.shard_spec or config.nd_shard_spec
    return row if spec is None else min(row, int(shard_shape_of(spec)[-1]))


def _bounds(item: object, size: int, dimension: int, tensor: TensorLike) -> tuple[int, int]:
    """Return start and stop, or raise RuleBroken if they leave the tensor."""
    start, stop = _read_bounds(item, size, tensor)
    if not 0 <= start < stop <= size:
        text = f"{start}:{stop}" if isinstance(item, slice) else f"{start}"
        raise out_of_range(text, dimension, size, layout_of(tensor), tensor)
    return start, stop


def _read_bounds(item: object, size: int, tensor: TensorLike) -> tuple[int, int]:
    if type(item) is slice and type(item.start) is int is type(item.stop) and item.step is None:
        return item.start, item.stop
    try:
        if isinstance(item, bool):
            raise TypeError
        if not isinstance(item, slice):
            start = index(item)  # type: ignore[arg-type]
            return start, start + 1
        if item.step in (None, 1):
            start = 0 if item.start is None else index(item.start)
            return start, size if item.stop is None else index(item.stop)
    except TypeError:
        pass
    raise codes.SLICE_OUT_OF_RANGE.broken(
        f"{item!r} is neither an index nor a slice of whole {layout_of(tensor).unit}",
        "write an int, or start:stop without a step",
    )


def out_of_range(
    text: str, dimension: int, size: int, layout: Layout, tensor: object = None
) -> RuleBroken:
    message = (
        f"slice {text} of dimension {dimension} of {A_TENSOR} does not lie in 0:{size} "
        f"(in {layout.unit})"
    )
    facts = {"slice": text, "dimension": dimension, "size": size}
    return wrong_slice(message, layout, STAY_INSIDE, subject=tensor, **facts)


STAY_INSIDE = "let loops and the grid go no further than the tensor, or make the tensor larger"


def wrong_slice(message: str, layout: Layout, *helps: str, **facts: object) -> RuleBroken:
    counts = "tiles in the two innermost dimensions" if layout is TILE_LAYOUT else "elements"
    help_text = f"slices count {counts}, start before stop"
    return codes.SLICE_OUT_OF_RANGE.broken(message, help_text, *helps, **facts)


def check_copy_shapes(part: TensorSlice, block: Shape) -> None:
    """Raise RuleBroken if shapes differ in more than int-indexed dimensions and leading ones."""
    if not shapes_agree(part.extents, block):
        unit = TILE_LAYOUT.unit if part.tensor is None else layout_of(part.tensor).unit
        raise codes.SHAPE_MISMATCH.broken(
            f"a copy connects a tensor slice of shape {part.shape} with a block of shape {block} "
            f"(in {unit})",
            f"slice exactly as many {unit} as the dataflow buffer's block has",
            slice=part.shape,
            block=block,
        )


def shapes_agree(extents: Sequence[Extent], block: Shape) -> bool:
    """Return whether deleting some of the extents gives `block`.

    Int-indexed extents may be deleted, and leading ones on either side. The sizes other than one
    must be equal. After each of them, the block needs as many ones as the slice, where int-indexed
    ones are optional. Ones in front of the first do not matter.
    """
    sizes = [extent.size for extent in extents]
    if [size for size in sizes if size != 1] != [size for size in block if size != 1]:
        return False
    kept = _ones_behind([extent.size != 1 for extent in extents if not extent.indexed])
    all_ones = _ones_behind([size != 1 for size in sizes])
    in_block = _ones_behind([size != 1 for size in block])
    return all(
        least <= ones <= most for least, ones, most in zip(kept, in_block, all_ones, strict=True)
    )


def _ones_behind(is_size: Sequence[bool]) -> list[int]:
    """Count the ones that follow each size other than one."""
    counts: list[int] = []
    for other_than_one in is_size:
        if other_than_one:
            counts.append(0)
        elif counts:
            counts[-1] += 1
    return counts


def check_copy_layouts(part: TensorSlice, block: Layout) -> None:
    """Raise RuleBroken unless tensor and block are both row-major or both tiled."""
    layout = layout_of(part.tensor)
    if layout is not block:
        raise codes.LAYOUT_MISMATCH.broken(
            f"a copy connects {A_TENSOR} in {layout.name} layout with a block in {block.name} "
            "layout",
            "make the dataflow buffer like the tensor it is copied from or to",
            f"or make the tensor with layout=ttnn.{block.name}_LAYOUT",
            subject=part.tensor,
        )


def copy_dtypes_differ(tensor: object, block: object) -> RuleBroken:
    return codes.DTYPE_MISMATCH.broken(
        f"a copy connects a {format(tensor)} tensor with a {format(block)} block",
        "make the dataflow buffer like the tensor it is copied from or to",
    )


def type_mismatch(
    source: BlockType, destination: BlockType, what: str, secondary: tuple[Label, ...] = ()
) -> RuleBroken:
    """Name the first difference between two blocks that a copy connects.

    Shapes count elements in one layout and tiles in the other, so the layout comes first.
    """
    if source.layout is not destination.layout:
        layouts = (f"{source.layout.name} layout", f"{destination.layout.name} layout")
        code, texts = codes.LAYOUT_MISMATCH, layouts
    elif source.shape != destination.shape:
        code, texts = codes.SHAPE_MISMATCH, (f"shape {source.shape}", f"shape {destination.shape}")
    else:
        code, texts = codes.DTYPE_MISMATCH, (format(source.dtype), format(destination.dtype))
    return code.broken(
        f"{what} a block of {texts[0]} with a block of {texts[1]}",
        "make the two dataflow buffers alike",
        secondary=secondary,
    )


# Arguments of operations --------------------------------------------------------------------------


def check_tensor_arguments(
    operation: str, tensors: Mapping[str, TensorLike], captured: Collection[str] = ()
) -> None:
    """Raise RuleBroken if a tensor cannot be sliced, or if no device can reach all tensors.

    `captured` names the tensors that are not arguments.
    """
    titles = {
        name: f"captured tensor `{name}` of {operation}"
        if name in captured
        else f"argument `{name}` of {operation}"
        for name in tensors
    }
    for name, tensor in tensors.items():
        if problem := _find_problem(tensor):
            raise codes.UNUSABLE_TENSOR.broken(
                f"{titles[name]} is {problem[0]}", problem[1], shape=tuple(tensor.shape)
            )
    _check_devices(titles, tensors)


def _find_problem(tensor: TensorLike) -> tuple[str, str] | None:
    """Return what is wrong with a tensor and how to fix it, or None."""
    shape = tuple(tensor.shape)
    if 0 in shape:
        return f"an empty tensor, of shape {shape}", "call the operation only if there is data"
    if not shape:
        return "a tensor without dimensions, of shape ()", "give it the shape (1,)"
    return None


def _check_devices(titles: Mapping[str, str], tensors: Mapping[str, Any]) -> None:
    devices = {name: device_of(tensor) for name, tensor in tensors.items()}
    for name, device in devices.items():
        if device is None and isinstance(tensors[name].dtype, DType):
            continue  # the embedded ttnn has one memory
        if device is None:
            raise codes.UNUSABLE_TENSOR.broken(
                f"{titles[name]} is a host tensor",
                "make it with device=ttnn.open_device(device_id=0), or use to_device()",
            )
        if not getattr(tensors[name].device(), "is_open", True):
            raise codes.UNUSABLE_TENSOR.broken(
                f"{titles[name]} is on device {device}, which is closed",
                "call the operation before ttnn.close_device(device)",
            )
    places = {name: device for name, device in devices.items() if device is not None}
    if len({*places.values()}) < 2:
        return
    first = next(iter(places))
    other = next(name for name, device in places.items() if device != places[first])
    raise codes.UNUSABLE_TENSOR.broken(
        f"{titles[other]} is on device {devices[other]}, "
        f"{titles[first].rpartition(' of ')[0]} on device {devices[first]}",
        "put all tensors on one device: ttnn.to_device(tensor, device)",
    )


def device_of(tensor: object) -> int | None:
    """Return the number of the tensor's device, or None if it is in host memory."""
    device = getattr(tensor, "device", lambda: None)()
    return None if device is None else device.id()
