"""Kernels treat numpy numbers as Python numbers of the same value.

A chip has 32-bit integers and floats but not numpy's types: np.int8(100) + 100 is 200 in a kernel
on any engine, not -56.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

NUMBERS = (np.generic, np.ndarray)


def python_number(value: Any) -> Any:
    """Convert a numpy number, or an array without dimensions, to Python's; also inside tuples."""
    if isinstance(value, NUMBERS):
        return value if value.ndim else value.item()
    if type(value) is tuple and any(isinstance(each, (*NUMBERS, tuple)) for each in value):
        return tuple([python_number(each) for each in value])
    return value


def replace_sum(function: Callable[..., object]) -> Callable[..., Any]:
    """Return sum_of_numbers for Python's sum(), and any other function unchanged."""
    return sum_of_numbers if function is sum else function


def sum_of_numbers(values: Iterable[Any], /, start: object = 0) -> Any:
    """Add values as Python's sum() does, treating numpy numbers as Python's."""
    for value in values:
        start = start + python_number(value)
    return start
