"""The error function and its complement for whole arrays, in float64: numpy has neither.

The tables hold smooth functions: erf(x) / x, and erfc(x) * exp(x * x) in t = 2 / (2 + x), which is
finite for all x from 0 on. Each is a table of polynomials over short intervals, which interpolate
the values of Python's own function.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

DEGREE = 7
ERF_IS_ONE = 6.0  # from here on, to all digits
ERFC_IS_ZERO = 26.0  # from here on, in all formats


@dataclass(frozen=True, slots=True)
class _Pieces:
    """Polynomials over intervals of one width from `low` on; a row of `table` has one power."""

    low: float
    width: float
    table: Doubles

    def __call__(self, x: Doubles) -> Doubles:
        place = (x - self.low) * (1 / self.width)
        interval = np.minimum(place.astype(np.intp), self.table.shape[1] - 1)
        place = place - interval
        found: Doubles = self.table[0].take(interval)
        for power in self.table[1:]:
            found *= place
            found += power.take(interval)
        return found


def _pieces(function: Callable[[float], float], low: float, high: float, count: int) -> _Pieces:
    width = (high - low) / count
    steps = np.arange(DEGREE + 1)
    nodes = (1 - np.cos(math.pi * (steps + 0.5) / len(steps))) / 2  # Chebyshev nodes in 0..1
    starts = low + width * np.arange(count)
    values = [[function(float(start + width * node)) for start in starts] for node in nodes]
    powers = np.vander(nodes, len(steps))
    return _Pieces(low, width, np.linalg.solve(powers, np.array(values)))


@cache
def _erf_by_x() -> _Pieces:
    slope = 2 / math.sqrt(math.pi)
    return _pieces(lambda x: math.erf(x) / x if x else slope, 0.0, ERF_IS_ONE, 64)


@cache
def _scaled_erfc() -> _Pieces:
    def scaled(t: float) -> float:
        x = 2 / t - 2
        return math.erfc(x) * math.exp(x * x)

    return _pieces(scaled, 2 / (2 + ERFC_IS_ZERO), 1.0, 64)


def erf(x: object) -> Doubles:
    return _by_parts(_erf, x)


def erfc(x: object) -> Doubles:
    return _by_parts(_erfc, x)


PART = 1 << 13  # elements whose intermediate arrays fit the processor's cache


def _by_parts(function: Callable[[Doubles], Doubles], x: object) -> Doubles:
    values = np.asarray(x, np.float64)
    flat = values.reshape(-1)
    found = np.empty_like(flat)
    for start in range(0, len(flat), PART):
        found[start : start + PART] = function(flat[start : start + PART])
    return found.reshape(values.shape)


def _erf(values: Doubles) -> Doubles:
    size = np.fmin(np.abs(values), ERF_IS_ONE)  # finite even for NaN: the product is NaN again
    found: Doubles = values * _erf_by_x()(size)
    return np.where(size < ERF_IS_ONE, found, np.sign(values))


def _erfc(values: Doubles) -> Doubles:
    size = np.fmin(np.abs(values), ERFC_IS_ZERO)
    above = _scaled_erfc()(2 / (2 + size)) * np.exp(-size * size)
    above[size == ERFC_IS_ZERO] = 0
    found: Doubles = np.where(values < 0, 2 - above, above)
    return np.where(np.isnan(values), values, found)
