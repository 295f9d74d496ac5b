"""What `--rounding` changes: f32 is cut off in the matrix unit, or all is as the chip rounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ttl
from block_runs import run
from ttl.semantics.dtypes import to_tf32
from ttl.semantics.rounding import TF32

FINE, KEPT = 1 + 2.0**-9 + 2.0**-10 + 2.0**-11, 1 + 2.0**-9 + 2.0**-10
IN_A = 1 + 2.0**-9  # of a factor in source A, whose last digit no phase of a product takes
X = np.full((32, 32), FINE, np.float32)
# What is left of the last digit in element (0, 0), in units of what a TF32 holds.
EXPRESSIONS: dict[str, tuple[Callable[..., Any], float, float]] = {
    "product": (lambda x: x @ ttl.math.fill(1.0, shape=(1, 1)), 32 * FINE, 32 * KEPT),
    "right operand": (lambda x: ttl.math.fill(1.0, shape=(1, 1)) @ x, 32 * FINE, 32 * IN_A),
    "sum of rows": (lambda x: ttl.math.reduce_sum(x, dims=[-2]), 32 * FINE, 32 * IN_A),
    "sum": (lambda x: ttl.math.reduce_sum(x, dims=[-1]), 32 * FINE, 32 * KEPT),
    "maximum": (lambda x: ttl.math.reduce_max(x, dims=[-2, -1]), FINE, KEPT),
    "minimum": (lambda x: ttl.math.reduce_min(x, dims=[-2]), FINE, KEPT),
    "mean": (lambda x: ttl.math.reduce_mean(x, dims=[-1]), FINE, KEPT),
    "exact": (lambda x: ttl.math.reduce_max(x, dims=[-1], exact_f32=True), FINE, FINE),
    "vector unit": (lambda x: x * 1.0, FINE, FINE),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_f32_in_the_matrix_unit(name: str) -> None:
    expression, in_language, on_chip = EXPRESSIONS[name]
    assert run(expression, X)[0, 0] == in_language
    assert run(expression, X, rounding=TF32)[0, 0] == on_chip


def test_tf32_has_10_digits_and_cuts_the_rest_off() -> None:
    given = np.array([FINE, -FINE, 1.0, 0.0, np.inf, np.nan, 2.0**-140], np.float32)
    kept = to_tf32(given)
    assert kept[:5].tolist() == [KEPT, -KEPT, 1.0, 0.0, np.inf]
    assert np.isnan(kept[5])
    whole = np.array([2**24 + 1])
    assert to_tf32(whole) is whole
