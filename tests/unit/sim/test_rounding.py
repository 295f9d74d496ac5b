"""What `--rounding` changes: f32 is cut off in the matrix unit, or all is as the chip rounds."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ttl
from block_runs import run
from ttl import host, ttnn
from ttl.semantics.dtypes import to_tf32
from ttl.semantics.ops import BLOCK_OPS
from ttl.semantics.rounding import LANGUAGE, TF32, Rounding, chip_rounding

RUNTIME = Path(host.__file__).parent / "runtime"
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


# As the chip rounds -------------------------------------------------------------------------------

CHIP, TIE = chip_rounding("HiFi4"), 1 + 2.0**-8  # half between two bfloat16
AWAY, CUT = 1 + 2.0**-7, 1.0
# One number, and what it becomes in 16-bit registers: in the language, on the chip.
NARROW: dict[str, tuple[Callable[..., Any], float, float, float]] = {
    "matrix unit": (lambda x: x + 2.0**-8, 1.0, 1.0, AWAY),
    "matrix unit, odd": (lambda x: x + 2.0**-8, AWAY, AWAY + 2.0**-7, AWAY + 2.0**-7),
    "negative": (lambda x: x - 2.0**-8, -1.0, -1.0, -AWAY),
    "vector unit": (lambda x: ttl.math.neg(x) + ttl.math.fill(2.0**-8), -1.0, 1.0, 1.0),
    "cut off": (lambda x: ttl.math.leaky_relu(x, -0.75), -AWAY, 0.7578125, 0.75390625),
    "rounded": (lambda x: ttl.math.square(x), AWAY, 1.015625, 1.015625),
}


@pytest.mark.parametrize("name", NARROW)
def test_16_bit_registers(name: str) -> None:
    expression, number, in_language, on_chip = NARROW[name]
    x = np.full((32, 32), number, np.float32)
    given = {"dtype": ttnn.bfloat16, "fp32": False}
    assert run(expression, x, **given)[0, 0] == in_language
    assert run(expression, x, **given, rounding=CHIP)[0, 0] == on_chip


@pytest.mark.parametrize("expression", [lambda x: x, lambda x: ttl.math.typecast(x, ttnn.bfloat16)])
def test_the_packer(expression: Callable[..., Any]) -> None:
    x = np.full((32, 32), TIE, np.float32)
    assert run(expression, x, out_dtype=ttnn.bfloat16)[0, 0] == 1.0
    assert run(expression, x, out_dtype=ttnn.bfloat16, rounding=CHIP)[0, 0] == AWAY


def test_phases_of_a_product_round_one_by_one() -> None:
    """The product is 2 and a bit; the digits that come later round up what was rounded up."""
    a, b = 1 + 2.0**-7, 2 - 2.0**-7
    assert run_pair(a, b, LANGUAGE) == 2.0
    assert run_pair(a, b, CHIP) == 2 + 2.0**-6
    assert run_pair(a, b, chip_rounding("LoFi")) == 2 - 2.0**-6


def run_pair(a: float, b: float, rounding: Rounding) -> float:
    blocks = [np.full((32, 32), number, np.float32) for number in (a, b)]
    return float(
        run(lambda x, y: x * y, *blocks, dtype=ttnn.bfloat16, fp32=False, rounding=rounding)[0, 0]
    )


def test_what_is_cut_off_is_what_the_calls_cut_off() -> None:
    """The column of the op table, and the rows of the runtime."""
    rows = "".join(file.read_text() for file in RUNTIME.glob("vector_*.cpp"))
    cut = set(re.findall(r"OF_\w+\((?:[A-Z_]+\()?(\w+)\)?, [\w()]+,\s*Cut", rows))
    cut |= set(re.findall(r'\{"(\w+)", "\w*", Store::Cut', rows))
    for op in BLOCK_OPS.values():
        for forms in op.tile.values():
            if forms.in_dst is not None and op.bound is not None:
                assert (forms.in_dst.call.split("<")[0] in cut) is op.is_cut_off, op.name
    assert sum(op.is_cut_off for op in BLOCK_OPS.values()) > 5
