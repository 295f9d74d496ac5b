"""Rounding modes of a run: the language's, or the chip's with its losses.

Language: to the nearest, ties to even. Compiled kernels also have TF32 in the matrix unit.
Chip (`ttl run --rounding chip`; measured on Tenstorrent's simulators and read in the ISA
documentation, SrcASrcB.md and Packers/FormatConversion.md): the matrix unit and the packer round
ties to bfloat16 away from zero; the vector unit cuts off what it stores to 16-bit registers, unless
the function has rounded it; products take several phases, each of which rounds to such registers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .dtypes import A_DIGITS, TF32_DIGITS, Array, to_tf32
from .kernel_config import FIRST_DIGITS_OF_A, FIRST_DIGITS_OF_B, MATH_FIDELITIES

Product = Callable[[Array, Array], Array]


@dataclass(frozen=True, slots=True)
class Rounding:
    cuts_sources: bool = False  # f32 is TF32 in the matrix unit
    is_chips: bool = False
    phases: int = len(MATH_FIDELITIES)  # of products


LANGUAGE = Rounding()
TF32 = Rounding(cuts_sources=True)


def chip_rounding(fidelity: str) -> Rounding:
    return Rounding(True, True, MATH_FIDELITIES.index(fidelity) + 1)


# Stored digits of the mantissa, which exclude the leading 1.
_FIRST_OF_A, _FIRST_OF_B = FIRST_DIGITS_OF_A - 1, FIRST_DIGITS_OF_B - 1


def factor_in_a(values: Array, phases: int) -> Array:
    """Return the part of a factor in source A that the phases use."""
    return to_tf32(values, _FIRST_OF_A if phases == 1 else A_DIGITS)


def factor_in_b(values: Array, phases: int) -> Array:
    return to_tf32(values, _FIRST_OF_B if phases <= 2 else TF32_DIGITS)


def product_in_phases(product: Product, a: Array, b: Array, phases: int) -> Array:
    """Multiply with `a` in source A; three phases leave out the last digits of both."""
    a, b = factor_in_a(a, phases), factor_in_b(b, phases)
    if phases != 3:
        return product(a, b)
    first_of_b, rest_of_b = _split(b, _FIRST_OF_B)
    return product(a, first_of_b) + product(to_tf32(a, _FIRST_OF_A), rest_of_b)


def multiply_in_phases(
    a: object, b: object, phases: int, rounded: Callable[[Array], Array]
) -> Array:
    """Multiply element by element, rounding each phase's sum; a factor of 0 adds nothing."""
    a, b = factor_in_a(_single(a), phases), factor_in_b(_single(b), phases)
    parts_of_a, parts_of_b = _split(a, _FIRST_OF_A), _split(b, _FIRST_OF_B)
    total: object = np.float32(0)
    for phase in range(phases):
        x, y = parts_of_a[phase & 1], parts_of_b[phase >> 1]
        added = np.where((x == 0) | (y == 0), np.float32(0), x * y)
        total = rounded(total + added)
    return np.asarray(total)


def _single(values: object) -> Array:
    return np.asarray(values, np.float32)


def _split(values: Array, digits: int) -> tuple[Array, Array]:
    """Split mantissas into the first digits and the rest, which is 0 for an infinity."""
    first = to_tf32(values, digits)
    return first, np.where(first == values, np.float32(0), values - first)
