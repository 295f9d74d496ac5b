"""Expressions of a kernel. Handlers are plain functions, one for each syntax class."""

from __future__ import annotations

import ast
import inspect
import math
import re
from collections.abc import Callable
from functools import partial, reduce
from math import prod
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ttl.diagnostics import RuleBroken, TTLError, codes
from ttl.diagnostics.frames import is_pyttl_file
from ttl.diagnostics.names import UnknownNameError
from ttl.dialects import ttl
from ttl.dialects.ttcore import block_type
from ttl.language import Block, BlockExpression, Transfer
from ttl.language.block import block_as_exponent
from ttl.language.described import public_classes_by_name
from ttl.language.mistakes import (
    OLD_ARGUMENTS,
    OPERATORS_OF_BLOCKS,
    SIGNS_OF_BLOCKS,
    missing_name,
    no_attribute,
)
from ttl.semantics.ops import BLOCK_OPS, BY_OPERATOR

from . import scalars
from .block_math import block_math, is_acquired, is_block, operand_type, store
from .branches import choose
from .builder import (
    FlowBroken,
    KernelBuilder,
    Value,
    describe,
    not_in_kernels,
    not_yet,
)
from .calls import CALLS, SUBSCRIPTS, call_method
from .data_movement import tensor_slice
from .decided import known_number, needs_constant
from .environment import MISSING, NodeFunctions, NodeObjects
from .functions import BoundMethod, LocalFunction, local_function
from .items import changing_method, comprehension, iterated, new, unpacked
from .loops import RangeValue, range_value
from .pipe_copies import is_pipe, pipe_attribute
from .printing import RunTimeText
from .scalars import is_run_time


def expression(builder: KernelBuilder, node: ast.expr) -> Value:
    handler = EXPRESSIONS.get(type(node))
    with builder.at(node):
        if handler is None:
            raise not_in_kernels(f"`{type(node).__name__}` expressions")
        return handler(builder, node)


def constant(builder: KernelBuilder, node: ast.Constant) -> Value:
    return node.value


def name(builder: KernelBuilder, node: ast.Name) -> Value:
    return builder.lookup(node.id)


def tuple_display(builder: KernelBuilder, node: ast.Tuple) -> Value:
    return tuple(_items(builder, node.elts))


def list_display(builder: KernelBuilder, node: ast.List) -> Value:
    return new(builder, _items(builder, node.elts))


def set_display(builder: KernelBuilder, node: ast.Set) -> Value:
    return new(builder, set(_items(builder, node.elts)))


def dict_display(builder: KernelBuilder, node: ast.Dict) -> Value:
    found: dict[Any, Value] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            found |= expression(builder, value)
        else:
            made = expression(builder, key)
            if is_run_time(made):
                raise not_in_kernels("a key that is known only at run time")
            found[made] = expression(builder, value)
    return new(builder, found)


def list_comprehension(builder: KernelBuilder, node: ast.ListComp | ast.GeneratorExp) -> Value:
    found: list[Value] = []
    _comprehended(builder, node, lambda: found.append(expression(builder, node.elt)))
    return new(builder, found)


def set_comprehension(builder: KernelBuilder, node: ast.SetComp) -> Value:
    found: set[Value] = set()
    _comprehended(builder, node, lambda: found.add(expression(builder, node.elt)))
    return new(builder, found)


def dict_comprehension(builder: KernelBuilder, node: ast.DictComp) -> Value:
    found: dict[Any, Value] = {}

    def put() -> None:
        key = expression(builder, node.key)
        found[key] = expression(builder, node.value)

    _comprehended(builder, node, put)
    return new(builder, found)


def _comprehended(builder: KernelBuilder, node: Any, each: Callable[[], None]) -> None:
    comprehension(
        builder,
        node.generators,
        lambda part: expression(builder, part),
        lambda test: scalars.truth(builder, test),
        each,
    )


def _items(builder: KernelBuilder, nodes: list[ast.expr]) -> list[Value]:
    """The values of a display or of arguments, `*values` among them."""
    items: list[Value] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            items += unpacked(expression(builder, node.value))
        else:
            items.append(expression(builder, node))
    return items


def slice_display(builder: KernelBuilder, node: ast.Slice) -> Value:
    parts = (node.lower, node.upper, node.step)
    return slice(*(None if part is None else expression(builder, part) for part in parts))


def text(builder: KernelBuilder, node: ast.JoinedStr) -> Value:
    """An f-string; only print() takes one with run-time values."""
    pieces: list[str | tuple[SSAValue, str]] = []
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            pieces += _formatted(builder, part)
        else:
            pieces.append(str(expression(builder, part)))
    if any(isinstance(piece, tuple) for piece in pieces):
        return RunTimeText(tuple(pieces))
    return "".join(map(str, pieces))


def _known_text(builder: KernelBuilder, value: Value) -> Value:
    """A text with run-time values, where one is needed whose values the path knows."""
    if not isinstance(value, RunTimeText):
        return value
    found = ""
    for part in value.parts:
        if isinstance(part, str):
            found += part
            continue
        number, spec = known_number(builder, part[0]), part[1]
        if number is None:
            raise needs_constant(builder, part[0], "a text that is known only at run time here")
        found += format(number, spec)
    return found


def _formatted(
    builder: KernelBuilder, part: ast.FormattedValue
) -> list[str | tuple[SSAValue, str]]:
    value = expression(builder, part.value)
    spec = "" if part.format_spec is None else expression(builder, part.format_spec)
    if isinstance(value, RunTimeText):
        return list(value.parts)
    if not isinstance(spec, str):
        raise not_in_kernels("formats that are known only at run time, in texts")
    if not is_run_time(value):
        value = CONVERSIONS[part.conversion](value)
        return [_folded("this text", format, value, spec)]
    if scalars.kind_of(value) is None:
        raise not_in_kernels(f"text with {describe(value)}")
    return [(value, spec if part.conversion == -1 else _spec_of_text(value, spec))]


def _spec_of_text(value: SSAValue, spec: str) -> str:
    """A number's text in a field, as a format of the number: texts stand on the left."""
    found = re.fullmatch(r"(.?[<>^])?([1-9][0-9]*)?s?", spec)
    if found is None or (spec and scalars.kind_of(value) is bool):
        raise not_in_kernels(f"`{spec}` for a run-time value that is converted to a text")
    return f"{found[1] or '<'}{found[2]}" if found[2] else ""


CONVERSIONS: dict[int, Callable[[Any], Any]] = {
    -1: lambda value: value,
    ord("s"): str,
    ord("r"): repr,
    ord("a"): ascii,
}


def named_expression(builder: KernelBuilder, node: ast.NamedExpr) -> Value:
    value = expression(builder, node.value)
    builder.assign(node.target.id, value)
    return value


def lambda_function(builder: KernelBuilder, node: ast.Lambda) -> Value:
    return local_function(builder, node, lambda default: expression(builder, default))


# Attributes and items -----------------------------------------------------------------------------


def attribute(builder: KernelBuilder, node: ast.Attribute) -> Value:
    return attribute_of(builder, expression(builder, node.value), node.attr)


def attribute_of(builder: KernelBuilder, owner: Value, name: str) -> Value:
    if isinstance(owner, NodeObjects):
        return owner.attribute(name, builder.runtime_argument)
    if is_pipe(owner):
        return pipe_attribute(builder, owner, name)
    if isinstance(owner, SSAValue):
        return _block_attribute(builder, owner, name)
    if name == "shape" and builder.is_tensor(owner):
        return tuple(owner.shape)  # the real ttnn's is not one
    try:
        return getattr(owner, name)
    except UnknownNameError as error:
        found = error.diagnostics[0]
        raise RuleBroken(found.code, found.message, helps=found.helps, notes=found.notes) from None
    except AttributeError as error:
        raise missing_name(error) or RuleBroken(codes.UNKNOWN_NAME, str(error)) from None


def _block_attribute(builder: KernelBuilder, owner: SSAValue, name: str) -> Value:
    if ttl.is_block_value(owner.type) and name in ("shape", "dtype", "layout"):
        return getattr(block_type(owner.type), name)
    if isinstance(owner.type, ttl.TransferType) and name == "is_completed":
        return any(isinstance(use.operation, ttl.WaitTransferOp) for use in owner.uses)
    if (found := find_method(builder, owner, name)) is not None:
        method, owner = found
        return BoundMethod(owner, method)
    kind = "Block" if ttl.is_block_value(owner.type) else "Transfer"
    is_known = kind == "Block" or isinstance(owner.type, ttl.TransferType)
    if is_known and (public := public_classes_by_name().get(kind)) is not None:
        raise no_attribute(public, name)
    raise RuleBroken(codes.UNKNOWN_NAME, f"{describe(owner)} has no `{name}`")


def get_attribute(
    builder: KernelBuilder, owner: Value, name: Value, default: Value = MISSING
) -> Value:
    """getattr()"""
    if not isinstance(name, str):
        raise RuleBroken(codes.WRONG_ARGUMENT, f"{describe(name)} as the name of an attribute")
    try:
        return attribute_of(builder, owner, name)
    except RuleBroken:
        if default is MISSING:
            raise
        return default


def set_attribute(builder: KernelBuilder, owner: Value, name: Value, value: Value) -> Value:
    raise RuleBroken(
        codes.WRONG_ARGUMENT if isinstance(owner, SSAValue) else codes.NOT_IN_KERNELS,
        f"`{name}` of {describe(owner)} cannot be set in a kernel",
        helps=("keep the value in a variable of the kernel",),
    )


def has_attribute(builder: KernelBuilder, owner: Value, name: Value) -> Value:
    return get_attribute(builder, owner, name, None) is not None


def subscript(builder: KernelBuilder, node: ast.Subscript) -> Value:
    owner = expression(builder, node.value)
    index = _known_text(builder, expression(builder, node.slice))
    if builder.is_tensor(owner):
        return tensor_slice(builder, owner, index)
    if (handler := SUBSCRIPTS.get(type(owner))) is not None:
        return handler(builder, owner, index)
    if isinstance(owner, SSAValue):
        raise not_in_kernels(f"indexing {describe(owner)}")
    if is_run_time(index):
        return _item_at_run_time(builder, owner, index)
    return _item(builder, owner, index)


def _item(builder: KernelBuilder, owner: Value, index: Value) -> Value:
    try:
        if isinstance(owner, list) and isinstance(index, slice):
            return new(builder, owner[index])
        return owner[index]
    except Exception as error:
        raise RuleBroken(codes.WRONG_ARGUMENT, f"{type(error).__name__}: {error}") from None


def _item_at_run_time(builder: KernelBuilder, owner: Value, index: Value) -> Value:
    """An item of a tuple or list: one condition after the other."""
    given = index
    what = f"an item of {describe(owner)} that is known only at run time"
    if scalars.kind_of(index) is int and (known := known_number(builder, index)) is not None:
        return _item(builder, owner, known)
    if not isinstance(owner, (tuple, list, range)) or scalars.kind_of(index) is not int:
        raise needs_constant(builder, index, what)
    if not owner:
        raise RuleBroken(codes.WRONG_ARGUMENT, f"an item of an empty {type(owner).__name__}")

    is_before = scalars.compare(builder, ast.Lt(), index, 0)
    if index not in builder.naturals and is_before is not False:  # Python counts from the end then
        from_end = scalars.arithmetic(builder, ast.Add(), index, len(owner))
        index = choose(builder, is_before, lambda: from_end, lambda: given)

    def item(position: int) -> Value:
        if position == len(owner) - 1:
            return owner[position]
        is_here = scalars.compare(builder, ast.Eq(), index, position)
        return choose(builder, is_here, lambda: owner[position], lambda: item(position + 1))

    try:
        return item(0)
    except FlowBroken as broken:
        if builder.may_be_unrolled:  # what becomes of each block is seen better then
            raise broken
        raise needs_constant(builder, given, what) from None


# Operators ----------------------------------------------------------------------------------------


def binary_expression(builder: KernelBuilder, node: ast.BinOp) -> Value:
    left, right = expression(builder, node.left), expression(builder, node.right)
    return binary(builder, node.op, left, right)


def binary(builder: KernelBuilder, operator: ast.operator, left: Value, right: Value) -> Value:
    sign = scalars.SIGNS[type(operator)]
    if is_block(left) or is_block(right):
        if sign == "**" and is_block(right) and not is_block(left):
            raise block_as_exponent()
        if sign not in BY_OPERATOR:
            raise RuleBroken(
                codes.WRONG_ARGUMENT,
                f"{sign} does not work on {describe(left)} and {describe(right)}",
                helps=(OPERATORS_OF_BLOCKS,),
            )
        return block_math(builder, BY_OPERATOR[sign], [left, right])
    if isinstance(left, SSAValue) or isinstance(right, SSAValue):
        return scalars.arithmetic(builder, operator, left, right)
    return _folded(f"{left!r} {sign} {right!r}", FOLDED[sign], left, right)


FOLDED: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "/": lambda a, b: a / b,
    "**": lambda a, b: a**b,
    "@": lambda a, b: a @ b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
}


def _folded(text: str, function: Callable[..., Any], *operands: Value) -> Value:
    """What Python makes of constants."""
    try:
        return function(*operands)
    except TTLError:
        raise
    except Exception as error:
        raise RuleBroken(codes.WRONG_ARGUMENT, f"{text}: {error}") from None


def unary_expression(builder: KernelBuilder, node: ast.UnaryOp) -> Value:
    value = expression(builder, node.operand)
    if isinstance(node.op, ast.Not):
        return scalars.negation(builder, value)
    if is_block(value):
        if not isinstance(node.op, ast.USub):
            raise RuleBroken(
                codes.WRONG_ARGUMENT,
                f"unary {UNARY[type(node.op)][0]} does not work on {describe(value)}",
                helps=(SIGNS_OF_BLOCKS,),
            )
        return block_math(builder, BLOCK_OPS["neg"], [value])
    sign, fold, run_time = UNARY[type(node.op)]
    if isinstance(value, SSAValue):
        return run_time(builder, value)
    return _folded(f"{sign}{value!r}", fold, value)


UNARY: dict[type[ast.unaryop], tuple[str, Callable[[Any], Any], Callable[..., Value]]] = {
    ast.USub: ("-", lambda a: -a, scalars.negate),
    ast.UAdd: ("+", lambda a: +a, lambda builder, value: scalars.as_kind(
        builder, value, scalars.common_kind(*scalars.scalar_kinds("+", value), int))),
    ast.Invert: ("~", lambda a: ~a, scalars.invert),
}  # fmt: skip


def comparison(builder: KernelBuilder, node: ast.Compare) -> Value:
    """`a < b <= c`: b is evaluated once, c only if it matters."""
    return _compared(builder, expression(builder, node.left), node.ops, node.comparators)


def _compared(
    builder: KernelBuilder, left: Value, ops: list[ast.cmpop], rest: list[ast.expr]
) -> Value:
    right = expression(builder, rest[0])
    first = _compare(builder, ops[0], left, right)
    if len(ops) == 1:
        return first
    return choose(
        builder, first, lambda: _compared(builder, right, ops[1:], rest[1:]), lambda: False
    )


def _compare(builder: KernelBuilder, operator: ast.cmpop, left: Value, right: Value) -> Value:
    sign = COMPARISONS[type(operator)][0]
    if (is_block(left) or is_block(right)) and sign in BY_OPERATOR:
        return block_math(builder, BY_OPERATOR[sign], [left, right])
    if isinstance(operator, (ast.Is, ast.IsNot)) and not _are_scalars(left, right):
        return (left is right) is isinstance(operator, ast.Is)
    left, right = _known_text(builder, left), _known_text(builder, right)
    bounds = (right.start, right.stop, right.step) if isinstance(right, RangeValue) else right
    if is_run_time(left) or is_run_time(bounds):
        if isinstance(left, (tuple, list)) and sign in ("==", "!=", "in", "not in"):
            items = list(right) if sign.endswith("in") else [right]
            found = _is_among(builder, left, items)
            return scalars.negation(builder, found) if "not" in sign or "!" in sign else found
        if isinstance(right, RangeValue):
            found = _is_in_range(builder, left, right)
            return scalars.negation(builder, found) if "not" in sign else found
        return scalars.compare(builder, operator, left, right)
    if isinstance(right, RangeValue):
        right = range(right.start, right.stop, right.step)
    return _folded(f"{left!r} {sign} {right!r}", COMPARISONS[type(operator)][1], left, right)


def _is_in_range(builder: KernelBuilder, value: Value, steps: RangeValue) -> Value:
    """`value in range(...)` without going over it."""
    if is_run_time(steps.step) or scalars.kind_of(value) is not int:
        raise not_in_kernels(f"`in` of a range for {describe(value)}, or with a run-time step")

    def compared(sign: ast.cmpop, one: Value, other: Value) -> Callable[[], Value]:
        return lambda: _compare(builder, sign, one, other)

    first, last = (ast.GtE(), ast.Lt()) if steps.step > 0 else (ast.LtE(), ast.Gt())
    distance = binary(builder, ast.Sub(), value, steps.start)
    rest = binary(builder, ast.Mod(), distance, steps.step)
    tests = [compared(first, value, steps.start), compared(last, value, steps.stop),
             compared(ast.Eq(), rest, 0)]  # fmt: skip
    return reduce(
        lambda so_far, test: choose(builder, so_far, test, lambda: False), tests[1:], tests[0]()
    )


def _are_equal(builder: KernelBuilder, left: Value, right: Value) -> Value:
    """Of containers: item by item, until two differ."""
    if not isinstance(left, (tuple, list)):
        return _compare(builder, ast.Eq(), left, right)
    if type(left) is not type(right) or len(left) != len(right):
        return False
    if not left:
        return True
    first = _are_equal(builder, left[0], right[0])
    return choose(
        builder, first, lambda: _are_equal(builder, left[1:], right[1:]), lambda: False
    )


def _is_among(builder: KernelBuilder, value: Value, items: list[Value]) -> Value:
    if not items:
        return False
    first = _are_equal(builder, value, items[0])
    return choose(builder, first, lambda: True, lambda: _is_among(builder, value, items[1:]))


def _are_scalars(*values: Value) -> bool:
    return all(scalars.kind_of(value) is not None for value in values)


COMPARISONS: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], bool]]] = {
    ast.Lt: ("<", lambda a, b: a < b),
    ast.LtE: ("<=", lambda a, b: a <= b),
    ast.Gt: (">", lambda a, b: a > b),
    ast.GtE: (">=", lambda a, b: a >= b),
    ast.Eq: ("==", lambda a, b: a == b),
    ast.NotEq: ("!=", lambda a, b: a != b),
    ast.Is: ("is", lambda a, b: a is b),
    ast.IsNot: ("is not", lambda a, b: a is not b),
    ast.In: ("in", lambda a, b: a in b),
    ast.NotIn: ("not in", lambda a, b: a not in b),
}


def boolean_expression(builder: KernelBuilder, node: ast.BoolOp) -> Value:
    """`and` gives its first operand that is false, `or` the first that is true, else the last."""
    return _boolean(builder, isinstance(node.op, ast.And), node.values)


def _boolean(builder: KernelBuilder, is_and: bool, nodes: list[ast.expr]) -> Value:
    first = expression(builder, nodes[0])
    if len(nodes) == 1:
        return first

    def rest() -> Value:
        return _boolean(builder, is_and, nodes[1:])

    def itself() -> Value:
        return first

    return choose(builder, first, *((rest, itself) if is_and else (itself, rest)))


def conditional_expression(builder: KernelBuilder, node: ast.IfExp) -> Value:
    return choose(
        builder,
        expression(builder, node.test),
        lambda: expression(builder, node.body),
        lambda: expression(builder, node.orelse),
    )


# Calls --------------------------------------------------------------------------------------------


def call_expression(builder: KernelBuilder, node: ast.Call) -> Value:
    arguments = _items(builder, node.args)
    keywords: dict[str, Value] = {}
    for keyword in node.keywords:
        value = expression(builder, keyword.value)
        keywords |= value if keyword.arg is None else {keyword.arg: value}
    if isinstance(node.func, ast.Attribute):
        owner = expression(builder, node.func.value)
        if (found := find_method(builder, owner, node.func.attr)) is not None:
            method, owner = found
            return _handled(builder, method, [owner, *arguments], keywords)
        return call(builder, attribute_of(builder, owner, node.func.attr), arguments, keywords)
    return call(builder, expression(builder, node.func), arguments, keywords)


def find_method(
    builder: KernelBuilder, owner: Value, name: str
) -> tuple[Callable[..., Value], Value] | None:
    """The handler of a method of the language, or of one that changes a container."""
    if (found := call_method(builder, owner, name)) is not None:
        return found
    changing = changing_method(owner, name)
    return None if changing is None else (changing, owner)


def _handled(
    builder: KernelBuilder,
    handler: Callable[..., Value],
    arguments: list[Value],
    keywords: dict[str, Value],
) -> Value:
    try:
        return handler(builder, *arguments, **keywords)
    except TypeError:
        try:
            inspect.signature(handler).bind(builder, *arguments, **keywords)
        except TypeError as error:  # the call itself is wrong, not something in it
            called = "Block.store" if handler is store else ""
            helps = [OLD_ARGUMENTS[called, k] for k in keywords if (called, k) in OLD_ARGUMENTS]
            message = f"in this call: {error}"
            raise RuleBroken(codes.WRONG_ARGUMENT, message, helps=tuple(helps)) from None
        raise


def call(
    builder: KernelBuilder, function: Value, arguments: list[Value], keywords: dict[str, Value]
) -> Value:
    if isinstance(function, BoundMethod):
        return _handled(builder, function.method, [function.owner, *arguments], keywords)
    if isinstance(function, partial):
        bound = function.keywords | keywords
        return call(builder, function.func, [*function.args, *arguments], bound)
    if isinstance(function, MethodType) and _is_users(function.__func__):
        return builder.inline(function.__func__, [function.__self__, *arguments], keywords)
    if isinstance(function, (MethodType, BuiltinFunctionType)):
        owner = function.__self__
        if (found := find_method(builder, owner, function.__name__)) is not None:
            method, owner = found
            return _handled(builder, method, [owner, *arguments], keywords)
    if isinstance(function, (LocalFunction, NodeFunctions)) or _is_users(function):
        return builder.inline(function, arguments, keywords)
    handler = CALLS.get(function) if _is_hashable(function) else None
    if handler is not None:
        return _handled(builder, handler, arguments, keywords)
    python = PYTHON.get(function) if _is_hashable(function) else None
    given = [*arguments, *keywords.values()]
    if python is not None and (function in ALWAYS or is_run_time(given) or has_block(given)):
        return _handled(builder, python, arguments, keywords)
    if has_block(given) or not _is_pure(function):
        raise not_yet(f"calls of {called(function)!r}")
    if is_run_time(given):
        arguments = [_as_constant(builder, function, value) for value in arguments]
        keywords = {name: _as_constant(builder, function, v) for name, v in keywords.items()}
    constants = [list(iterated(g)) if isinstance(g, RangeValue) else g for g in arguments]
    return _folded(called(function), lambda: function(*constants, **keywords))


def _as_constant(builder: KernelBuilder, function: Value, value: Value) -> Value:
    """What a function of Python gets."""
    if isinstance(value, (tuple, list)):
        return type(value)(_as_constant(builder, function, item) for item in value)
    if not isinstance(value, SSAValue):
        return value
    number = known_number(builder, value)
    if number is None:
        what = f"calls of {called(function)!r} on values that are known only at run time"
        raise needs_constant(builder, value, what)
    return number


def has_block(values: Any) -> bool:
    return any(
        has_block(value) if isinstance(value, (tuple, list)) else is_block(value)
        for value in values
    )


def _is_users(function: Value) -> bool:
    return isinstance(function, FunctionType) and not is_pyttl_file(function.__code__.co_filename)


def _is_hashable(value: Value) -> bool:
    return callable(value) and type(value).__hash__ is not None


def _is_pure(function: Value) -> bool:
    """Can it be called now, on constants?"""
    if function in PURE:
        return True
    if isinstance(function, BuiltinFunctionType):
        owner = function.__self__
        return owner is math or isinstance(owner, (int, float, *READ_ONLY))
    if isinstance(function, type) and issubclass(function, (np.generic, BaseException)):
        return True
    return isinstance(function, MethodType) and isinstance(function.__self__, (int, float, str))


def called(function: Value) -> str:
    name = str(getattr(function, "__name__", function))
    owner = getattr(function, "__self__", None)
    return f"{type(owner).__name__}.{name}" if isinstance(function, MethodType) else name


# Their methods that change them are found before.
READ_ONLY: tuple[type, ...] = (str, tuple, range, list, dict, set, frozenset, type({}.keys()))

PURE = (
    abs, all, any, bool, callable, chr, divmod, float, format, frozenset, hash, hex, int,
    issubclass, len, max, min, ord, pow, repr, round, slice, sorted, str, sum, tuple,
    type,
)  # fmt: skip


def length(builder: KernelBuilder, value: Value) -> Value:
    if isinstance(value, RangeValue) and value.count is not None:
        return value.count
    if is_block(value) and (shape := operand_type(value).shape) is not None:
        return prod(shape)
    if isinstance(value, (SSAValue, RangeValue)) or not hasattr(value, "__len__"):
        raise RuleBroken(codes.WRONG_ARGUMENT, f"len() of {describe(value)}")
    return len(value)


def is_instance(builder: KernelBuilder, value: Value, kinds: Value) -> Value:
    """isinstance(); of a run-time value as of what it is in Python."""
    if not isinstance(value, SSAValue):
        return isinstance(value, kinds)
    builder.tells_kinds = True
    found = scalars.kind_of(value)
    if found is None:
        is_transfer = isinstance(value.type, ttl.TransferType)
        found = Transfer if is_transfer else Block if is_acquired(value) else BlockExpression
    return issubclass(found, kinds)


def absolute(builder: KernelBuilder, value: Value) -> Value:
    if is_block(value):
        return block_math(builder, BLOCK_OPS["abs"], [value])
    return scalars.absolute(builder, value)


def slice_object(builder: KernelBuilder, *parts: Value) -> Value:
    return slice(*parts)


def tuple_of(builder: KernelBuilder, value: Value = ()) -> Value:
    return tuple(iterated(value))


def list_of(builder: KernelBuilder, value: Value = ()) -> Value:
    return new(builder, iterated(value))


def set_of(builder: KernelBuilder, value: Value = ()) -> Value:
    return new(builder, set(iterated(value)))


def dict_of(builder: KernelBuilder, value: Value = (), **items: Value) -> Value:
    return new(builder, dict(value, **items))


def enumerated(builder: KernelBuilder, value: Value, start: Value = 0) -> Value:
    numbers = [binary(builder, ast.Add(), start, n) for n in range(len(iterated(value)))]
    return new(builder, list(zip(numbers, iterated(value), strict=True)))


def zipped(builder: KernelBuilder, *values: Value, strict: Value = False) -> Value:
    columns = [iterated(value) for value in values]
    if strict and len({len(column) for column in columns}) > 1:
        raise RuleBroken(codes.WRONG_ARGUMENT, "zip() of different lengths")
    return new(builder, list(zip(*columns, strict=False)))


def backwards(builder: KernelBuilder, value: Value) -> Value:
    return new(builder, iterated(value)[::-1])


def mapped(builder: KernelBuilder, function: Value, *values: Value) -> Value:
    rows = zip(*(iterated(value) for value in values), strict=False)
    return new(builder, [call(builder, function, list(row), {}) for row in rows])


def in_order(
    builder: KernelBuilder, value: Value, *, key: Value = None, reverse: Value = False
) -> Value:
    items = iterated(value)
    keys = items if key is None else [call(builder, key, [item], {}) for item in items]
    if is_run_time(keys):
        raise not_yet("sorted() of run-time values")
    positions = sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)
    return new(builder, [items[position] for position in positions])


def total(builder: KernelBuilder, values: Value, start: Value = 0) -> Value:
    for value in iterated(values):
        start = binary(builder, ast.Add(), start, value)
    return start


def any_true(builder: KernelBuilder, values: Value) -> Value:
    return _truth_of(builder, iterated(values), False)


def all_true(builder: KernelBuilder, values: Value) -> Value:
    return _truth_of(builder, iterated(values), True)


def _truth_of(builder: KernelBuilder, values: list[Value], is_all: bool) -> Value:
    found: Value = is_all
    for value in values:
        now, so_far = scalars.truth(builder, value), found

        def last(now: Value = now) -> Value:
            return now

        def first(so_far: Value = so_far) -> Value:
            return so_far

        found = choose(builder, so_far, *((last, first) if is_all else (first, last)))
    return found


def quotient_and_rest(builder: KernelBuilder, one: Value, other: Value) -> Value:
    return tuple(binary(builder, operator, one, other) for operator in (ast.FloorDiv(), ast.Mod()))


def extreme(function: Callable[..., Any], sign: ast.cmpop) -> Callable[..., Value]:
    """min() or max(): of equal values the first; what is chosen keeps its kind."""

    def better(builder: KernelBuilder, one: Value, other: Value) -> Value:
        is_better = scalars.compare(builder, sign, other, one)
        return choose(builder, is_better, lambda: other, lambda: one)

    def made(builder: KernelBuilder, *values: Value) -> Value:
        values = tuple(iterated(values[0])) if len(values) == 1 else values
        kinds = scalars.scalar_kinds(f"{function.__name__}()", *values)
        if {*kinds} <= {int}:
            return scalars.extreme(builder, function, values)
        return reduce(lambda one, other: better(builder, one, other), values)

    return made


PYTHON: dict[Any, Callable[..., Value]] = {
    range: range_value,
    list: list_of,
    dict: dict_of,
    set: set_of,
    tuple: tuple_of,
    enumerate: enumerated,
    zip: zipped,
    reversed: backwards,
    map: mapped,
    sorted: in_order,
    getattr: get_attribute,
    hasattr: has_attribute,
    setattr: set_attribute,
    isinstance: is_instance,
    min: extreme(min, ast.Lt()),
    max: extreme(max, ast.Gt()),
    divmod: quotient_and_rest,
    math.floor: scalars.floor,
    math.ceil: scalars.ceil,
    math.trunc: scalars.to_int,
    round: scalars.rounded,
    abs: absolute,
    len: length,
    int: scalars.to_int,
    float: scalars.to_float,
    bool: scalars.truth,
    slice: slice_object,
    sum: total,
    any: any_true,
    all: all_true,
}
# Python's own would not see what the items are, or would give what a kernel may not keep.
ALWAYS = (
    range, list, dict, set, tuple, enumerate, zip, reversed, map, sorted, getattr, hasattr, setattr,
    isinstance, len,
)  # fmt: skip


def steps_of(value: Value) -> RangeValue | None:
    """What a `for` can go over."""
    if isinstance(value, range):
        return RangeValue(value.start, value.stop, value.step)
    return value if isinstance(value, RangeValue) else None


EXPRESSIONS: dict[type[ast.expr], Callable[[KernelBuilder, Any], Value]] = {
    ast.Constant: constant,
    ast.Name: name,
    ast.Tuple: tuple_display,
    ast.List: list_display,
    ast.Set: set_display,
    ast.Dict: dict_display,
    ast.ListComp: list_comprehension,
    ast.GeneratorExp: list_comprehension,
    ast.SetComp: set_comprehension,
    ast.DictComp: dict_comprehension,
    ast.Slice: slice_display,
    ast.JoinedStr: text,
    ast.NamedExpr: named_expression,
    ast.Lambda: lambda_function,
    ast.Attribute: attribute,
    ast.Subscript: subscript,
    ast.BinOp: binary_expression,
    ast.UnaryOp: unary_expression,
    ast.Compare: comparison,
    ast.BoolOp: boolean_expression,
    ast.IfExp: conditional_expression,
    ast.Call: call_expression,
}
