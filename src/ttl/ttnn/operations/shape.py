"""Operations that arrange elements anew."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ttl.diagnostics import RuleBroken
from ttl.semantics.dtypes import Array
from ttl.semantics.layout import ROW_MAJOR_LAYOUT, TILE_LAYOUT

from ..faults import wrong
from .arguments import Dims, Number, Sizes, dimension, dimensions, is_integer, shapes_differ
from .run import operation


@operation()
def transpose(input_tensor: Array, dim1: int = -2, dim2: int = -1) -> Any:
    """Two dimensions exchanged."""
    rank = input_tensor.ndim
    return np.swapaxes(input_tensor, dimension(dim1, rank), dimension(dim2, rank))


@operation()
def permute(input_tensor: Array, dims: Sizes) -> Any:
    """The dimensions in the order in which `dims` names them."""
    if len(dims) != input_tensor.ndim:
        raise wrong(
            f"dims={tuple(dims)}: a tensor of shape {input_tensor.shape} has {input_tensor.ndim} "
            "dimensions",
            "name each of them once",
        )
    return np.transpose(input_tensor, dimensions(dims, input_tensor.ndim))


@operation()
def reshape(input_tensor: Array, shape: Sizes) -> Any:
    """The elements, row by row, in another shape; one size may be -1 and follows."""
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


@operation()
def concat(tensors: list[Array], dim: int = 0) -> Any:
    """Tensors one after the other along a dimension."""
    axis = dimension(dim, tensors[0].ndim)
    rests = [(*array.shape[:axis], *array.shape[axis + 1 :]) for array in tensors]
    ranks = [array.ndim for array in tensors]
    if len(set(rests)) > 1 or len(set(ranks)) > 1:
        raise _do_not_join("ttnn.concat()", tensors, f"all sizes but that of dimension {axis}")
    return np.concatenate(tensors, axis)


@operation()
def stack(tensors: list[Array], dim: int = 0) -> Any:
    """Tensors of one shape along a new dimension."""
    if len({array.shape for array in tensors}) > 1:
        raise _do_not_join("ttnn.stack()", tensors, "all sizes")
    return np.stack(tensors, dimension(dim, tensors[0].ndim + 1))


def _do_not_join(call: str, tensors: list[Array], equal: str) -> RuleBroken:
    shapes = ", ".join(str(array.shape) for array in tensors)
    return shapes_differ(f"{call} of tensors of shapes {shapes}", f"{equal} must be equal")


@operation()
def squeeze(input_tensor: Array, dim: Dims = None) -> Any:
    """Without the dimensions of size 1, or those of them that `dim` names."""
    named = dimensions(dim, input_tensor.ndim)
    return np.squeeze(input_tensor, tuple(d for d in named if input_tensor.shape[d] == 1))


@operation()
def unsqueeze(input_tensor: Array, dim: int) -> Any:
    """With one dimension of size 1 more, at `dim` of the result."""
    return np.expand_dims(input_tensor, dimension(dim, input_tensor.ndim + 1))


@operation()
def unsqueeze_to_4D(input_tensor: Array) -> Any:
    """With as many leading dimensions of size 1 as make four."""
    if input_tensor.ndim > 4:
        raise wrong(f"a tensor of shape {input_tensor.shape} has more than four dimensions")
    return input_tensor.reshape((1,) * (4 - input_tensor.ndim) + input_tensor.shape)


@operation()
def repeat(input_tensor: Array, repeat_dims: Sizes) -> Any:
    """The whole tensor so many times along each dimension."""
    if len(repeat_dims) < input_tensor.ndim or any(count < 0 for count in repeat_dims):
        raise wrong(
            f"repeat_dims={tuple(repeat_dims)} for a tensor of shape {input_tensor.shape}",
            "give a count for each dimension, 0 or more",
        )
    return np.tile(input_tensor, tuple(repeat_dims))


@operation()
def repeat_interleave(input_tensor: Array, repeats: int, dim: int = 0) -> Any:
    """Each element so many times, one after the other, along a dimension."""
    if repeats < 0:
        raise wrong(f"repeats={repeats}", "give a count, 0 or more")
    return np.repeat(input_tensor, repeats, dimension(dim, input_tensor.ndim))


@operation()
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


@operation()
def pad(input_tensor: Array, padding: Any, value: Number = 0) -> Any:
    """With `value` around it: padding is ((before, after), ..) for the last dimensions."""
    if not _is_padding(padding) or len(padding) > input_tensor.ndim:
        raise wrong(
            f"padding={padding!r} of a tensor of shape {input_tensor.shape}",
            "give (before, after) for each dimension, for example padding=((0, 0), (0, 28))",
        )
    missing = ((0, 0),) * (input_tensor.ndim - len(padding))
    widths = (*missing, *map(tuple, padding))
    return np.pad(input_tensor, widths, constant_values=value)


def _is_padding(padding: Any) -> bool:
    return isinstance(padding, Sequence) and all(
        isinstance(pair, Sequence)
        and len(pair) == 2
        and all(is_integer(width) and width >= 0 for width in pair)
        for pair in padding
    )


@operation()
def slice(
    input_tensor: Array,
    slice_start: Sizes,
    slice_end: Sizes,
    slice_step: Sizes | None = None,
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
    bounds = zip(slice_start, slice_end, steps, strict=True)
    return part(input_tensor, tuple(_slice(*bound) for bound in bounds))


_slice = builtins.slice


def part(x: Array, items: tuple[Any, ...]) -> Any:
    """`x[items]` with ints, slices with a positive step, and `...`; ints must lie in the tensor."""
    dims = [item for item in items if item is not Ellipsis]
    if len(dims) > x.ndim or len(items) - len(dims) > 1:
        raise wrong(
            f"{len(items)} indices for a tensor of {x.ndim} dimensions",
            "give at most one index or slice for each dimension",
        )
    front = items.index(Ellipsis) if len(dims) < len(items) else len(items)
    for position, item in enumerate(dims):
        axis = position if position < front else x.ndim - len(dims) + position
        _check_item(item, axis, x.shape[axis])
    return x[tuple(items)]


def _check_item(item: Any, axis: int, size: int) -> None:
    if is_integer(item):
        if not -size <= item < size:
            raise wrong(f"index {item} of dimension {axis}, which has {size} elements")
        return
    if not isinstance(item, _slice) or not all(map(_is_bound, (item.start, item.stop, item.step))):
        raise wrong(f"{item!r} is neither an index nor a slice", "write an int or start:stop")
    if item.step is not None and item.step < 1:
        raise wrong(f"{item!r}: the step of a slice of a tensor is 1 or more")


def _is_bound(value: Any) -> bool:
    return value is None or is_integer(value)


@operation()
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


@operation()
def chunk(input_tensor: Array, chunks: int, dim: int = 0) -> Any:
    """So many parts along a dimension, the last one smaller if they do not divide it."""
    if chunks <= 0:
        raise wrong(f"chunks={chunks}", "give the number of parts, 1 or more")
    axis = dimension(dim, input_tensor.ndim)
    size = input_tensor.shape[axis]
    step = max(1, -(-size // chunks))
    return np.split(input_tensor, range(step, size, step), axis)


@operation()
def upsample(input_tensor: Array, scale_factor: int | Sizes, mode: Any = "nearest") -> Any:
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


@operation(like=("weight",), own_types=True, takes_layout=True)
def embedding(input_tensor: Array, weight: Array) -> Any:
    """The rows of `weight` that the indices in `input_tensor` name."""
    if weight.ndim != 2 or input_tensor.dtype.kind != "i":
        raise wrong(
            f"ttnn.embedding() of {input_tensor.dtype.name} indices and a weight of shape "
            f"{weight.shape}",
            "give integers as indices, and a weight of rows and columns",
        )
    is_outside = np.less(input_tensor, 0) | np.greater_equal(input_tensor, len(weight))
    outside = input_tensor[is_outside]
    if outside.size:
        raise wrong(f"index {outside[0]} of the {len(weight)} rows of the weight")
    return weight[input_tensor]


@operation(layout=TILE_LAYOUT)
def tilize(input_tensor: Array) -> Any:
    """The tensor in tiles."""
    return input_tensor


@operation(layout=ROW_MAJOR_LAYOUT)
def untilize(input_tensor: Array) -> Any:
    """The tensor in rows."""
    return input_tensor


@operation()
def tril(input_tensor: Array, diagonal: int = 0) -> Any:
    """The elements up to a diagonal of the innermost two dimensions, else 0."""
    return np.tril(_matrix(input_tensor, "ttnn.tril()"), diagonal)


@operation()
def triu(input_tensor: Array, diagonal: int = 0) -> Any:
    """The elements from a diagonal of the innermost two dimensions on, else 0."""
    return np.triu(_matrix(input_tensor, "ttnn.triu()"), diagonal)


def _matrix(x: Array, call: str) -> Array:
    if x.ndim < 2:
        raise wrong(f"{call} of a tensor of shape {x.shape}: it has no rows and columns")
    return x


@operation()
def get_item(input_tensor: Array, items: Any) -> Any:
    """`tensor[items]` outside of kernels: a new tensor, counted in elements."""
    return part(input_tensor, items if isinstance(items, tuple) else (items,))
