"""Computes values of a graph that depend on no input: positions and masks.

Only integers, booleans, and floats selected by them: their values do not depend on where they are
computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import AnyFloat, IntegerType, i1
from xdsl.ir import SSAValue

from ttgraph.along import Numbers
from ttgraph.dialects import ttir
from ttgraph.dialects.graph import MathOp, dense_values, element_of, shape_of

MOST_ELEMENTS = 1 << 22

Function = Callable[..., Numbers]
_FUNCTIONS: dict[str, Function] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "neg": np.negative,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_not": np.logical_not,
    "where": np.where,
    "typecast": np.asarray,
}


class KnownValues:
    """Known values of one function, each computed once."""

    def __init__(self) -> None:
        self._found: dict[SSAValue, Numbers | None] = {}

    def of(self, value: SSAValue) -> Numbers | None:
        """Return the value's array, or None."""
        if value not in self._found:
            self._found[value] = (
                None if prod(shape_of(value)) > MOST_ELEMENTS else self._value(value)
            )
        return self._found[value]

    def _value(self, value: SSAValue) -> Numbers | None:
        op = value.owner
        if isinstance(op, ttir.ConstantOp):
            return dense_values(op.value)
        if not isinstance(op, MathOp):
            return None
        given = [self.of(each) for each in op.inputs]
        if any(each is None for each in given) or not _is_exact(op):
            return None
        found = _compute(op, given)
        return None if found is None else found.astype(_kind(value))


def _kind(value: SSAValue) -> type[np.generic]:
    element = element_of(value)
    if element == i1:
        return np.bool_
    return np.int64 if isinstance(element, IntegerType) else np.float32


def _is_exact(op: MathOp) -> bool:
    """Is the result exact? Floats are only selected and moved here, not computed."""
    moves = ("where", "full", "reshape", "expand", "permute", "slice", "concat", "typecast")
    return op.ENTRY.name in moves or not isinstance(element_of(op.result), AnyFloat)


def _compute(op: MathOp, given: list[Numbers | None]) -> Numbers | None:
    name, values, shape = op.ENTRY.name, op.values(), shape_of(op.result)
    if name in _FUNCTIONS:
        return np.broadcast_to(_FUNCTIONS[name](*given), shape)
    forms: dict[str, Function] = {
        "full": lambda: np.full(shape, values["fill_value"]),
        "arange": lambda: np.broadcast_to(np.indices(shape, sparse=True)[values["dim"]], shape),
        "reshape": lambda x: x.reshape(shape),
        "expand": lambda x: np.broadcast_to(x, shape),
        "permute": lambda x: x.transpose(values["permutation"]),
        "concat": lambda *parts: np.concatenate(parts, values["dim"]),
        "slice": lambda x: x[_bounds(values)],
        "embedding": lambda rows, table: table[rows],
        "cumsum": lambda x: np.cumsum(x, values["dim"]),
    }
    return forms[name](*given) if name in forms else None


def _bounds(values: Mapping[str, Sequence[int]]) -> tuple[slice, ...]:
    lists = (values[name] for name in ("begins", "ends", "step"))
    return tuple(slice(*each) for each in zip(*lists, strict=True))
