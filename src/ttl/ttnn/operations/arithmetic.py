"""Arithmetic, comparisons and selection of two tensors, or of a tensor and a number."""

from __future__ import annotations

from typing import Any

import numpy as np

from ttl.semantics.dtypes import Array, float32
from ttl.semantics.ops import BLOCK_OPS, Domain

from ..faults import wrong
from .activations import activate
from .arguments import Number
from .run import Function, in_place, operation


def _binary(name: str, block_op: str, meaning: Function | None = None) -> Function:
    """An operation that the table of the language has too, under its own name."""
    op = BLOCK_OPS[block_op]
    evaluate = meaning or op.meaning

    def function(
        input_tensor_a: Array | Number,
        input_tensor_b: Array | Number,
        activations: tuple[str, ...] = (),
    ) -> Any:
        return activate(evaluate(input_tensor_a, input_tensor_b), activations)

    return _named(function, name, op.summary, op.domain is Domain.FLOATS)


def _truth(name: str, summary: str, meaning: Function) -> Function:
    """1 or 0 in the element type of the first operand, whatever is compared with it."""

    def function(input_tensor_a: Array | Number, input_tensor_b: Array | Number) -> Any:
        return np.asarray(meaning(input_tensor_a, input_tensor_b)) != 0

    return _named(function, name, summary)


def _comparison(name: str) -> Function:
    op = BLOCK_OPS[name]
    return _truth(name, op.summary, op.meaning)


def _named(function: Function, name: str, summary: str, floats: bool = False) -> Function:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{summary}, element by element; shapes broadcast."
    fractions = float32 if name == "divide" else None
    return operation(broadcasts=True, floats=floats, fractions=fractions)(function)


def is_integers(value: Any) -> bool:
    return np.asarray(value).dtype.kind == "i"


add = _binary("add", "add")
subtract = _binary("subtract", "sub")
multiply = _binary("multiply", "mul")
divide = _binary("divide", "div")
rsub = _binary("rsub", "rsub")
maximum = _binary("maximum", "max")
minimum = _binary("minimum", "min")
remainder = _binary("remainder", "mod")
floor_div = _binary("floor_div", "floordiv")

mul, sub = multiply, subtract

add_ = in_place(add, "add_")
subtract_ = in_place(subtract, "subtract_")
multiply_ = in_place(multiply, "multiply_")
divide_ = in_place(divide, "divide_")

eq = _comparison("eq")
ne = _comparison("ne")
gt = _comparison("gt")
ge = _comparison("ge")
lt = _comparison("lt")
le = _comparison("le")
logical_and = _truth("logical_and", "1 where a and b are not 0, else 0", np.logical_and)
logical_or = _truth("logical_or", "1 where a or b is not 0, else 0", np.logical_or)
logical_xor = _truth("logical_xor", "1 where one of a and b is not 0, else 0", np.logical_xor)


@operation(broadcasts=True, floats=True, fractions=float32)
def div(
    input_tensor_a: Array | Number,
    input_tensor_b: Array | Number,
    rounding_mode: Any = None,
) -> Any:
    """a / b; with rounding_mode "floor" or "trunc" the quotient is a whole number."""
    rounding: dict[Any, Function] = {None: np.asarray, "floor": np.floor, "trunc": np.trunc}
    if rounding_mode not in rounding:
        raise wrong(f"rounding_mode={rounding_mode!r}", "use 'floor', 'trunc' or None")
    return rounding[rounding_mode](np.divide(input_tensor_a, input_tensor_b))


@operation(broadcasts=True)
def fmod(input_tensor_a: Array | Number, input_tensor_b: Array | Number) -> Any:
    """The remainder of a / b rounded towards 0, with the sign of a."""
    if is_integers(input_tensor_b) and not np.all(input_tensor_b):
        raise wrong("an integer divided by 0 has no remainder", "replace the zeros first")
    return np.fmod(input_tensor_a, input_tensor_b)


@operation(broadcasts=True)
def pow(input_tensor: Array | Number, exponent: Array | Number) -> Any:
    """The input to the power of the exponent, element by element."""
    if is_integers(input_tensor) and is_integers(exponent):
        if np.any(np.less(exponent, 0)):
            raise wrong("an integer to a negative power is no integer", "convert to floats first")
        return np.power(input_tensor, exponent)
    return np.power(np.float64(input_tensor), np.float64(exponent)).astype(np.float32)


@operation(broadcasts=True, like=("true_value", "false_value"), fractions=float32)
def where(predicate: Array, true_value: Array | Number, false_value: Array | Number) -> Any:
    """true_value where the predicate is not 0, else false_value."""
    return BLOCK_OPS["where"].meaning(predicate, true_value, false_value)
