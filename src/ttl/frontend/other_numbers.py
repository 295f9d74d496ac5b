"""Numbers that Python has and the chip does not: Decimal, Fraction, complex.

A kernel may read captured ones. What Python makes of them and of a run-time number is known on each
path that knows the number, so that the compiled kernel has the results of the simulated one.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any

from .builder import KernelBuilder
from .hir import Scalar, Value, kind_of
from .in_python import in_python, require_python
from .problems import describe
from .value_ranges import as_constant


def has_other_number(*values: Value) -> bool:
    """Is one of the values such a number, and are all others numbers?"""
    others = [value for value in values if kind_of(value) is None]
    return bool(others) and all(isinstance(value, Number) for value in others)


def with_other_numbers(
    builder: KernelBuilder, sign: str, fold: Callable[..., Any], *values: Value
) -> Any:
    """Let Python calculate, on each path, what the chip cannot."""
    require_python(fold, *values)
    other = next(value for value in values if kind_of(value) is None)
    what = f"`{sign}` of {describe(other)} and a number that only the run knows"
    help_text = "convert it first: float(value) or int(value)"
    known = [
        as_constant(builder, value, what, help_text) if isinstance(value, Scalar) else value
        for value in values
    ]
    return in_python(fold, *known)
