"""Arithmetic, comparisons and selection of two tensors, or of a tensor and a number."""

from __future__ import annotations

from typing import Any

import numpy as np

from ttl.semantics.dtypes import Array, float32
from ttl.semantics.ops import BLOCK_OPS, Domain

from ..compute_config import UnaryWithParam
from ..faults import wrong
from .activations import activate
from .arguments import Number
from .run import ON_CORES, PLACED, RESULT, TYPED, Function, in_place, operation, renamed

_Activations = tuple[UnaryWithParam, ...]

_NUMBER_B = {"input_b": "input_tensor_b"}

_BINARY = (*TYPED, *ON_CORES)
_APPROXIMATE = (*_BINARY, "fast_and_approximate_mode")
_IN_PLACE = (*ON_CORES, "fast_and_approximate_mode")


def _binary(
    name: str, summary: str, meaning: Function, options: tuple[str, ...] = _BINARY, **columns: Any
) -> Function:
    """Make an operation of two operands; operands and result may have activations."""
    doc = f"{summary}, element by element; shapes broadcast."
    columns = {"number_first": False, "nan": np.inf, "options": options, **columns}

    @operation(name, doc, broadcasts=True, one_kind=True, **columns)
    def function(
        input_tensor_a: Array | Number,
        input_tensor_b: Array | Number,
        *,
        activations: _Activations = (),
        input_tensor_a_activations: _Activations = (),
        input_tensor_b_activations: _Activations = (),
    ) -> Any:
        a = activate(input_tensor_a, input_tensor_a_activations)
        b = activate(input_tensor_b, input_tensor_b_activations)
        return activate(meaning(a, b), activations)

    return function


def _of_table(name: str, block_op: str, options: tuple[str, ...], **columns: Any) -> Function:
    """Make an operation that the language's table also has, under its own name."""
    op = BLOCK_OPS[block_op]
    floats = op.domain is Domain.FLOATS
    return _binary(name, op.summary, op.meaning, options, floats=floats, **columns)


def _truth(name: str, summary: str, meaning: Function) -> Function:
    """Make an operation that returns 1 or 0 in the first operand's element type."""
    return _binary(name, summary, lambda a, b: np.asarray(meaning(a, b)) != 0)


def _comparison(name: str) -> Function:
    op = BLOCK_OPS[name]
    return _truth(name, op.summary, op.meaning)


def is_integers(value: Any) -> bool:
    return np.asarray(value).dtype.kind == "i"


add = _of_table("add", "add", _APPROXIMATE, number_first=True)
subtract = _of_table("subtract", "sub", _APPROXIMATE, number_first=True)
multiply = _of_table("multiply", "mul", _APPROXIMATE, number_first=True)
maximum = _of_table("maximum", "max", TYPED, also=_NUMBER_B)
minimum = _of_table("minimum", "min", TYPED, also=_NUMBER_B)
rsub = _of_table("rsub", "rsub", (*TYPED, "fast_and_approximate_mode"), also=_NUMBER_B)
remainder = _of_table("remainder", "mod", _BINARY)

mul, sub = multiply, subtract

eq = _comparison("eq")
ne = _comparison("ne")
gt = _comparison("gt")
ge = _comparison("ge")
lt = _comparison("lt")
le = _comparison("le")
logical_and = _truth("logical_and", "1 where a and b are not 0, else 0", np.logical_and)
logical_or = _truth("logical_or", "1 where a or b is not 0, else 0", np.logical_or)
logical_xor = _truth("logical_xor", "1 where one of a and b is not 0, else 0", np.logical_xor)


def _of_bits(
    name: str,
    summary: str,
    meaning: Function,
    options: tuple[str, ...] = (*RESULT, *ON_CORES),
    **columns: Any,
) -> Function:
    columns = {"also": _NUMBER_B, **columns}
    return _binary(name, summary, lambda a, b: meaning(*_whole(a, b)), options, **columns)


def _whole(a: Any, b: Any) -> tuple[Any, Any]:
    if not is_integers(a) or not is_integers(b):
        raise wrong("bits of numbers that are not whole", "convert with ttnn.typecast() first")
    return a, b


def _shifted(shift: Function) -> Function:
    """Make a shift; by a negative count or by 32 or more, the result is 0."""

    def meaning(a: Any, count: Any) -> Any:
        is_inside = (count >= 0) & (count < 32)
        return np.where(is_inside, shift(a, np.where(is_inside, count, 0)), 0)

    return meaning


def _shifted_right(a: Any, count: Any) -> Any:
    """Shift right; by a negative count or by all bits, only the sign is left."""
    return np.right_shift(a, np.where((count >= 0) & (count < 64), count, 63))


def _shifted_left(a: Any, count: Any) -> Any:
    """Shift left; by a negative count or by 32 or more, the result rounds to 0."""
    is_inside = (count >= 0) & (count < 64)
    return np.where(is_inside, np.left_shift(a, np.where(is_inside, count, 0)), 0)


bitwise_and = _of_bits("bitwise_and", "the bits that a and b have", np.bitwise_and)
bitwise_or = _of_bits("bitwise_or", "the bits that a or b has", np.bitwise_or)
bitwise_xor = _of_bits("bitwise_xor", "the bits that only one of a and b has", np.bitwise_xor)
bitwise_left_shift = _of_bits(
    "bitwise_left_shift", "a with its bits b places higher", _shifted_left
)
bitwise_right_shift = _of_bits(
    "bitwise_right_shift", "a with its bits b places lower", _shifted_right
)
logical_right_shift = _of_bits(
    "logical_right_shift",
    "a with its bits b places lower, and 0 above them",
    _shifted(lambda a, count: (a & 0xFFFFFFFF) >> count),
    _BINARY,
    also={},
)


squared_difference = _binary(
    "squared_difference", "(a - b) squared", lambda a, b: np.square(np.subtract(a, b))
)


@operation(
    broadcasts=True,
    one_kind=True,
    floats=True,
    fractions=float32,
    nan=np.inf,
    options=_APPROXIMATE,
    also={"value": "input_tensor_b"},
)
def div(
    input_tensor_a: Array | Number,
    input_tensor_b: Array | Number,
    *,
    rounding_mode: Any = None,
    activations: _Activations = (),
    input_tensor_a_activations: _Activations = (),
    input_tensor_b_activations: _Activations = (),
) -> Any:
    """a / b; with rounding_mode "floor" or "trunc" the quotient is a whole number."""
    rounding: dict[Any, Function] = {None: np.asarray, "floor": np.floor, "trunc": np.trunc}
    if rounding_mode not in rounding:
        raise wrong(f"rounding_mode={rounding_mode!r}", "use 'floor', 'trunc' or None")
    a = activate(input_tensor_a, input_tensor_a_activations)
    b = activate(input_tensor_b, input_tensor_b_activations)
    return activate(rounding[rounding_mode](np.divide(a, b)), activations)


divide = div
_SHORT_NAMES = {"input_tensor_a": "input_a", "input_tensor_b": "input_b"}

add_ = in_place(add, "add_", _IN_PLACE)
subtract_ = sub_ = in_place(subtract, "subtract_", _IN_PLACE)
multiply_ = mul_ = in_place(renamed(multiply, _SHORT_NAMES), "multiply_", _IN_PLACE)
divide_ = div_ = in_place(
    renamed(_of_table("divide", "div", _APPROXIMATE, fractions=float32), _SHORT_NAMES),
    "divide_",
    _IN_PLACE,
)


@operation(
    broadcasts=True,
    one_kind=True,
    number_first=False,
    options=PLACED,
    also={"value": "input_tensor_b"},
)
def floor_div(input_tensor_a: Array | Number, input_tensor_b: Array | Number) -> Any:
    """The largest whole number that a / b reaches."""
    return BLOCK_OPS["floordiv"].meaning(input_tensor_a, input_tensor_b)


@operation(
    broadcasts=True,
    one_kind=True,
    number_first=False,
    options=(*PLACED, *ON_CORES),
    also={"scalar": "input_tensor_b"},
)
def fmod(input_tensor_a: Array | Number, input_tensor_b: Array | Number) -> Any:
    """The remainder of a / b rounded towards 0, with the sign of a."""
    if is_integers(input_tensor_b) and not np.all(input_tensor_b):
        raise wrong("an integer divided by 0 has no remainder", "replace the zeros first")
    return np.fmod(input_tensor_a, input_tensor_b)


@operation(broadcasts=True, options=PLACED, floats=True)
def atan2(input_tensor_a: Array, input_tensor_b: Array) -> Any:
    """The angle of the point (b, a)."""
    return np.arctan2(input_tensor_a, input_tensor_b)


@operation(broadcasts=True, options=PLACED)
def isclose(
    input_tensor_a: Array,
    input_tensor_b: Array,
    *,
    rtol: Number = 1e-5,
    atol: Number = 1e-8,
    equal_nan: bool = False,
) -> Any:
    """1 where a and b differ by no more than atol and rtol times b, else 0."""
    a, b = input_tensor_a, input_tensor_b
    return np.isclose(a, b, rtol, atol, equal_nan)


@operation(broadcasts=True, options=RESULT)
def addcmul(input_a: Array, input_b: Array, input_c: Array, *, value: Number = 1.0) -> Any:
    """a + value * b * c."""
    return input_a + value * input_b * input_c


@operation(broadcasts=True, options=RESULT, floats=True)
def addcdiv(input_a: Array, input_b: Array, input_c: Array, *, value: Number = 1.0) -> Any:
    """a + value * b / c."""
    return input_a + value * np.divide(input_b, input_c)


@operation(broadcasts=True, options=RESULT, floats=True)
def lerp(input: Array, end: Array, weight: Array | Number) -> Any:
    """input + weight * (end - input)."""
    return input + weight * (end - input)


@operation(broadcasts=True, options=TYPED)
def pow(
    input_tensor: Array | Number,
    exponent: Array | Number,
    *,
    activations: _Activations = (),
    input_tensor_a_activations: _Activations = (),
    input_tensor_b_activations: _Activations = (),
) -> Any:
    """The input to the power of the exponent, element by element."""
    if is_integers(input_tensor) and is_integers(exponent):
        if np.any(np.less(exponent, 0)):
            raise wrong("an integer to a negative power is no integer", "convert to floats first")
        return np.power(input_tensor, exponent)
    wide = np.asarray(input_tensor, np.float64), np.asarray(exponent, np.float64)
    return np.float32(np.power(*wide))


@operation(broadcasts=True, like=("true_value", "false_value"), fractions=float32)
def where(predicate: Array, true_value: Array | Number, false_value: Array | Number) -> Any:
    """true_value where the predicate is not 0, else false_value."""
    return BLOCK_OPS["where"].meaning(predicate, true_value, false_value)
