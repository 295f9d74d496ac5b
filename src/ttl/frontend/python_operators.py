"""The operators of Python: how they are written, what they make of constants, and of run-time
integers and floats."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from xdsl.dialects import arith
from xdsl.ir import Operation

Kind = type[Operation]


class Binary(NamedTuple):
    sign: str
    fold: Callable[[Any, Any], Any]
    of_integers: Kind | None = None  # None: it takes more than one operation, or has no meaning
    of_floats: Kind | None = None


class Comparison(NamedTuple):
    sign: str
    fold: Callable[[Any, Any], bool]
    of_integers: str = ""  # the predicate; "" for what compares no numbers
    of_floats: str = ""


BINARY: dict[type[ast.operator], Binary] = {
    ast.Add: Binary("+", operator.add, arith.AddiOp, arith.AddfOp),
    ast.Sub: Binary("-", operator.sub, arith.SubiOp, arith.SubfOp),
    ast.Mult: Binary("*", operator.mul, arith.MuliOp, arith.MulfOp),
    ast.FloorDiv: Binary("//", operator.floordiv),
    ast.Mod: Binary("%", operator.mod),
    ast.Div: Binary("/", operator.truediv, None, arith.DivfOp),
    ast.Pow: Binary("**", operator.pow),
    ast.MatMult: Binary("@", operator.matmul),
    ast.BitAnd: Binary("&", operator.and_, arith.AndIOp),
    ast.BitOr: Binary("|", operator.or_, arith.OrIOp),
    ast.BitXor: Binary("^", operator.xor, arith.XOrIOp),
    ast.LShift: Binary("<<", operator.lshift),
    ast.RShift: Binary(">>", operator.rshift),
}
COMPARISONS: dict[type[ast.cmpop], Comparison] = {
    ast.Lt: Comparison("<", operator.lt, "slt", "olt"),
    ast.LtE: Comparison("<=", operator.le, "sle", "ole"),
    ast.Gt: Comparison(">", operator.gt, "sgt", "ogt"),
    ast.GtE: Comparison(">=", operator.ge, "sge", "oge"),
    ast.Eq: Comparison("==", operator.eq, "eq", "oeq"),
    ast.NotEq: Comparison("!=", operator.ne, "ne", "une"),
    ast.Is: Comparison("is", operator.is_),
    ast.IsNot: Comparison("is not", operator.is_not),
    ast.In: Comparison("in", lambda a, b: a in b),
    ast.NotIn: Comparison("not in", lambda a, b: a not in b),
}
