"""The operators of Python, by their signs: what they make of constants, and of run-time integers
and floats."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from xdsl.dialects import arith
from xdsl.ir import Operation

Kind = type[Operation]


class Binary(NamedTuple):
    fold: Callable[[Any, Any], Any]
    of_integers: Kind | None = None  # None: it takes more than one operation, or has no meaning
    of_floats: Kind | None = None


class Comparison(NamedTuple):
    fold: Callable[[Any, Any], bool]
    of_integers: str = ""  # the predicate; "" for what compares no numbers
    of_floats: str = ""


BINARY: dict[str, Binary] = {
    "+": Binary(operator.add, arith.AddiOp, arith.AddfOp),
    "-": Binary(operator.sub, arith.SubiOp, arith.SubfOp),
    "*": Binary(operator.mul, arith.MuliOp, arith.MulfOp),
    "//": Binary(operator.floordiv),
    "%": Binary(operator.mod),
    "/": Binary(operator.truediv, None, arith.DivfOp),
    "**": Binary(operator.pow),
    "@": Binary(operator.matmul),
    "&": Binary(operator.and_, arith.AndIOp),
    "|": Binary(operator.or_, arith.OrIOp),
    "^": Binary(operator.xor, arith.XOrIOp),
    "<<": Binary(operator.lshift),
    ">>": Binary(operator.rshift),
}
COMPARISONS: dict[str, Comparison] = {
    "<": Comparison(operator.lt, "slt", "olt"),
    "<=": Comparison(operator.le, "sle", "ole"),
    ">": Comparison(operator.gt, "sgt", "ogt"),
    ">=": Comparison(operator.ge, "sge", "oge"),
    "==": Comparison(operator.eq, "eq", "oeq"),
    "!=": Comparison(operator.ne, "ne", "une"),
    "is": Comparison(operator.is_),
    "is not": Comparison(operator.is_not),
    "in": Comparison(lambda a, b: a in b),
    "not in": Comparison(lambda a, b: a not in b),
}
