"""What the calls of kernels look up each time, by the native module that wheels have, or in Python.

docs/decisions/0009 tells why.
"""

from __future__ import annotations

from importlib import import_module
from sys import _getframe, getrefcount
from types import CodeType
from typing import Any, Final, TypeVar

from .current_engine import IS_COMPILED
from .types import Shape

Function = TypeVar("Function")

try:
    _native: Any = import_module("._kernel_calls", __package__)
except ImportError:
    _native = None


def _place_at(depth: int) -> tuple[CodeType, int]:
    frame = _getframe(depth + 1)  # this function, which is never compiled, has a frame too
    return frame.f_code, frame.f_lasti


def _left_alone(function: Any, *other: Any) -> Any:
    return function


def _tile_bounds(items: Any, rows: int, columns: int) -> tuple[Shape, Shape] | None:
    if type(items) is not tuple or len(items) != 2:
        return None
    row, column = items
    bounds: Any
    if type(row) is int is type(column):
        bounds = row, row + 1, column, column + 1
    elif type(row) is slice is type(column) and row.step is None is column.step:
        bounds = row.start, row.stop, column.start, column.stop
    else:
        return None
    top, bottom, left, right = bounds
    is_plain = type(top) is int is type(bottom) and type(left) is int is type(right)
    if is_plain and 0 <= top < bottom <= rows and 0 <= left < right <= columns:
        return (top, left), (bottom - top, right - left)
    return None


def _references(items: list[Any], index: int) -> int:
    return getrefcount(items[index])


# The code and the offset in it where the frame of sys._getframe(depth) is.
place_at: Final[Any] = getattr(_native, "place_at", _place_at)
# Functions of the language call methods of an engine. Compiled ones have no frames; then
# - calls_engine() decorates such a function,
# - place_of_call(depth) is the place of its call, in the method,
# - shorten(function, engine, method) has its calls go to the method, without a frame. The function
#   tells what that does, and does it for unusual arguments.
_compiled: Final = _native if IS_COMPILED else None
_note_caller: Final[Any] = getattr(_compiled, "calls_engine", _left_alone)
place_of_call: Final[Any] = getattr(_compiled, "place_of_call", place_at)
shorten: Final[Any] = getattr(_compiled, "shorten", _left_alone)
# Starts and sizes of a matrix[items] that has so many rows and columns of tiles; None unless these
# are two plain slices, or two indices, inside of it.
tile_bounds: Final[Any] = getattr(_native, "tile_bounds", _tile_bounds)
# How many references there are to an item of a list.
references: Final[Any] = getattr(_native, "references", _references)


def calls_engine(function: Function) -> Function:
    """A function that calls methods of an engine in the place of its own caller."""
    _note_caller(function)
    return function
