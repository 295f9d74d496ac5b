"""Python functions that kernels may call: on constants now, on other values in the kernel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce
from types import BuiltinFunctionType, MethodType
from typing import Any

import numpy as np

from ttl.language.block import truth_of_block
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.ops import BLOCK_OPS
from ttl.semantics.ttnn_values import asks_ttnn

from . import number_functions, scalars
from .attributes import get_attribute, has_attribute, set_attribute
from .block_math import is_block
from .builder import KernelBuilder
from .functions import BoundMethod, inline
from .generators import GeneratorCall
from .hir import StandIn, Value, is_run_time
from .in_python import in_python, require_python
from .items import dict_of, list_items, set_of
from .joins import choose
from .lazily import numbered, rows
from .operator_methods import CHANGING_FUNCTIONS, OPERATOR_FUNCTIONS, length
from .operators import binary, logic
from .problems import not_in_kernels, not_yet, raised
from .ranges import RangeValue, range_value, step_count
from .subscripts import item_at


def is_pure(function: Value) -> bool:
    """Can it be called now, on constants?"""
    if function in PURE or asks_ttnn(function):
        return True
    if isinstance(function, BuiltinFunctionType):
        owner = function.__self__
        if isinstance(owner, np.ndarray):
            return function.__name__ in OF_ARRAYS
        is_module = getattr(owner, "__name__", None) in PURE_MODULES
        return is_module or isinstance(owner, (int, float, *READ_ONLY))
    if isinstance(function, type) and function.__module__ in PURE_MODULES:
        return True
    if isinstance(function, type) and issubclass(function, (np.generic, BaseException)):
        return True
    return isinstance(function, MethodType) and isinstance(function.__self__, (int, float, str))


PURE_MODULES = ("math", "_operator", "itertools")

# Methods of numpy arrays that do not change the array.
OF_ARRAYS = (
    "all",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "astype",
    "copy",
    "cumsum",
    "dot",
    "flatten",
    "item",
    "max",
    "mean",
    "min",
    "prod",
    "ravel",
    "reshape",
    "round",
    "sum",
    "tolist",
    "transpose",
)

# Methods that change these types are found earlier.
READ_ONLY: tuple[type, ...] = (str, tuple, range, list, dict, set, frozenset, type({}.keys()))

PURE = (
    abs,
    all,
    any,
    bool,
    callable,
    chr,
    divmod,
    float,
    format,
    frozenset,
    hash,
    hex,
    int,
    issubclass,
    len,
    max,
    min,
    ord,
    pow,
    repr,
    round,
    slice,
    sorted,
    str,
    sum,
    tuple,
    type,
)


def is_instance(builder: KernelBuilder, value: Value, kinds: object) -> Value:
    """Evaluate isinstance(), by the Python class of a run-time value."""
    if not isinstance(value, StandIn):
        return in_python(isinstance, value, kinds)
    builder.tells_kinds = True
    return in_python(issubclass, value.python_class, kinds)


def enumerate_items(builder: KernelBuilder, value: Value, start: Value = 0) -> Value:
    if isinstance(value, (GeneratorCall, RangeValue)):
        return inline(builder, numbered, [value, start], {})
    numbers = [binary(builder, "+", start, n) for n in range(len(list_items(value)))]
    return builder.new(list(zip(numbers, list_items(value), strict=True)))


def zip_values(builder: KernelBuilder, *values: Value, strict: Value = False) -> Value:
    if not strict and any(isinstance(each, RangeValue) for each in values):
        return _rows(builder, values)
    columns = [list_items(value) for value in values]
    if strict and len({len(column) for column in columns}) > 1:
        raise raised("ValueError: zip() of different lengths")
    return builder.new(list(zip(*columns, strict=False)))


def _rows(builder: KernelBuilder, columns: tuple[Value, ...]) -> Value:
    """Evaluate zip() of run-time ranges and known sequences."""
    known = [e if isinstance(e, RangeValue) else list_items(e) for e in columns]
    counts = [step_count(builder, e) if isinstance(e, RangeValue) else len(e) for e in known]

    def item(column: Value, number: Value) -> Value:
        if not isinstance(column, RangeValue):
            return item_at(builder, column, number)
        return binary(builder, "+", column.start, binary(builder, "*", number, column.step))

    def row(builder: KernelBuilder, columns: list[Value], number: Value) -> Value:
        return tuple(item(column, number) for column in columns)

    count = scalars.extreme(builder, min, tuple(counts)) if len(counts) > 1 else counts[0]
    return inline(builder, rows, [BoundMethod(known, row), count], {})


def reverse_items(builder: KernelBuilder, value: Value) -> Value:
    if isinstance(value, RangeValue) and value.step in (1, -1):
        first = binary(builder, "-", value.stop, value.step)
        return RangeValue(first, binary(builder, "-", value.start, value.step), -value.step)
    return builder.new(list_items(value)[::-1])


def map_values(builder: KernelBuilder, function: Value, *values: Value) -> Value:
    rows = zip(*(list_items(value) for value in values), strict=False)
    return builder.new([builder.call(function, list(row), {}) for row in rows])


def sort_items(
    builder: KernelBuilder, value: Value, *, key: Value = None, reverse: bool = False
) -> Value:
    items = list_items(value)
    keys: list[Any] = items if key is None else [builder.call(key, [item], {}) for item in items]
    _refuse_comparison(builder, keys)
    if is_run_time(keys):
        raise not_yet("sorted() of run-time values")
    positions = sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)
    return builder.new([items[position] for position in positions])


def make_partial(builder: KernelBuilder, function: Value, *first: Value, **named: Value) -> Value:
    """Evaluate functools.partial()."""

    def called(builder: KernelBuilder, function: Value, *rest: Value, **others: Value) -> Value:
        return builder.call(function, [*first, *rest], named | others)

    return BoundMethod(function, called)


def total(builder: KernelBuilder, values: Value, start: Value = 0) -> Value:
    for value in list_items(values):
        start = binary(builder, "+", start, value)
    return start


def truth_of(is_all: bool, builder: KernelBuilder, values: Value) -> Value:
    """Evaluate any() or all()."""

    def joined(found: Value, value: Value) -> Value:
        now = scalars.truth(builder, value)
        return logic(builder, is_all, [lambda: found, lambda: now])

    start: Value = is_all
    return reduce(joined, list_items(values), start)


def quotient_and_rest(builder: KernelBuilder, one: Value, other: Value) -> Value:
    if is_block(one) or is_block(other):
        require_python(divmod, one, other)
    return tuple(binary(builder, operator, one, other) for operator in ("//", "%"))


def _refuse_comparison(builder: KernelBuilder, values: Sequence[Value]) -> None:
    """Refuse blocks, because Python asks for the truth of their comparisons."""
    if len(values) > 1 and any(map(is_block, values)):
        builder.require(KernelKind.COMPUTE, BLOCK_OPS["lt"].spelling)
        raise truth_of_block()


def power(builder: KernelBuilder, base: object, exponent: object, *modulus: object) -> Value:
    if not modulus:
        return binary(builder, "**", base, exponent)
    if is_run_time((base, exponent, *modulus)):
        raise not_in_kernels("pow() with a modulus, of what is known only at run time")
    return in_python(pow, base, exponent, *modulus)


def extreme(function: Callable[..., object], sign: str) -> Callable[..., Value]:
    """Make min() or max(): the first of equal values wins, and keeps its kind."""

    def better(builder: KernelBuilder, one: Value, other: Value) -> Value:
        is_better = scalars.compare(builder, sign, other, one)
        return choose(builder, is_better, lambda: other, lambda: one)

    def best(builder: KernelBuilder, *values: object, **named: Value) -> Value:
        if named:
            raise not_yet(f"{function.__name__}() with {', '.join(named)}= of run-time values")
        values = tuple(list_items(values[0])) if len(values) == 1 else values
        _refuse_comparison(builder, values)
        if scalars.has_other_number(*values):
            return scalars.with_other_numbers(builder, f"{function.__name__}()", function, *values)
        kinds = scalars.scalar_kinds(function, *values)
        if {*kinds} <= {int}:
            return scalars.extreme(builder, function, values)
        return reduce(lambda one, other: better(builder, one, other), values)

    return best


# Handlers used on constants too: Python would misread items, or return what a kernel may not keep.
ALWAYS: dict[object, Callable[..., Value]] = {
    **CHANGING_FUNCTIONS,
    range: range_value,
    list: lambda builder, value=(): builder.new(list_items(value)),
    dict: dict_of,
    set: set_of,
    tuple: lambda builder, value=(): tuple(list_items(value)),
    enumerate: enumerate_items,
    zip: zip_values,
    reversed: reverse_items,
    map: map_values,
    sorted: sort_items,
    getattr: get_attribute,
    hasattr: has_attribute,
    setattr: set_attribute,
    isinstance: is_instance,
    len: length,
    partial: make_partial,
}

PYTHON: dict[Any, Callable[..., Value]] = {
    **OPERATOR_FUNCTIONS,
    **ALWAYS,
    min: extreme(min, "<"),
    max: extreme(max, ">"),
    divmod: quotient_and_rest,
    pow: power,
    math.floor: number_functions.floor,
    math.ceil: number_functions.ceil,
    math.trunc: number_functions.to_int,
    round: number_functions.round_number,
    abs: number_functions.absolute,
    int: number_functions.to_int,
    float: number_functions.to_float,
    bool: scalars.truth,
    slice: lambda builder, *parts: slice(*parts),
    sum: total,
    any: partial(truth_of, False),
    all: partial(truth_of, True),
}
