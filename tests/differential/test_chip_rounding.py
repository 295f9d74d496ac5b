"""`TTL_ROUNDING=chip`: simulator and executor agree bit for bit on + - * copies, packs and products
of small integers, with ties among the results, and differ there from the language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from differential.compute_programs import ComputeProgram, stores
from differential.test_special_values import assert_same
from ttl import ttnn

ARITHMETIC = [
    "a_blk + b_blk",
    "a_blk - b_blk",
    "a_blk * b_blk",
    "b_blk",
    "(a_blk + b_blk) * (b_blk - a_blk)",
    "a_blk * 0.3",
    "0.7 - b_blk",
    "ttl.math.rsub(a_blk, b_blk)",
    "ttl.math.leaky_relu(a_blk, 0.3)",
    "a_blk * ttl.math.broadcast(b_blk, dims=[-1])",
]


@dataclass(frozen=True)
class Numbers(ComputeProgram):
    """Few digits, so that there are ties, or small integers."""

    whole: bool = False

    def arrays(self) -> list[np.ndarray]:
        generator = np.random.default_rng(5)
        return [self.made(generator) for _ in range(3)]

    def made(self, generator: np.random.Generator) -> np.ndarray:
        side = (32, 32)
        if self.whole:
            return generator.integers(-2, 3, side).astype(np.float32)
        digits = 2**12 if self.dtype == ttnn.float32 else 2**8
        powers = 2.0 ** generator.integers(-6, 6, side)
        return (generator.integers(-digits, digits, side) * powers).astype(np.float32)


@pytest.fixture(autouse=True)
def rounds_like_chip(cuts_sources: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTL_ROUNDING", "chip")


def check(program: Numbers, texts: list[str]) -> None:
    for text, (simulated, compiled) in zip(texts, program.both(), strict=True):
        assert_same(simulated, compiled, text)


def of(texts: list[str], dtype: Any = ttnn.bfloat16, **given: Any) -> Numbers:
    return Numbers(stores(texts), count=len(texts), dtype=dtype, **given)


@pytest.mark.parametrize("options", ["", ", math_fidelity='HiFi2'"])
def test_arithmetic_in_16_bits(options: str) -> None:
    check(of(ARITHMETIC, options=options), ARITHMETIC)


@pytest.mark.full
@pytest.mark.parametrize("fidelity", ["LoFi", "HiFi3"])
@pytest.mark.parametrize("dest", ["", ", fp32_dest_acc_en=True"])
def test_all_phases(fidelity: str, dest: str) -> None:
    # In 32-bit registers products with a broadcast are not promised: docs/reference/operators.md.
    texts = ARITHMETIC[:3] + ([] if dest else ARITHMETIC[-1:])
    check(of(texts, options=f", math_fidelity='{fidelity}'{dest}"), texts)


def test_f32_is_packed_with_ties_away_from_zero() -> None:
    texts = ARITHMETIC[:4]
    check(of(texts, ttnn.float32, out_dtype=ttnn.bfloat16), texts)


@pytest.mark.parametrize("dtype", [ttnn.bfloat16, ttnn.float32], ids=str)
def test_products_of_small_integers(dtype: object) -> None:
    texts = ["a_blk @ w_blk", "a_blk @ w_blk + b_blk"]
    program = Numbers(stores(texts, uses_w=True), count=2, dtype=dtype, whole=True)
    check(program, texts)
    a, b, w = program.inputs()
    for found, wanted in zip(program.run("sim"), (a @ w, a @ w + b), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("text", ["a_blk + b_blk", "b_blk * a_blk"])
def test_it_is_not_what_the_language_does(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    [on_chip] = of([text]).run("host")
    monkeypatch.setenv("TTL_ROUNDING", "language")
    [in_language] = of([text]).run("host")
    assert (on_chip != in_language).any()
    away = np.abs(on_chip) > np.abs(in_language)
    assert away[on_chip != in_language].mean() > 0.5
