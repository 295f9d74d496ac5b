"""How the chip computes, as far as programs say it."""

from __future__ import annotations

from enum import Enum

__all__ = ["MathFidelity"]


class MathFidelity(Enum):
    """What `math_fidelity=` of an operation takes; results do not depend on it here."""

    LoFi = 0
    HiFi2 = 2
    HiFi3 = 3
    HiFi4 = 4
