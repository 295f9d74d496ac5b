"""Of arrays what Python's functions are of numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ttl.semantics.ops.error_function import PART, erf, erfc

SAMPLES = np.concatenate(
    [
        np.linspace(-12, 12, 4001),
        10.0 ** np.linspace(-45, 1.4, 2000),
        [0.0, -0.0, np.inf, -np.inf, 6.0, -6.0, 25.9, 40.0],
    ]
).astype(np.float32)


@pytest.mark.parametrize(("found", "wanted"), [(erf, math.erf), (erfc, math.erfc)])
def test_values_are_those_of_python_to_all_digits_of_f32(found, wanted) -> None:
    doubles = SAMPLES.astype(np.float64)
    right = np.array([wanted(float(each)) for each in doubles])
    np.testing.assert_allclose(found(doubles), right, rtol=1e-13, atol=1e-290)  # of x * x
    assert (found(doubles).astype(np.float32) == right.astype(np.float32)).all()


@pytest.mark.parametrize("function", [erf, erfc])
def test_shapes_and_what_is_no_number(function) -> None:
    many = np.linspace(-3, 3, 2 * PART + 6).reshape(2, -1)
    assert function(many).shape == many.shape
    assert (function(many).ravel() == function(many.ravel())).all()
    assert function(0.5).shape == () and function(np.zeros((0, 3))).shape == (0, 3)
    assert np.isnan(function([np.nan, 1.0])).tolist() == [True, False]
    assert np.signbit(erf(-0.0))
