"""The operators of Python by sign: their evaluation on constants and on run-time numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from xdsl.dialects import arith

from ttl.source.known import OPERATORS


class Operator(NamedTuple):
    """An operator; `of_integers` and `of_floats` are operations of arith or predicates of its
    comparisons, or None if one operation is not enough or makes no sense.
    """

    fold: Callable[..., Any]
    of_integers: Any = None
    of_floats: Any = None

    @property
    def name(self) -> str:
        """Return the name of Python's method, without underscores."""
        return self.fold.__name__.strip("_")


OF_NUMBERS: dict[str, tuple[object, object]] = {
    "+": (arith.AddiOp, arith.AddfOp),
    "-": (arith.SubiOp, arith.SubfOp),
    "*": (arith.MuliOp, arith.MulfOp),
    "/": (None, arith.DivfOp),
    "&": (arith.AndIOp, None),
    "|": (arith.OrIOp, None),
    "^": (arith.XOrIOp, None),
    "<": ("slt", "olt"),
    "<=": ("sle", "ole"),
    ">": ("sgt", "ogt"),
    ">=": ("sge", "oge"),
    "==": ("eq", "oeq"),
    "!=": ("ne", "une"),
}
ALL = {sign: Operator(fold, *OF_NUMBERS.get(sign, ())) for sign, fold in OPERATORS.items()}
COMPARED = ("<", "<=", ">", ">=", "==", "!=", "is", "is not", "in", "not in")
COMPARISONS = {sign: ALL[sign] for sign in COMPARED}
BINARY = {sign: row for sign, row in ALL.items() if sign not in COMPARED}
SIGN_OF = {row.fold: sign for sign, row in ALL.items()}
