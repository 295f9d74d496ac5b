"""The operations of graphs of whole tensors, in one table.

The dialects ttir and ttnn verify with it, the flatbuffer road writes and reads by it, and the
runtime runs the function of the same name of the embedded ttnn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from .types import Shape

Attributes = Mapping[str, Any]
ShapeRule = Callable[[Sequence[Shape], Attributes], Shape]  # ValueError where they do not fit


@dataclass(frozen=True, slots=True)
class GraphOp:
    """An operation with one result.

    `attributes` are names with their kinds: int, ints, bool or float. `operands` is None where
    there may be any number but none.
    """

    name: str  # in ttnn
    ttir: str
    operands: int | None
    shape: ShapeRule
    attributes: tuple[tuple[str, str], ...] = ()

    def result_shape(self, shapes: Sequence[Shape], attributes: Attributes) -> Shape:
        """ValueError if there is none."""
        if len(shapes) != self.operands and (self.operands is not None or not shapes):
            raise ValueError(f"{len(shapes)} operands, not {self.operands or 'one or more'}")
        return self.shape(shapes, attributes)


# Shapes -------------------------------------------------------------------------------------------


def _broadcast(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    """Counted from the last, sizes are equal or one of them is 1 or missing."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    return tuple(_common_size(sizes) for sizes in zip(*padded, strict=True))


def _common_size(sizes: tuple[int, ...]) -> int:
    found = {size for size in sizes if size != 1}
    if len(found) > 1:
        raise ValueError(f"sizes {', '.join(map(str, sizes))} do not broadcast")
    return found.pop() if found else 1


def _matmul(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    a, b = shapes
    if len(a) < 2 or len(b) < 2 or a[-1] != b[-2]:
        raise ValueError(f"{_text(a)} @ {_text(b)} is no matrix product")
    return (*_broadcast([a[:-2], b[:-2]], {}), a[-2], b[-1])


def _reshape(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    shape = _sizes(attributes["shape"])
    if prod(shape) != prod(shapes[0]):
        raise ValueError(f"{_text(shapes[0])} has not as many elements as {_text(shape)}")
    return shape


def _expand(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    shape = _sizes(attributes["shape"])
    if len(shape) < len(shapes[0]) or _broadcast([shapes[0], shape], {}) != shape:
        raise ValueError(f"{_text(shapes[0])} does not broadcast to {_text(shape)}")
    return shape


def _permute(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    order = tuple(attributes["permutation"])
    if sorted(order) != list(range(len(shapes[0]))):
        raise ValueError(f"{order} is no permutation of {len(shapes[0])} dimensions")
    return tuple(shapes[0][dim] for dim in order)


def _reduce(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    dims, shape = tuple(attributes["dim_arg"]), shapes[0]
    if len(set(dims)) != len(dims) or any(not 0 <= dim < len(shape) for dim in dims):
        raise ValueError(f"{dims} are not dimensions of {_text(shape)}")
    if attributes["keep_dim"]:
        return tuple(1 if dim in dims else size for dim, size in enumerate(shape))
    return tuple(size for dim, size in enumerate(shape) if dim not in dims)


def _concat(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    dim, first = attributes["dim"], shapes[0]
    if not 0 <= dim < len(first):
        raise ValueError(f"{_text(first)} has no dimension {dim}")
    others = {shape[:dim] + shape[dim + 1 :] if dim < len(shape) else None for shape in shapes}
    if len(others) != 1 or {len(shape) for shape in shapes} != {len(first)}:
        raise ValueError(f"tensors that differ in more than dimension {dim}")
    return (*first[:dim], sum(shape[dim] for shape in shapes), *first[dim + 1 :])


def _slice(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    lists = [tuple(attributes[name]) for name in ("begins", "ends", "step")]
    if any(len(values) != len(shapes[0]) for values in lists):
        raise ValueError(f"a slice of {_text(shapes[0])} needs as many begins, ends and steps")
    sizes = []
    for begin, end, step, size in zip(*lists, shapes[0], strict=True):
        if not (0 <= begin <= end <= size and step > 0):
            raise ValueError(f"{begin}:{end}:{step} is no slice of {size} elements")
        sizes.append(-(-(end - begin) // step))
    return tuple(sizes)


def _embedding(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    indices, weight = shapes
    if len(weight) != 2:
        raise ValueError(f"{_text(weight)} has no rows and columns")
    return (*indices, weight[1])


def _arange(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    shape, dim = _sizes(attributes["shape"]), attributes["dim"]
    if not 0 <= dim < len(shape):
        raise ValueError(f"{_text(shape)} has no dimension {dim}")
    return shape


def _given(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    return _sizes(attributes["shape"])


def _sizes(given: Sequence[int]) -> Shape:
    if any(size < 0 for size in given):
        raise ValueError(f"{tuple(given)} is no shape")
    return tuple(given)


def _text(shape: Shape) -> str:
    return "x".join(map(str, shape)) or "a scalar"


# The table ----------------------------------------------------------------------------------------

UNARY = (
    "abs", "neg", "exp", "expm1", "log", "log1p", "tanh", "sigmoid", "rsqrt", "sqrt", "sin", "cos",
    "tan", "floor", "ceil", "round", "sign", "erf", "erfc", "logical_not",
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh",
)  # fmt: skip
BINARY = (
    "add", "subtract", "multiply", "divide", "maximum", "minimum", "pow", "fmod", "logical_and",
    "logical_or", "logical_xor", "eq", "ne", "gt", "ge", "lt", "le",
)  # fmt: skip
REDUCTIONS = ("sum", "max", "min", "prod")
_TTIR_NAMES = {"divide": "div", "fmod": "remainder", "expand": "broadcast"}
_REDUCTION_ATTRIBUTES = (("dim_arg", "ints"), ("keep_dim", "bool"))


def _op(name: str, operands: int | None, shape: ShapeRule, *attributes: tuple[str, str]) -> GraphOp:
    return GraphOp(name, _TTIR_NAMES.get(name, name), operands, shape, attributes)


GRAPH_OPS: dict[str, GraphOp] = {
    op.name: op
    for op in (
        *(_op(name, 1, _broadcast) for name in UNARY),
        *(_op(name, 2, _broadcast) for name in BINARY),
        *(_op(name, 1, _reduce, *_REDUCTION_ATTRIBUTES) for name in REDUCTIONS),
        _op("where", 3, _broadcast),
        _op("matmul", 2, _matmul),
        _op("reshape", 1, _reshape, ("shape", "ints")),
        _op("expand", 1, _expand, ("shape", "ints")),
        _op("permute", 1, _permute, ("permutation", "ints")),
        _op("concat", None, _concat, ("dim", "int")),
        _op("slice", 1, _slice, ("begins", "ints"), ("ends", "ints"), ("step", "ints")),
        _op("embedding", 2, _embedding),
        _op("typecast", 1, _broadcast),
        _op("assign", 1, _broadcast),
        _op("to_layout", 1, _broadcast),
        _op("full", 0, _given, ("shape", "ints"), ("fill_value", "float")),
        _op("arange", 0, _arange, ("shape", "ints"), ("dim", "int")),
        _op("empty", 0, _given, ("shape", "ints")),
    )
}
