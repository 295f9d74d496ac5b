"""What tests give the operations of the op table: parameters, operands, ranges of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ttl.semantics.dtypes import A_DIGITS, to_tf32
from ttl.semantics.ops import REQUIRED, BlockOp, ParameterKind

# What stands for operands that say where, by their name in the table.
CONDITIONS = {"c": "ttl.math.frac(a_blk) * (a_blk > b_blk)", "m": "(b_blk > 0.5)"}
WHOLE_CONDITIONS = {"c": "a_blk - b_blk", "m": "(b_blk > a_blk)"}
A_VALUES, B_VALUES = (-4.0, 4.0), (0.1, 0.95)


def numbers_of(op: BlockOp) -> dict[str, Any]:
    """Its parameters by name; every one that is a number has a sample or a default."""
    given = {
        parameter.name: parameter.default if parameter.sample is None else parameter.sample
        for parameter in op.parameters
        if not parameter.kind.decides_types
    }
    assert REQUIRED not in given.values(), f"a parameter of `{op.name}` has no sample"
    return given


def whole_numbers_of(op: BlockOp) -> dict[str, int]:
    """The same for integers, so that every integer type has them: -1 to 4 becomes 0 to 250."""
    kinds = {parameter.name: parameter.kind for parameter in op.parameters}
    return {
        name: round(50 * (number + 1)) if kinds[name] is ParameterKind.NUMBER else number
        for name, number in numbers_of(op).items()
    }


def is_defined(op: BlockOp, values: tuple[float, float]) -> bool:
    low, high = op.defined_between
    return low <= values[0] and values[1] <= high


def values_of(op: BlockOp) -> tuple[float, float]:
    """A range of numbers that it has values for."""
    low, high = op.defined_between
    return max(low + 0.1, A_VALUES[0]), min(high - 0.1, A_VALUES[1])


def block_of(op: BlockOp) -> str:
    """The block that a function of one block gets: the first has A_VALUES, the other B_VALUES."""
    return "a" if is_defined(op, A_VALUES) else "b"


def text_of(op: BlockOp, numbers: dict[str, Any], conditions: dict[str, str]) -> str:
    """As a user writes it."""
    blocks = iter(("a_blk", "b_blk"))
    operands = [conditions.get(name) or next(blocks) for name in op.names]
    if op.operands == 1:
        operands = [f"{block_of(op)}_blk"]
    if op.operator and op.operands == 2:
        return f" {op.operator} ".join(operands)
    named = [f"{name}={value}" for name, value in numbers.items()]
    return f"ttl.math.{op.name}({', '.join(operands + named)})"


def float_text(op: BlockOp) -> str:
    return text_of(op, numbers_of(op), CONDITIONS)


def whole_text(op: BlockOp) -> str:
    return text_of(op, whole_numbers_of(op), WHOLE_CONDITIONS)


def coarse(values: np.ndarray) -> np.ndarray:
    """f32 with no more digits than the matrix unit takes of any factor."""
    return to_tf32(values.astype(np.float32), A_DIGITS)
