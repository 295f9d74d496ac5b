"""Find functions that may handle numpy numbers.

The compiler evaluates kernels itself and turns a numpy number into Python's in each expression.
On the simulator Python runs them, with such numbers converted: python_numbers.py.

rule SEEN   looks for numpy numbers and arrays in the values of names around a kernel and its
            helpers, in containers and fields there; also numpy itself and computed attributes
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from enum import Enum
from functools import cached_property, partial
from types import FunctionType, MethodType, ModuleType, SimpleNamespace

import numpy as np

from ttl.diagnostics.frames import is_user_file

from .functions import environment, fields_of, reachable_functions

COMPUTED = (property, cached_property)
PLAIN = (bool, int, float, complex, str, bytes, type(None), range, slice)
NUMPY = (np.generic, np.ndarray, np.ufunc)
MOST_ITEMS, DEEPEST = 256, 8


def may_meet_numpy(functions: Iterable[Callable[[], None]]) -> bool:  # rule SEEN
    """May the kernels, or their helpers, handle a numpy number?"""
    return any(
        has_numpy(value)
        for kernel in functions
        for function in reachable_functions(kernel)
        for value in (
            *(each for _, each in environment(function)),
            *(function.__defaults__ or ()),
            *(function.__kwdefaults__ or {}).values(),
        )
    )


def has_numpy(value: object, depth: int = 0) -> bool:
    """Is it an object of numpy, or does it contain one?"""
    kind = type(value)
    if kind in PLAIN:
        return False
    if isinstance(value, NUMPY) or (isinstance(value, type) and issubclass(value, np.generic)):
        return True
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0] == "numpy"
    if isinstance(value, FunctionType):
        return False
    parts = _parts(value)
    if parts is None or len(parts) > MOST_ITEMS or depth > DEEPEST:  # cannot tell
        return True
    return any(has_numpy(part, depth + 1) for part in parts)


def _parts(value: object) -> Collection[object] | None:
    """List the parts of a value, for a user's object its fields; None if it computes some."""
    if isinstance(value, dict):
        return [*value, *value.values()]
    if isinstance(value, (tuple, list, set, frozenset)):
        return value
    if isinstance(value, partial):
        return [value.args, value.keywords]
    if isinstance(value, (MethodType, Enum)):
        return [value.__self__ if isinstance(value, MethodType) else value.value]
    kind = value if isinstance(value, type) else type(value)
    if not is_users(kind):
        return []
    if isinstance(value, type):
        return [*_class_values(value)]
    members = [each for base in kind.__mro__ for each in vars(base).values()]
    if hasattr(kind, "__getattr__") or any(isinstance(each, COMPUTED) for each in members):
        return None
    return [*fields_of(value), *_class_values(kind)]


def _class_values(kind: type) -> Iterator[object]:
    """Yield the attributes of a class; for an enum, the values of its members."""
    for base in kind.__mro__:
        for each in vars(base).values() if base.__module__ != "builtins" else ():
            if isinstance(each, Enum):
                yield each.value
            elif isinstance(each, (*NUMPY, tuple, list, dict)):
                yield each


def is_users(kind: type) -> bool:
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return kind is SimpleNamespace or file is None or is_user_file(file)
