"""Unified bodies as sequential Python, on arrays of numpy: what they mean, written without `ttl`.

A program's text is executed with this module in place of `ttl`: a statement happens when it is
reached, and one node comes after the other. Numbers are small integers, so that nothing is rounded.
"""

from __future__ import annotations

import builtins
import operator
from collections import deque
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

TILE = 32
Array = np.ndarray[Any, Any]


class Value:
    """A block expression."""

    def __init__(self, array: Array):
        self.array = array

    def __add__(self, other: Any) -> Value:
        return _apply(operator.add, self, other)

    def __sub__(self, other: Any) -> Value:
        return _apply(operator.sub, self, other)

    def __mul__(self, other: Any) -> Value:
        return _apply(operator.mul, self, other)

    def __matmul__(self, other: Any) -> Value:
        return _apply(operator.matmul, self, other)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other: Any) -> Value:
        return Value(other - self.array)


def _apply(function: Callable[..., Any], *operands: Any) -> Value:
    return Value(function(*(each.array if isinstance(each, Value) else each for each in operands)))


class Block(Value):
    def __init__(self, array: Array, release: Callable[[Block], None]):
        super().__init__(array)
        self.release = release
        self.is_stored = False

    def __enter__(self) -> Block:
        return self

    def __exit__(self, *error: object) -> None:
        self.release(self)

    def push(self) -> None:
        self.release(self)

    pop = push

    def store(self, value: Value) -> None:
        self.array = np.broadcast_to(value.array, self.array.shape).copy()
        self.is_stored = True

    def __iadd__(self, value: Value) -> Block:  # type: ignore[misc]
        self.store(_apply(operator.add, self, value) if self.is_stored else value)
        return self


class Buffer:
    """A queue without end."""

    def __init__(self, like: Tensor, shape: tuple[int, int], block_count: int = 2):
        self.shape = tuple(size * TILE for size in shape)
        self.blocks: deque[Array] = deque()

    def reserve(self) -> Block:
        return Block(np.zeros(self.shape), lambda block: self.blocks.append(block.array))

    def wait(self) -> Block:
        return Block(self.blocks[0], lambda block: self._pop())

    def _pop(self) -> None:
        self.blocks.popleft()


class Tensor:
    def __init__(self, array: Array):
        self.array = array
        self.shape = array.shape

    def __getitem__(self, items: tuple[Any, ...]) -> Array:
        """A view."""
        return self.array[tuple(map(_elements, items))]


def _elements(item: Any) -> slice:
    first, last = (item.start, item.stop) if isinstance(item, slice) else (item, item + 1)
    return slice(first * TILE, last * TILE)


def _copy(source: Any, target: Any) -> SimpleNamespace:
    array = source.array if isinstance(source, Value) else source
    if isinstance(target, Block):
        target.array = array.copy()
    else:
        target[...] = array
    return SimpleNamespace(wait=lambda: None)


def _reduce(function: Callable[..., Array], value: Value, dims: list[int]) -> Value:
    """The results are in the first column, row or element of the tiles that are left."""
    axes = tuple(dims)
    found = function(value.array, axis=axes, keepdims=True)
    return Value(np.pad(found, [(0, TILE - 1 if size == 1 else 0) for size in found.shape]))


def _broadcast(value: Value, dims: list[int], shape: tuple[int, int]) -> Value:
    kept = tuple(slice(0, 1) if axis in dims else slice(None) for axis in range(2))
    return Value(np.broadcast_to(value.array[kept], [size * TILE for size in shape]))


MATH = SimpleNamespace(
    abs=lambda x: _apply(np.abs, x),
    neg=lambda x: _apply(np.negative, x),
    relu=lambda x: Value(np.maximum(x.array, 0)),
    square=lambda x: _apply(np.square, x),
    max=lambda x, y: _apply(np.maximum, x, y),
    min=lambda x, y: _apply(np.minimum, x, y),
    clamp=lambda x, low, high: Value(np.clip(x.array, low, high)),
    transpose=lambda x: _apply(np.transpose, x),
    where=lambda c, x, y: Value(np.where(c.array != 0, x.array, y.array)),
    fill=lambda value, shape: Value(np.full([size * TILE for size in shape], float(value))),
    reduce_sum=lambda x, dims: _reduce(np.sum, x, dims),
    reduce_max=lambda x, dims: _reduce(np.max, x, dims),
    broadcast=_broadcast,
)


def run(text: str, arrays: list[Array]) -> None:
    """Changes the arrays as the operation of a text changes its tensors."""
    known = __import__
    here = {"node": 0}
    made = ModuleType("ttl")
    grids: list[int] = []

    def declare(grid: tuple[int, int]) -> Callable[[Any], Any]:
        grids.append(grid[0])
        return lambda body: body

    vars(made).update(
        math=MATH,
        copy=_copy,
        make_dataflow_buffer_like=Buffer,
        operation=declare,
        node=lambda dims: here["node"],
        raw_element_read=lambda block, *place: block.array[place],
    )

    def other_import(name: str, *rest: Any) -> Any:
        return made if name == "ttl" else known(name, *rest)

    names: dict[str, Any] = {"__name__": "reference"}
    names["__builtins__"] = vars(builtins) | {"__import__": other_import}
    exec(compile(text, "<reference>", "exec"), names)
    for here["node"] in range(grids[0]):
        names["operation"](*map(Tensor, arrays))
