"""Functions that may meet numbers of numpy.

The compiler evaluates kernels itself: each expression of a number of numpy gives Python's number.
On the simulator Python runs them, with such numbers converted: python_numbers.py.

rule SEEN   numbers and arrays of numpy among what the names around a kernel and its helpers stand
            for, and in containers and fields there; numpy itself; objects that compute attributes
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import cached_property, partial
from types import FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from ttl.diagnostics.frames import is_user_file

from .functions import environment, reachable_functions

COMPUTED = (property, cached_property)
PLAIN = (bool, int, float, complex, str, bytes, type(None), range, slice)
NUMPY = (np.generic, np.ndarray, np.ufunc)
MOST_ITEMS, DEEPEST = 256, 8


def may_meet_numpy(functions: Iterable[Callable[[], None]]) -> bool:  # rule SEEN
    """Of kernels: they themselves, or what they call."""
    return any(
        has_numpy(value)
        for kernel in functions
        for function in reachable_functions(kernel)
        for value in _values_around(function)
    )


def _values_around(function: FunctionType) -> Iterator[Any]:
    yield from (value for _, value in environment(function))
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()


def has_numpy(value: Any, depth: int = 0) -> bool:
    """Is it something of numpy's, or has it such in it?"""
    kind = type(value)
    if kind in PLAIN:
        return False
    if isinstance(value, NUMPY) or (isinstance(value, type) and issubclass(value, np.generic)):
        return True
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0] == "numpy"
    if isinstance(value, (tuple, list, set, frozenset, dict)):
        items = [*value, *value.values()] if isinstance(value, dict) else value
        return _is_any(items, depth)
    if isinstance(value, type):
        return is_users(value) and _is_any([*_class_values(value)], depth)
    return not isinstance(value, FunctionType) and _object_has_numpy(value, depth)


def _is_any(items: Any, depth: int) -> bool:
    if len(items) > MOST_ITEMS or depth > DEEPEST:  # who knows
        return True
    return any(has_numpy(item, depth + 1) for item in items)


def _object_has_numpy(value: Any, depth: int) -> bool:
    """In the fields of an object of a class of the user's, or computed by it."""
    if isinstance(value, partial):
        return _is_any([value.args, value.keywords], depth)
    if isinstance(value, MethodType):
        return has_numpy(value.__self__, depth + 1)
    if isinstance(value, Enum):
        return has_numpy(value.value, depth + 1)
    kind = type(value)
    if not is_users(kind):
        return False
    members = [each for base in kind.__mro__ for each in vars(base).values()]
    computes = hasattr(kind, "__getattr__") or any(isinstance(each, COMPUTED) for each in members)
    return computes or _is_any([*_fields(value), *_class_values(kind)], depth)


def _class_values(kind: type) -> Iterator[Any]:
    """What the attributes of a class are, of an enum the values of its members."""
    for base in kind.__mro__:
        for each in vars(base).values() if base.__module__ != "builtins" else ():
            if isinstance(each, Enum):
                yield each.value
            elif isinstance(each, (*NUMPY, tuple, list, dict)):
                yield each


def is_users(kind: type) -> bool:
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return kind is SimpleNamespace or file is None or is_user_file(file)


def _fields(value: Any) -> Iterator[Any]:
    yield from getattr(value, "__dict__", {}).values()
    for base in type(value).__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            yield getattr(value, name, None)
