"""The operators of Python by their signs: what they make of constants and of run-time numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from xdsl.dialects import arith
from xdsl.ir import Operation

Kind = type[Operation]


class Operator(NamedTuple):
    """`of_integers` and `of_floats`: operations of arith, or predicates of its comparisons; None if
    it takes more than one operation, or has no meaning.
    """

    name: str  # of Python's method, without underscores
    of_integers: Any = None
    of_floats: Any = None

    @property
    def fold(self) -> Callable[..., Any]:
        found: Callable[..., Any] = FOLDS.get(self.name) or getattr(operator, f"__{self.name}__")
        return found


FOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda item, items: item in items,
    "not in": lambda item, items: item not in items,
}
BINARY: dict[str, Operator] = {
    "+": Operator("add", arith.AddiOp, arith.AddfOp),
    "-": Operator("sub", arith.SubiOp, arith.SubfOp),
    "*": Operator("mul", arith.MuliOp, arith.MulfOp),
    "//": Operator("floordiv"),
    "%": Operator("mod"),
    "/": Operator("truediv", None, arith.DivfOp),
    "**": Operator("pow"),
    "@": Operator("matmul"),
    "&": Operator("and", arith.AndIOp),
    "|": Operator("or", arith.OrIOp),
    "^": Operator("xor", arith.XOrIOp),
    "<<": Operator("lshift"),
    ">>": Operator("rshift"),
}
COMPARISONS: dict[str, Operator] = {
    "<": Operator("lt", "slt", "olt"),
    "<=": Operator("le", "sle", "ole"),
    ">": Operator("gt", "sgt", "ogt"),
    ">=": Operator("ge", "sge", "oge"),
    "==": Operator("eq", "eq", "oeq"),
    "!=": Operator("ne", "ne", "une"),
    **{sign: Operator(sign) for sign in FOLDS},
}
SIGN_OF = {row.fold: sign for sign, row in (BINARY | COMPARISONS).items()}
