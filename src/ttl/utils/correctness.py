"""Assertions about results, for tensors of torch and of ttnn, and arrays."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ttl.arrays import to_numpy
from ttl.semantics.dtypes import Array, find_dtype

Doubles = NDArray[np.float64]


def assert_pcc(golden: object, actual: object, threshold: float = 0.9999) -> None:
    """Raise AssertionError if Pearson's correlation of the elements is below `threshold`."""
    expected, found = (_values(each).astype(np.float64).ravel() for each in (golden, actual))
    if np.array_equal(expected, found):  # two equal constants have no correlation
        return
    pcc = np.corrcoef(expected, found)[0, 1]
    assert pcc >= threshold, f"the correlation is {pcc}, less than {threshold}"


def assert_allclose(
    actual: object, expected: object, rtol: float = 1e-5, atol: float = 1e-8, verbose: bool = True
) -> None:
    """Raise AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere."""
    found, wanted = (_values(each).astype(np.float64) for each in (actual, expected))
    assert found.shape == wanted.shape, f"the shapes are {found.shape} and {wanted.shape}"
    is_wrong = ~np.isclose(found, wanted, rtol=rtol, atol=atol)
    if not is_wrong.any():
        return
    text = f"{is_wrong.sum()} of {is_wrong.size} elements differ by more than rtol={rtol}, "
    text += f"atol={atol}"
    raise AssertionError(f"{text}\n{_worst(found, wanted)}" if verbose else text)


def _worst(found: Doubles, wanted: Doubles) -> str:
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.nan_to_num(np.abs(found - wanted), nan=np.inf)
    place = np.unravel_index(int(error.argmax()), error.shape)
    where = tuple(int(each) for each in place)
    return f"the worst is at {where}: {found[place]}, and {wanted[place]} was expected"


def assert_with_ulp(
    expected_result: object,
    actual_result: object,
    ulp_threshold: float = 10,
    allow_nonfinite: bool = False,
) -> None:
    """Raise AssertionError if an element is off by more than `ulp_threshold` units (ulp).

    A unit is the actual element type's, at the expected value. Infinities and NaNs are errors; with
    `allow_nonfinite` they must be equal.
    """
    passed, text = comp_ulp(expected_result, actual_result, ulp_threshold, allow_nonfinite)
    assert passed, text


def comp_ulp(
    golden: object, calculated: object, ulp_threshold: float, allow_nonfinite: bool = True
) -> tuple[bool, str]:
    """Return whether it is within `ulp_threshold` units, and a text with the largest distance."""
    expected, found = _values(golden), _values(calculated)
    if expected.shape != found.shape:
        return False, f"the shapes are {expected.shape} and {found.shape}"
    wanted, given = (each.astype(np.float64) for each in (expected, found))
    if not allow_nonfinite and not np.isfinite(given).all():
        return False, "there are infinities or NaNs"
    is_finite = np.isfinite(wanted)
    if not np.array_equal(wanted[~is_finite], given[~is_finite], equal_nan=True):
        return False, "infinities or NaNs are not where they are expected"
    units = np.abs(given[is_finite] - wanted[is_finite])
    units /= ulp(expected[is_finite].astype(found.dtype))
    most = float(units.max(initial=0.0))
    return most <= ulp_threshold, f"at most {most} units in the last place off"


def ulp(x: object) -> Doubles:
    """Return the unit in the last place of each element, in its own type."""
    values: Array = _values(x)
    if values.dtype.kind in "iub":
        return np.ones(values.shape)
    limits: Any = ml_dtypes.finfo(values.dtype)  # type: ignore[no-untyped-call]
    wide = values.astype(np.float64)
    spacing = np.ldexp(1.0, np.frexp(wide)[1] - 1 - limits.nmant)
    return np.maximum(np.where(wide == 0, 0.0, spacing), float(limits.smallest_subnormal))


def _values(x: object) -> Array:
    if find_dtype(x) is not None:
        return to_numpy(x)
    if hasattr(x, "detach"):  # torch's, which cannot convert bfloat16 to numpy
        plain = x.detach().cpu()
        if str(plain.dtype) != "torch.bfloat16":
            return np.asarray(plain)
        return np.asarray(plain.float()).astype(ml_dtypes.bfloat16)
    return _values(x.to_torch()) if hasattr(x, "to_torch") else np.asarray(x)
