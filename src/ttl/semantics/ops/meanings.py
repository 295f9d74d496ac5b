"""Building blocks that several groups of operations share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any

import numpy as np

from ..dtypes import TF32_STEP, Array, DType, to_tf32
from ..types import BlockType
from .rules import same_type, unchanged
from .table import BlockOp, Domain, Parameter, ParameterKind, TileForms
from .tiles import COMPUTE_API, all_bits, vector, with_integers

Meaning = Callable[..., Array]
MATH = ("math",)
BOTH = ("math", "block")


def in_double(meaning: Meaning) -> Meaning:
    """Evaluate in float64 and round once; float32 steps would add up or cancel."""

    def evaluate(*values: Array, **parameters: Array) -> Array:
        # Not float64(), which makes a scalar of one element in numpy 1.26.
        wide = [np.asarray(value, np.float64) for value in values]
        return as_single(meaning(*wide, **{k: np.float64(v) for k, v in parameters.items()}))

    return evaluate


def as_single(values: Array) -> Array:
    """Round doubles to f32."""
    found: Any = np.float32(values)  # an array of an array, which numpy's types do not know
    single: Array = found
    return single


def relative_bound(meaning: Meaning) -> Meaning:
    """Return the bound of one unit in the last place of the DST format."""

    def bound(spacing: float, *values: Array, **parameters: Array) -> Array:
        return spacing * np.abs(meaning(*values, **parameters))

    return bound


def cut_off(steps: int, *operands: object) -> float:
    """Return the relative loss of f32 operands in the matrix unit: `steps` units of TF32's last
    digit, or 0 if TF32 holds the operands exactly."""
    singles = [np.asarray(x, np.float32) for x in operands]
    is_exact = all(np.array_equal(to_tf32(x), x, equal_nan=True) for x in singles)
    return 0.0 if is_exact else steps * TF32_STEP


def numbers(**samples: float) -> tuple[Parameter, ...]:
    """Return numeric parameters by name, each with the sample that tests use."""
    return tuple(
        Parameter(name, ParameterKind.NUMBER, sample=sample) for name, sample in samples.items()
    )


def unary(
    name: str,
    meaning: Meaning,
    summary: str,
    *,
    parameters: tuple[Parameter, ...] = (),
    domain: Domain = Domain.FLOATS,
    exact: bool = False,
    type_rule: Callable[..., BlockType] = unchanged,
    **columns: Any,
) -> BlockOp:
    """Make an elementwise function of one block; `exact` means equal bits on all engines."""
    columns.setdefault("bound", None if exact else relative_bound(meaning))
    return BlockOp(
        name,
        1,
        type_rule,
        meaning,
        summary,
        namespaces=MATH,
        parameters=parameters,
        domain=domain,
        **columns,
    )


def function(
    name: str,
    meaning: Meaning,
    summary: str,
    include: str = COMPUTE_API,
    between: tuple[float, float] = (-inf, inf),
    *,
    template: str = "",
    parameters: tuple[Parameter, ...] = (),
    **columns: Any,
) -> BlockOp:
    """Make a function of floats that the vector unit has under this name."""
    tile = vector(name, include, template=template, arguments=all_bits if parameters else None)
    columns |= {"defined_between": between, "parameters": parameters, "tile": tile}
    return unary(name, meaning, summary, **columns)


def exact_unary(
    name: str,
    meaning: Meaning,
    summary: str,
    *tiles: Mapping[str, TileForms],
    **columns: Any,
) -> BlockOp:
    """Make a function of floats and integers with equal bits on all engines; most only choose.

    `tiles` has the forms of floats first, then those of integers.
    """
    columns = {"exact": True, "computes": False, **columns}
    tile = with_integers(*tiles)
    return unary(name, meaning, summary, domain=Domain.ALL, tile=tile, **columns)


def binary(
    name: str, meaning: Meaning, summary: str, operator: str | None = None, **columns: Any
) -> BlockOp:
    """Make an elementwise operation on two blocks, or on a block and a number."""
    return BlockOp(name, 2, same_type, meaning, summary, operator, scalars=("a", "b"), **columns)


def one_where(condition: Array, *values: Array) -> Array:
    """Return 1 or 0 in the element type of the operands."""
    return np.asarray(condition).astype(np.result_type(*values))


def with_dtype(operand: BlockType, dtype: DType) -> BlockType:
    return BlockType(operand.shape, dtype)


def is_integer_array(value: Array) -> bool:
    return value.dtype.kind == "i"
