"""Numbers of numpy in kernels are the Python numbers of the same value.

A chip knows integers of 32 bits and floats, not those of numpy: np.int8(100) + 100 is 200 in a
kernel, wherever it runs, and not -56.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

NUMBERS = (np.generic, np.ndarray)


def python_number(value: Any) -> Any:
    """A number of numpy, or an array without dimensions, as Python's; also in a tuple."""
    if isinstance(value, NUMBERS):
        return value if value.ndim else value.item()
    if type(value) is tuple and any(isinstance(each, (*NUMBERS, tuple)) for each in value):
        return tuple([python_number(each) for each in value])
    return value


def own_sum(function: Callable[..., object]) -> Callable[..., Any]:
    """What is called in the place of a function that may be Python's sum()."""
    return sum_of_numbers if function is sum else function


def sum_of_numbers(values: Iterable[Any], /, start: object = 0) -> Any:
    """Python's sum(), of numbers of numpy as of Python's."""
    for value in values:
        start = start + python_number(value)
    return start
