"""How many phases the products of a kernel get: the fewest in which nothing is lost."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ttl.semantics.block_float import quantise
from ttl.semantics.dtypes import (
    DType,
    bfloat4_b,
    bfloat8_b,
    bfloat16,
    float16,
    float32,
    to_tf32,
)
from ttl.semantics.kernel_config import Product, math_fidelity

PHASES = {"LoFi": 1, "HiFi2": 2, "HiFi3": 3, "HiFi4": 4}


@pytest.mark.parametrize(
    ("is_matmul", "left", "right", "result", "wanted"),
    [
        (True, bfloat16, bfloat16, bfloat16, "HiFi3"),
        (True, bfloat16, bfloat16, bfloat8_b, "HiFi3"),
        (True, bfloat16, bfloat16, float32, "HiFi4"),
        (True, bfloat16, bfloat8_b, bfloat16, "HiFi3"),
        (True, float32, bfloat16, bfloat16, "HiFi4"),
        (True, float16, float16, float16, "HiFi4"),
        (False, bfloat16, bfloat16, bfloat16, "HiFi4"),
        (False, bfloat8_b, bfloat8_b, bfloat16, "HiFi2"),
        (True, bfloat8_b, bfloat4_b, float32, "HiFi2"),
        (True, bfloat4_b, bfloat4_b, bfloat4_b, "LoFi"),
    ],
)
def test_formats_decide(
    is_matmul: bool, left: DType, right: DType, result: DType, wanted: str
) -> None:
    assert math_fidelity([Product(is_matmul, (left, right))], [result]) == wanted


def test_all_products_of_a_kernel_count() -> None:
    narrow = Product(True, (bfloat4_b, bfloat4_b))
    matmul = Product(True, (bfloat16, bfloat16))
    elements = Product(False, (bfloat16, bfloat16))
    assert math_fidelity([narrow, matmul], [bfloat16]) == "HiFi3"
    assert math_fidelity([matmul, elements], [bfloat16]) == "HiFi4"
    assert math_fidelity([], [bfloat16]) == "HiFi4"


def by_phases(a: np.ndarray, b: np.ndarray, phases: int) -> np.ndarray:
    """Digits as the documentation of the chip gives them, each phase by itself."""
    first_a, first_b = to_tf32(a, 4).astype(np.float64), to_tf32(b, 6).astype(np.float64)
    rest_a, rest_b = to_tf32(a, 9) - first_a, to_tf32(b) - first_b
    parts = [first_a * first_b, rest_a * first_b, first_a * rest_b, rest_a * rest_b]
    return sum(parts[:phases])  # type: ignore[return-value]


def numbers_of(dtype: DType) -> np.ndarray:
    random = np.random.default_rng(1).uniform(-4, 4, 4096).astype(np.float32)
    if dtype.is_block_float:
        return np.asarray(quantise(random, dtype.mantissa_bits))
    return random.astype(dtype.storage).astype(np.float32)


@pytest.mark.parametrize(("left", "right"), [*product((bfloat16, bfloat8_b, bfloat4_b), repeat=2)])
def test_what_is_chosen_loses_nothing_that_counts(left: DType, right: DType) -> None:
    a, b = numbers_of(left), numbers_of(right)[::-1].copy()
    chosen = math_fidelity([Product(True, (left, right))], [bfloat16])
    exact = a.astype(np.float64) * b
    lost = np.abs(by_phases(a, b, PHASES[chosen]) - exact)
    allowed = 2.0**-11 if chosen == "HiFi3" else 0.0
    assert (lost <= allowed * np.abs(exact)).all()
    if left is right and chosen != "LoFi":  # of two, the rule does not ask which is in source A
        assert (by_phases(a, b, PHASES[chosen] - 1) != exact).any()
