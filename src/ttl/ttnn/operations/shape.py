"""Operations that rearrange elements."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ttl.diagnostics import RuleBroken
from ttl.semantics.dtypes import Array, bfloat16, uint32
from ttl.semantics.layout import ROW_MAJOR_LAYOUT, TILE_LAYOUT
from ttl.semantics.types import TILE_SIZE

from ..faults import out_of_range, wrong, wrong_call
from .arguments import Dims, Sizes, dimension, dimensions, is_integer, shapes_differ
from .run import PLACED, RESULT, UNARY, operation

_MOVED = (*PLACED, "pad_value")


@operation(options=_MOVED)
def transpose(input_tensor: Array, dim1: int, dim2: int) -> Any:
    """Two dimensions exchanged."""
    rank = input_tensor.ndim
    return np.swapaxes(input_tensor, dimension(dim1, rank), dimension(dim2, rank))


@operation(options=_MOVED)
def permute(input_tensor: Array, dims: Sizes) -> Any:
    """The dimensions in the order in which `dims` names them."""
    if len(dims) != input_tensor.ndim:
        raise wrong(
            f"dims={tuple(dims)}: a tensor of shape {input_tensor.shape} has {input_tensor.ndim} "
            "dimensions",
            "name each of them once",
        )
    return np.transpose(input_tensor, dimensions(dims, input_tensor.ndim))


@operation(
    on_host=True,
    shares=True,
    also={"logical_shape": "shape"},
    options=(*_MOVED, "reshape_tile_mode", "skip_padding_fill", "sub_core_grids"),
)
def reshape(input_tensor: Array, shape: Sizes, padded_shape: Sizes | None = None) -> Any:
    """The elements, row by row, in another shape; one size may be -1 and follows.

    `padded_shape` is what the shape takes in tiles anyhow.
    """
    sizes = [int(size) for size in shape]
    known = prod(size for size in sizes if size != -1)
    if sizes.count(-1) == 1 and known and input_tensor.size % known == 0:
        sizes[sizes.index(-1)] = input_tensor.size // known
    if any(size < 0 for size in sizes) or prod(sizes) != input_tensor.size:
        raise shapes_differ(
            f"the {input_tensor.size} elements of a tensor of shape {input_tensor.shape} do not "
            f"make one of shape {tuple(shape)}",
            "the product of the sizes stays the same; one of them may be -1",
        )
    return np.reshape(input_tensor, sizes)


def _check_types(arguments: dict[str, Any]) -> None:
    types = {tensor.dtype for tensor in arguments["tensors"]}
    if len(types) > 1:
        names = ", ".join(sorted(f"{dtype}" for dtype in types))
        raise wrong(f"ttnn.concat() of {names}", "convert with ttnn.typecast() first")


@operation(options=(*UNARY, "groups"), check=_check_types)
def concat(tensors: list[Array], dim: int = 0) -> Any:
    """Tensors one after the other along a dimension."""
    axis = dimension(dim, tensors[0].ndim)
    rests = [(*array.shape[:axis], *array.shape[axis + 1 :]) for array in tensors]
    ranks = [array.ndim for array in tensors]
    if len(set(rests)) > 1 or len(set(ranks)) > 1:
        raise _do_not_join("ttnn.concat()", tensors, f"all sizes but that of dimension {axis}")
    return np.concatenate(tensors, axis)


@operation(options=())
def stack(input_tensors: list[Array], dim: int) -> Any:
    """Tensors of one shape along a new dimension."""
    if len({array.shape for array in input_tensors}) > 1:
        raise _do_not_join("ttnn.stack()", input_tensors, "all sizes")
    return np.stack(input_tensors, dimension(dim, input_tensors[0].ndim + 1))


def _do_not_join(call: str, tensors: list[Array], equal: str) -> RuleBroken:
    shapes = ", ".join(str(array.shape) for array in tensors)
    return shapes_differ(f"{call} of tensors of shapes {shapes}", f"{equal} must be equal")


@operation(options=(), on_host=True, shares=True)
def squeeze(input_tensor: Array, dim: Dims = None) -> Any:
    """Without the dimensions of size 1, or those of them that `dim` names."""
    named = dimensions(dim, input_tensor.ndim)
    return np.squeeze(input_tensor, tuple(d for d in named if input_tensor.shape[d] == 1))


@operation(options=(), on_host=True, shares=True)
def unsqueeze(input_tensor: Array, dim: int) -> Any:
    """With one dimension of size 1 more, at `dim` of the result."""
    return np.expand_dims(input_tensor, dimension(dim, input_tensor.ndim + 1))


@operation(options=(), on_host=True, shares=True)
def unsqueeze_to_4D(tensor: Array) -> Any:
    """With as many leading dimensions of size 1 as make four."""
    if tensor.ndim > 4:
        raise wrong(f"a tensor of shape {tensor.shape} has more than four dimensions")
    return tensor.reshape((1,) * (4 - tensor.ndim) + tensor.shape)


@operation(options=(), shares=True)
def view(input_tensor: Array, shape: Sizes) -> Any:
    """As reshape()."""
    return reshape.operation.meaning(input_tensor, shape)  # type: ignore[attr-defined]


@operation(options=(*PLACED, "optional_output_tensor"))
def repeat(input_tensor: Array, repeat_dims: Sizes) -> Any:
    """The whole tensor so many times along each dimension, counted from the last."""
    if any(count < 0 for count in repeat_dims):
        raise wrong(f"repeat_dims={tuple(repeat_dims)}", "give a count for each dimension")
    return np.tile(input_tensor, tuple(repeat_dims))


@operation(options=PLACED)
def repeat_interleave(input_tensor: Array, repeats: int, dim: int) -> Any:
    """Each element so many times, one after the other, along a dimension."""
    if repeats < 0:
        raise wrong(f"repeats={repeats}", "give a count, 0 or more")
    return np.repeat(input_tensor, repeats, dimension(dim, input_tensor.ndim))


@operation(options=PLACED)
def expand(input_tensor: Array, output_shape: Sizes) -> Any:
    """Dimensions of size 1 grown to the sizes given; -1 keeps a size."""
    leading = len(output_shape) - input_tensor.ndim
    own = (*(1,) * leading, *input_tensor.shape)
    sizes = tuple(
        mine if size == -1 else size for mine, size in zip(own, output_shape, strict=False)
    )
    if leading < 0 or any(mine not in (1, size) for mine, size in zip(own, sizes, strict=True)):
        raise shapes_differ(
            f"a tensor of shape {input_tensor.shape} cannot grow to {tuple(output_shape)}",
            "only dimensions of size 1 grow; -1 keeps a size",
        )
    return np.broadcast_to(input_tensor, sizes)


def _check_front(arguments: dict[str, Any]) -> None:
    tensor, padding = arguments["input_tensor"], arguments["padding"]
    in_tiles = tensor.layout is TILE_LAYOUT
    if in_tiles and _is_padding(padding) and any(before for before, _ in padding):
        raise wrong(
            f"padding={padding!r} in front of a tensor in tiles",
            "pad after it, or convert it with ttnn.to_layout(tensor, ttnn.ROW_MAJOR_LAYOUT)",
        )


@operation(
    on_host=True,
    also={"output_padded_shape": "padding", "input_tensor_start": "value"},
    check=_check_front,
    options=(*PLACED, "use_multicore", "sub_core_grids"),
)
def pad(input_tensor: Array, padding: Any, value: Any, last: Any = None) -> Any:
    """With `value` around it: padding is ((before, after), ..) for the last dimensions.

    Also pad(tensor, output_shape, start, value).
    """
    if isinstance(value, Sequence):
        input_tensor = input_tensor.reshape(
            (1,) * (len(padding) - input_tensor.ndim) + input_tensor.shape
        )
        padding, value = _padding_to(input_tensor, padding, value), last
    if not _is_padding(padding) or len(padding) > input_tensor.ndim:
        raise wrong(
            f"padding={padding!r} of a tensor of shape {input_tensor.shape}",
            "give (before, after) for each dimension, for example padding=((0, 0), (0, 28))",
        )
    missing = ((0, 0),) * (input_tensor.ndim - len(padding))
    widths = (*missing, *map(tuple, padding))
    return np.pad(input_tensor, widths, constant_values=value)


def _padding_to(x: Array, shape: Sizes, starts: Sizes) -> Any:
    if not len(starts) == len(shape) == x.ndim:
        raise wrong(
            f"output_padded_shape={list(shape)} and input_tensor_start={list(starts)} for a tensor "
            f"of shape {x.shape}",
            "give a size and a start for each dimension",
        )
    sizes = zip(x.shape, shape, starts, strict=True)
    return [(start, whole - mine - start) for mine, whole, start in sizes]


def _is_padding(padding: Any) -> bool:
    return isinstance(padding, Sequence) and all(
        isinstance(pair, Sequence)
        and len(pair) == 2
        and all(is_integer(width) and width >= 0 for width in pair)
        for pair in padding
    )


@operation(
    options=(*UNARY, "pad_value", "slice_dim", "num_devices"),
    also={"starts": "slice_start", "ends": "slice_end", "steps": "slice_step"},
)
def slice(
    input_tensor: Array, slice_start: Sizes, slice_end: Sizes, slice_step: Sizes | None = None
) -> Any:
    """The elements from start to end, in elements, along each dimension."""
    rank = input_tensor.ndim
    steps = (1,) * rank if slice_step is None else slice_step
    if not len(slice_start) == len(slice_end) == len(steps) == rank:
        raise wrong(
            f"ttnn.slice() of a tensor of {rank} dimensions from {tuple(slice_start)} to "
            f"{tuple(slice_end)}",
            "give a start and an end for each dimension",
        )
    for size, end in zip(input_tensor.shape, slice_end, strict=True):
        if end > size:
            raise wrong(f"slice_end={tuple(slice_end)} of a tensor of shape {input_tensor.shape}")
    bounds = zip(slice_start, slice_end, steps, strict=True)
    return part(input_tensor, tuple(_slice(*bound) for bound in bounds))


_slice = builtins.slice


def part(x: Array, items: tuple[Any, ...]) -> Any:
    """Return `x[items]` with ints in range, slices with a positive step, and `...`."""
    dims = [item for item in items if item is not Ellipsis]
    if len(dims) > x.ndim or len(items) - len(dims) > 1:
        raise out_of_range(f"{len(items)} indices for a tensor of {x.ndim} dimensions")
    front = items.index(Ellipsis) if len(dims) < len(items) else len(items)
    for position, item in enumerate(dims):
        axis = position if position < front else x.ndim - len(dims) + position
        _check_item(item, axis, x.shape[axis])
    return x[tuple(items)]


def _check_item(item: Any, axis: int, size: int) -> None:
    if is_integer(item):
        if not -size <= item < size:
            raise out_of_range(f"index {item} of dimension {axis}, which has {size} elements")
        return
    bounds = (item.start, item.stop, item.step) if isinstance(item, _slice) else (item,)
    if not all(isinstance(item, _slice) and (b is None or is_integer(b)) for b in bounds):
        raise wrong_call(f"{item!r} is neither an index nor a slice", "write an int or start:stop")
    if item.step is not None and item.step < 1:
        raise wrong(f"{item!r}: the step of a slice of a tensor is 1 or more")


@operation(options=PLACED)
def split(input_tensor: Array, split_size: int | Sizes, dim: int = 0) -> Any:
    """Parts of split_size elements along a dimension, or of the sizes in a list."""
    axis = dimension(dim, input_tensor.ndim)
    size = input_tensor.shape[axis]
    if isinstance(split_size, Sequence):
        if sum(split_size) != size or any(part < 0 for part in split_size):
            raise shapes_differ(
                f"parts of sizes {list(split_size)} do not make dimension {axis} of size {size}",
                "the sum of the sizes is the size of the dimension",
            )
        return np.split(input_tensor, np.cumsum(split_size)[:-1], axis)
    if split_size <= 0:
        raise wrong(f"split_size={split_size}", "give the size of a part, 1 or more")
    return np.split(input_tensor, range(split_size, size, split_size), axis)


@operation(options=())
def chunk(input_tensor: Array, chunks: int, dim: int) -> Any:
    """So many parts along a dimension, the last one smaller if they do not divide it."""
    if chunks <= 0:
        raise wrong(f"chunks={chunks}", "give the number of parts, 1 or more")
    axis = dimension(dim, input_tensor.ndim)
    size = input_tensor.shape[axis]
    step = max(1, -(-size // chunks))
    return np.split(input_tensor, range(step, size, step), axis)


@operation(options=(*PLACED, "compute_kernel_config"))
def upsample(input_tensor: Array, scale_factor: int | Sizes, *, mode: Any = "nearest") -> Any:
    """Each element of a tensor of (batch, rows, columns, channels) so often by rows and columns."""
    factors = [scale_factor] * 2 if isinstance(scale_factor, int) else list(scale_factor)
    if input_tensor.ndim != 4 or len(factors) != 2 or min(factors) < 1 or mode != "nearest":
        raise wrong(
            f"ttnn.upsample() of a tensor of shape {input_tensor.shape} by {scale_factor}, "
            f"mode={mode!r}",
            "give a tensor of four dimensions and whole factors of rows and columns; "
            'the only mode here is "nearest"',
        )
    return input_tensor.repeat(factors[0], axis=1).repeat(factors[1], axis=2)


def _check_indices(arguments: dict[str, Any]) -> None:
    dtype = arguments["input_tensor"].dtype
    if dtype not in (uint32, bfloat16):
        raise wrong(
            f"ttnn.embedding() with indices of {dtype}", "give uint32 or bfloat16 as indices"
        )


@operation(
    like=("weight",),
    check=_check_indices,
    own_types=True,
    layout_of="weight",
    options=(*RESULT, "dtype", "layout", "padding_idx", "embeddings_type"),
)
def embedding(input_tensor: Array, weight: Array) -> Any:
    """The rows of `weight` that the indices in `input_tensor` name."""
    if weight.ndim != 2:
        raise wrong(
            f"ttnn.embedding() with a weight of shape {weight.shape}",
            "give a weight of rows and columns",
        )
    indices = input_tensor.astype(np.int64)
    outside = indices[np.less(indices, 0) | np.greater_equal(indices, len(weight))]
    if outside.size:
        raise wrong(f"index {outside[0]} of the {len(weight)} rows of the weight")
    return weight[indices]


@operation(
    layout=TILE_LAYOUT,
    options=(*PLACED, "dtype", "use_multicore", "use_low_perf", "tile", "sub_core_grids"),
)
def tilize(input_tensor: Array) -> Any:
    """The tensor in tiles; its rows and columns are whole tiles already."""
    if any(size % TILE_SIZE for size in input_tensor.shape[-2:]):
        raise wrong(
            f"ttnn.tilize() of a tensor of shape {input_tensor.shape}: no whole tiles",
            "use ttnn.to_layout(tensor, ttnn.TILE_LAYOUT), which pads",
        )
    return input_tensor


@operation(layout=ROW_MAJOR_LAYOUT, options=(*PLACED, "use_multicore", "sub_core_grids"))
def untilize(input_tensor: Array) -> Any:
    """The tensor in rows."""
    return input_tensor


@operation(options=PLACED)
def tril(input_tensor: Array, *, diagonal: int = 0) -> Any:
    """The elements up to a diagonal of the innermost two dimensions, else 0."""
    return np.tril(_matrix(input_tensor, "ttnn.tril()"), diagonal)


@operation(options=PLACED)
def triu(input_tensor: Array, *, diagonal: int = 0) -> Any:
    """The elements from a diagonal of the innermost two dimensions on, else 0."""
    return np.triu(_matrix(input_tensor, "ttnn.triu()"), diagonal)


def _matrix(x: Array, call: str) -> Array:
    if x.ndim < 2:
        raise wrong(f"{call} of a tensor of shape {x.shape}: it has no rows and columns")
    return x


def _check_steps(arguments: dict[str, Any]) -> None:
    items = arguments["items"]
    steps = [item.step for item in items if isinstance(item, _slice)] if is_indices(items) else ()
    if arguments["input_tensor"].device() is None and any(step not in (None, 1) for step in steps):
        raise wrong(
            "a slice with a step of a tensor in the memory of the host",
            "move it first with ttnn.to_device(tensor, device)",
        )


def is_indices(items: Any) -> bool:
    return isinstance(items, (tuple, list))


@operation(on_host=True, check=_check_steps)
def get_item(input_tensor: Array, items: Any) -> Any:
    """`tensor[items]` outside of kernels: a new tensor, counted in elements."""
    return part(input_tensor, tuple(items) if is_indices(items) else (items,))
