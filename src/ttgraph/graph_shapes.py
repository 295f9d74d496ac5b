"""Shapes of the results of graph operations; ValueError if operands do not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from ttl.semantics.random_bits import STATE_WORDS
from ttl.semantics.types import Shape

Attributes = Mapping[str, Any]


def broadcast_shape(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    """Broadcast shapes: counted from the last, sizes are equal, or one is 1 or missing."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    return tuple(_common_size(sizes) for sizes in zip(*padded, strict=True))


def _common_size(sizes: tuple[int, ...]) -> int:
    found = {size for size in sizes if size != 1}
    if len(found) > 1:
        raise ValueError(f"sizes {', '.join(map(str, sizes))} do not broadcast")
    return found.pop() if found else 1


def matmul_shape(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    a, b = shapes
    if len(a) < 2 or len(b) < 2 or a[-1] != b[-2]:
        raise ValueError(f"{_text(a)} @ {_text(b)} is no matrix product")
    return (*broadcast_shape([a[:-2], b[:-2]], {}), a[-2], b[-1])


def reshape_shape(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    shape = _sizes(attributes["shape"])
    if prod(shape) != prod(shapes[0]):
        raise ValueError(f"{_text(shapes[0])} has not as many elements as {_text(shape)}")
    return shape


def expand_shape(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    shape = _sizes(attributes["shape"])
    if len(shape) < len(shapes[0]) or broadcast_shape([shapes[0], shape], {}) != shape:
        raise ValueError(f"{_text(shapes[0])} does not broadcast to {_text(shape)}")
    return shape


def permute_shape(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    order = tuple(attributes["permutation"])
    if sorted(order) != list(range(len(shapes[0]))):
        raise ValueError(f"{order} is no permutation of {len(shapes[0])} dimensions")
    return tuple(shapes[0][dim] for dim in order)


def reduce_shape(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    dims, shape = tuple(attributes["dim_arg"]), shapes[0]
    if len(set(dims)) != len(dims) or any(not 0 <= dim < len(shape) for dim in dims):
        raise ValueError(f"{dims} are not dimensions of {_text(shape)}")
    if attributes["keep_dim"]:
        return tuple(1 if dim in dims else size for dim, size in enumerate(shape))
    return tuple(size for dim, size in enumerate(shape) if dim not in dims)


def concat_shape(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    dim, first = attributes["dim"], shapes[0]
    _check_dim(first, dim)
    others = {shape[:dim] + shape[dim + 1 :] if dim < len(shape) else None for shape in shapes}
    if len(others) != 1 or {len(shape) for shape in shapes} != {len(first)}:
        raise ValueError(f"tensors that differ in more than dimension {dim}")
    return (*first[:dim], sum(shape[dim] for shape in shapes), *first[dim + 1 :])


def slice_shape(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    lists = [tuple(attributes[name]) for name in ("begins", "ends", "step")]
    if any(len(values) != len(shapes[0]) for values in lists):
        raise ValueError(f"a slice of {_text(shapes[0])} needs as many begins, ends and steps")
    sizes = []
    for begin, end, step, size in zip(*lists, shapes[0], strict=True):
        if not (0 <= begin <= end <= size and step > 0):
            raise ValueError(f"{begin}:{end}:{step} is no slice of {size} elements")
        sizes.append(-(-(end - begin) // step))
    return tuple(sizes)


def embedding_shape(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    indices, weight = shapes
    if len(weight) != 2:
        raise ValueError(f"{_text(weight)} has no rows and columns")
    return (*indices, weight[1])


def conv2d_shape(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    """Return (batch, height, width, out): channels are the input's last dimension, and weights are
    (out, in, height, width).
    """
    (batch, *sizes, channels), (outputs, inputs, *kernel) = _of_window(shapes)
    groups = attributes["groups"]
    if groups < 1 or channels != inputs * groups or outputs % groups:
        raise ValueError(f"{_text(shapes[1])} has no weights for {channels} channels")
    spans = zip(sizes, kernel, *_window_lists(attributes), strict=True)
    found = [
        (size + before + after - dilation * (width - 1) - 1) // stride + 1
        for size, width, stride, dilation, before, after in spans
    ]
    return _sizes((batch, *found, outputs))


def conv_transpose2d_shape(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    """Return a transposed convolution's shape; the weights are (in, out, height, width)."""
    (batch, *sizes, channels), (inputs, outputs, *kernel) = _of_window(shapes)
    groups, more = attributes["groups"], attributes["output_padding"]
    if groups < 1 or channels != inputs or inputs % groups or len(more) != 2:
        raise ValueError(f"{_text(shapes[1])} has no weights for {channels} channels")
    spans = zip(sizes, kernel, *_window_lists(attributes), more, strict=True)
    found = [
        (size - 1) * stride - before - after + dilation * (width - 1) + extra + 1
        for size, width, stride, dilation, before, after, extra in spans
    ]
    return _sizes((batch, *found, outputs * groups))


def _of_window(shapes: Sequence[Shape]) -> tuple[Shape, Shape]:
    given, weight = shapes
    if len(given) != 4 or len(weight) != 4:
        raise ValueError(f"{_text(given)} and {_text(weight)} are no images and weights")
    return given, weight


def _window_lists(attributes: Attributes) -> list[Sequence[int]]:
    """Return stride, dilation, padding before and padding after, each for height and width."""
    stride, dilation, edges = (attributes[name] for name in ("stride", "dilation", "padding"))
    if (len(stride), len(dilation), len(edges)) != (2, 2, 4) or min(*stride, *dilation) < 1:
        raise ValueError("a window has 2 strides and dilations from 1 on, and 4 widths of padding")
    return [stride, dilation, edges[::2], edges[1::2]]


# How a scatter combines a new element with the old one: files contain the index.
REDUCES = ("replace", "add", "multiply", "maximum", "minimum")


def along_shape(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    _check_dim(shapes[0], attributes["dim"])
    return shapes[0]


def gather_shape(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    """Gather the element at each index along a dimension; other positions are the index's own."""
    given, index = shapes
    _check_beside(given, index, attributes["dim"])
    return index


def scatter_shape(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    """Scatter each element to its index along a dimension; other positions are its own."""
    given, index, source = shapes
    _check_beside(given, index, attributes["dim"])
    if source != index or not 0 <= attributes["reduce"] < len(REDUCES):
        raise ValueError(f"{_text(source)} is no source for indices of {_text(index)}")
    return given


def _check_beside(given: Shape, index: Shape, dim: int) -> None:
    _check_dim(given, dim)
    if len(given) != len(index) or any(
        mine > size for d, (mine, size) in enumerate(zip(index, given, strict=True)) if d != dim
    ):
        raise ValueError(f"indices of {_text(index)} are not beside {_text(given)}")


def _check_dim(shape: Shape, dim: int) -> None:
    if not 0 <= dim < len(shape):
        raise ValueError(f"{_text(shape)} has no dimension {dim}")


def arange_shape(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    return along_shape([_sizes(attributes["shape"])], attributes)


def given_shape(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    return _sizes(attributes["shape"])


def random_bits_shape(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    shape = _sizes(attributes["shape"])
    if shapes[0] != (STATE_WORDS,) or len(shape) != 1:
        raise ValueError(f"a list of bits for {STATE_WORDS} words, not {_text(shapes[0])}")
    return shape


def norm_shape(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    """Return the rows' shape; after the rows come each column's weight and bias."""
    rows, *others = shapes
    if not rows or len(others) > 2 or any(prod(each) != rows[-1] for each in others):
        raise ValueError(f"{_text(rows)} and {', '.join(map(_text, others))} are no rows")
    return rows


def linear_shape(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    if len(shapes) not in (2, 3):
        raise ValueError(f"{len(shapes)} operands are no product and a bias")
    a, b, *bias = shapes
    if attributes["transpose_b"] and len(b) > 1:
        b = (*b[:-2], b[-1], b[-2])
    found = matmul_shape([a, b], attributes)
    if any(prod(each) != found[-1] for each in bias):
        raise ValueError(f"{_text(bias[0])} is no bias of {found[-1]} columns")
    return found


def attention_shape(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    """Check query, key, value and perhaps a mask: (batch, heads, sequence, size of a head)."""
    if len(shapes) not in (3, 4) or any(len(each) != 4 for each in shapes):
        raise ValueError("attention is of three or four tensors of 4 dimensions")
    query, key, value, *mask = shapes
    alike = key[:3] == value[:3] and query[0] == key[0] and query[3] == key[3]
    if not alike or not key[1] or query[1] % key[1]:
        raise ValueError(f"{_text(query)}, {_text(key)} and {_text(value)} do not fit")
    scores = (*query[:3], key[2])
    fits = [each[2:] == scores[2:] and broadcast_shape([each, scores], {}) for each in mask]
    if any(each != scores for each in fits):
        raise ValueError(f"{_text(mask[0])} is no mask of {_text(scores)}")
    return (*query[:3], value[3])


def rotary_shape(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    given, cosine, sine = shapes
    if len(given) != 4 or cosine != sine or cosine != (1, 1, *given[2:]):
        raise ValueError(f"{_text(cosine)} does not turn {_text(given)}")
    return given


def _sizes(given: Sequence[int]) -> Shape:
    if any(size < 0 for size in given):
        raise ValueError(f"{tuple(given)} is no shape")
    return tuple(given)


def _text(shape: Shape) -> str:
    return "x".join(map(str, shape)) or "a scalar"
