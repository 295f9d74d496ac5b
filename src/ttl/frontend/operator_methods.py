"""Operators under other names: `a.__add__(b)` and `operator.add(a, b)`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import wraps
from math import prod

from ttl.language.block import not_in_place

from . import number_functions, scalars
from .block_math import accumulate, is_block, operand_type
from .builder import KernelBuilder
from .hir import HeldBlock, StandIn, Value, is_run_time, kind_of
from .in_python import example, in_python, require_python
from .items import change_container, delete_item, list_items, set_item
from .operators import UNARY, binary, compare, unary
from .problems import describe, not_in_kernels
from .python_operators import BINARY, COMPARISONS
from .ranges import RangeValue, step_count
from .subscripts import item_at

Handler = Callable[..., Value]


def operator_method(builder: KernelBuilder, owner: Value, name: str) -> Handler | None:
    """Find the handler of an operator's method; None if the value has none."""
    handler = METHODS.get(name)
    is_value = isinstance(owner, (StandIn, *PYTHON_VALUES)) or builder.is_tensor(owner)
    found = owner.python_class if isinstance(owner, StandIn) else type(owner)
    if handler is None or not is_value or not hasattr(found, name):
        return None

    @wraps(handler)
    def called(builder: KernelBuilder, owner: Value, *given: Value) -> Value:
        return _called(handler, name, builder, owner, *given)

    return called


PYTHON_VALUES = (int, float, str, tuple, list, dict, set, range)


def _called(
    handler: Handler, name: str, builder: KernelBuilder, owner: object, *given: Value
) -> Value:
    """Let Python evaluate constants; refuse where it would return NotImplemented."""
    is_known = not is_run_time((owner, *given)) and not builder.is_tensor(owner)
    if is_known and handler not in CHANGING.values() and not isinstance(owner, RangeValue):
        return in_python(getattr(type(owner), name), owner, *given)
    kinds = [kind_of(each) for each in (owner, *given)]
    if None not in kinds and (
        require_python(getattr(kinds[0], name), owner, *given) is NotImplemented
    ):
        raise not_in_kernels(f"`{name}` of {' and '.join(map(describe, (owner, *given)))}")
    return handler(builder, owner, *given)


def length(builder: KernelBuilder, value: Value) -> Value:
    if isinstance(value, RangeValue):
        return scalars.extreme(builder, max, (0, step_count(builder, value)))
    if is_block(value) and (shape := operand_type(value).shape) is not None:
        return prod(shape)
    return in_python(len, example(value))


def _of_two(function: Callable[..., Value], sign: str) -> Handler:
    return lambda builder, left, right: function(builder, sign, left, right)


def _reflected(sign: str) -> Handler:
    return lambda builder, right, left: binary(builder, sign, left, right)


def _unary(sign: str) -> Handler:
    return lambda builder, value: unary(builder, sign, value)


def in_place(builder: KernelBuilder, sign: str, owner: object, value: object) -> Value:
    """Evaluate `owner += value`; return the owner if it is mutable."""
    if isinstance(owner, HeldBlock):
        if sign != "+":
            raise not_in_place(sign)
        accumulate(builder, owner, value)
    elif isinstance(owner, list) and sign == "+":
        change_container(builder, owner, list.extend, list_items(value))
    elif isinstance(owner, (list, dict, set)):
        change_container(builder, owner, getattr(operator, f"__i{BINARY[sign].name}__"), value)
    else:
        return binary(builder, sign, owner, value)
    return owner


CHANGING: dict[str, Handler] = {
    **{f"__i{row.name}__": _of_two(in_place, sign) for sign, row in BINARY.items()},
    "__setitem__": set_item,
    "__delitem__": delete_item,
}
METHODS: dict[str, Handler] = {
    **{f"__{row.name}__": _of_two(binary, sign) for sign, row in BINARY.items()},
    **{f"__r{row.name}__": _reflected(sign) for sign, row in BINARY.items()},
    **{
        f"__{row.name}__": _of_two(compare, sign)
        for sign, row in COMPARISONS.items()
        if row.of_integers
    },
    **{f"__{fold.__name__}__": _unary(sign) for sign, (fold, _) in UNARY.items()},
    **CHANGING,
    "__abs__": number_functions.absolute,
    "__bool__": scalars.truth,
    "__ceil__": number_functions.ceil,
    "__contains__": lambda builder, owner, value: compare(builder, "in", value, owner),
    "__float__": number_functions.to_float,
    "__floor__": number_functions.floor,
    "__getitem__": item_at,
    "__index__": number_functions.to_int,
    "__int__": number_functions.to_int,
    "__len__": length,
    "__round__": number_functions.round_number,
    "__trunc__": number_functions.to_int,
}

OPERATOR_FUNCTIONS: dict[object, Handler] = {
    **{
        function: handler
        for name, handler in METHODS.items()
        if (function := getattr(operator, name, None)) is not None
    },
    operator.is_: _of_two(compare, "is"),
    operator.is_not: _of_two(compare, "is not"),
    operator.not_: scalars.negation,
    operator.truth: scalars.truth,
}
CHANGING_FUNCTIONS = {getattr(operator, name): handler for name, handler in CHANGING.items()}
