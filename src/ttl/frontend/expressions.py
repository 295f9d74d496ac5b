"""Expressions of a kernel. Handlers are plain functions, one for each syntax class."""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from xdsl.ir import SSAValue

from ttl.diagnostics import RuleBroken, TTLError, codes
from ttl.diagnostics.frames import is_pyttl_file
from ttl.diagnostics.names import UnknownNameError
from ttl.dialects import ttl
from ttl.dialects.ttcore import block_type
from ttl.semantics.ops import BLOCK_OPS, BY_OPERATOR

from . import scalars
from .block_math import block_math, is_block
from .branches import choose
from .builder import KernelBuilder, Value, describe, not_in_kernels, not_yet
from .calls import CALLS, SUBSCRIPTS, call_method
from .data_movement import tensor_slice
from .environment import NodeFunctions, NodeObjects
from .functions import LocalFunction, local_function
from .loops import RangeValue, range_value
from .pipes import is_pipe, pipe_attribute
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
    return _items(builder, node.elts)


def _items(builder: KernelBuilder, nodes: list[ast.expr]) -> list[Value]:
    """The values of a display or of arguments, `*values` among them."""
    items: list[Value] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            rest = expression(builder, node.value)
            if not isinstance(rest, (tuple, list)):
                raise not_in_kernels(f"`*` of {describe(rest)}")
            items += rest
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


def _formatted(
    builder: KernelBuilder, part: ast.FormattedValue
) -> list[str | tuple[SSAValue, str]]:
    value = expression(builder, part.value)
    spec = "" if part.format_spec is None else expression(builder, part.format_spec)
    if isinstance(value, RunTimeText):
        return list(value.parts)
    if part.conversion != -1 or not isinstance(spec, str):
        raise not_in_kernels("conversions, and formats that are known only at run time, in texts")
    if not is_run_time(value):
        return [_folded("this text", format, value, spec)]
    if scalars.kind_of(value) is None:
        raise not_in_kernels(f"text with {describe(value)}")
    return [(value, spec)]


def named_expression(builder: KernelBuilder, node: ast.NamedExpr) -> Value:
    value = expression(builder, node.value)
    builder.assign(node.target.id, value)
    return value


def lambda_function(builder: KernelBuilder, node: ast.Lambda) -> Value:
    return local_function(builder, node, lambda default: expression(builder, default))


# Attributes and items -----------------------------------------------------------------------------


def attribute(builder: KernelBuilder, node: ast.Attribute) -> Value:
    owner = expression(builder, node.value)
    if isinstance(owner, NodeObjects):
        return owner.attribute(node.attr, builder.runtime_argument)
    if is_pipe(owner):
        return pipe_attribute(builder, owner, node.attr)
    if isinstance(owner, SSAValue):
        return _block_attribute(owner, node.attr)
    if node.attr == "shape" and builder.is_tensor(owner):
        return tuple(owner.shape)  # the real ttnn's is not one
    try:
        return getattr(owner, node.attr)
    except UnknownNameError as error:
        found = error.diagnostics[0]
        raise RuleBroken(found.code, found.message, helps=found.helps, notes=found.notes) from None
    except AttributeError as error:
        raise RuleBroken(codes.UNKNOWN_NAME, str(error)) from None


def _block_attribute(owner: SSAValue, name: str) -> Value:
    if ttl.is_block_value(owner.type) and name in ("shape", "dtype", "layout"):
        return getattr(block_type(owner.type), name)
    raise not_yet(f"`.{name}` of {describe(owner)}")


def subscript(builder: KernelBuilder, node: ast.Subscript) -> Value:
    owner = expression(builder, node.value)
    index = expression(builder, node.slice)
    if builder.is_tensor(owner):
        return tensor_slice(builder, owner, index)
    if (handler := SUBSCRIPTS.get(type(owner))) is not None:
        return handler(builder, owner, index)
    if isinstance(owner, SSAValue):
        raise not_in_kernels(f"indexing {describe(owner)}")
    if is_run_time(index):
        return _item_at_run_time(builder, owner, index)
    try:
        return owner[index]
    except Exception as error:
        raise RuleBroken(codes.WRONG_ARGUMENT, f"{type(error).__name__}: {error}") from None


def _item_at_run_time(builder: KernelBuilder, owner: Value, index: Value) -> Value:
    """An item of a tuple or list of numbers: one condition after the other."""
    if not isinstance(owner, (tuple, list)) or scalars.kind_of(index) is not int or not owner:
        raise not_yet(f"indexing {describe(owner)} at run time")
    scalars.scalar_kinds("[]", *owner)

    def item(position: int) -> Value:
        if position == len(owner) - 1:
            return owner[position]
        is_here = scalars.compare(builder, ast.Eq(), index, position)
        return choose(builder, is_here, lambda: owner[position], lambda: item(position + 1))

    return item(0)


# Operators ----------------------------------------------------------------------------------------


def binary_expression(builder: KernelBuilder, node: ast.BinOp) -> Value:
    left, right = expression(builder, node.left), expression(builder, node.right)
    return binary(builder, node.op, left, right)


def binary(builder: KernelBuilder, operator: ast.operator, left: Value, right: Value) -> Value:
    sign = scalars.SIGNS[type(operator)]
    if is_block(left) or is_block(right):
        if sign not in BY_OPERATOR:
            raise not_yet(f"`{sign}` on blocks")
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
            raise not_in_kernels(f"`{UNARY[type(node.op)][0]}` of a block")
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
    if is_block(left) or is_block(right):
        if sign not in BY_OPERATOR:
            raise not_yet(f"`{sign}` on blocks")
        return block_math(builder, BY_OPERATOR[sign], [left, right])
    if is_run_time(left) or is_run_time(right):
        if isinstance(left, (tuple, list)) and sign in ("==", "!=", "in", "not in"):
            items = list(right) if sign.endswith("in") else [right]
            found = _is_among(builder, left, items)
            return scalars.negation(builder, found) if "not" in sign or "!" in sign else found
        return scalars.compare(builder, operator, left, right)
    return _folded(f"{left!r} {sign} {right!r}", COMPARISONS[type(operator)][1], left, right)


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
    if any(keyword.arg is None for keyword in node.keywords):
        raise not_in_kernels("`**` in a call")
    arguments = _items(builder, node.args)
    keywords = {k.arg: expression(builder, k.value) for k in node.keywords if k.arg}
    if isinstance(node.func, ast.Attribute):
        owner = expression(builder, node.func.value)
        if (found := call_method(builder, owner, node.func.attr)) is not None:
            method, owner = found
            return _handled(builder, method, [owner, *arguments], keywords)
    return call(builder, expression(builder, node.func), arguments, keywords)


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
            raise RuleBroken(codes.WRONG_ARGUMENT, f"in this call: {error}") from None
        raise


def call(
    builder: KernelBuilder, function: Value, arguments: list[Value], keywords: dict[str, Value]
) -> Value:
    if isinstance(function, (LocalFunction, NodeFunctions)) or _is_users(function):
        return builder.inline(function, arguments, keywords)
    handler = CALLS.get(function) if _is_hashable(function) else None
    if handler is not None:
        return _handled(builder, handler, arguments, keywords)
    python = PYTHON.get(function) if _is_hashable(function) else None
    given = [*arguments, *keywords.values()]
    if python is not None and (function is range or is_run_time(given) or has_block(given)):
        return _handled(builder, python, arguments, keywords)
    if is_run_time(given) or has_block(given) or not _is_pure(function):
        raise not_yet(f"calls of {called(function)!r}")
    return _folded(called(function), lambda: function(*arguments, **keywords))


def has_block(values: list[Value]) -> bool:
    return any(is_block(value) for value in values)


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
        return owner is math or isinstance(owner, (int, float, str, tuple, range))
    return isinstance(function, MethodType) and isinstance(function.__self__, (int, float, str))


def called(function: Value) -> str:
    name = str(getattr(function, "__name__", function))
    owner = getattr(function, "__self__", None)
    return f"{type(owner).__name__}.{name}" if isinstance(function, MethodType) else name


PURE = (
    abs, bool, divmod, float, int, isinstance, len, list, max, min, pow, repr, round, slice, str,
    sum, tuple,
)  # fmt: skip


def length(builder: KernelBuilder, value: Value) -> Value:
    if not isinstance(value, (tuple, list)):
        raise RuleBroken(codes.WRONG_ARGUMENT, f"len() of {describe(value)}")
    return len(value)


def absolute(builder: KernelBuilder, value: Value) -> Value:
    if is_block(value):
        return block_math(builder, BLOCK_OPS["abs"], [value])
    return scalars.absolute(builder, value)


def slice_object(builder: KernelBuilder, *parts: Value) -> Value:
    return slice(*parts)


def tuple_of(builder: KernelBuilder, value: Value) -> Value:
    if not isinstance(value, (tuple, list)):
        raise RuleBroken(codes.WRONG_ARGUMENT, f"tuple() of {describe(value)}")
    return tuple(value)


PYTHON: dict[Any, Callable[..., Value]] = {
    range: range_value,
    min: scalars.minimum,
    max: scalars.maximum,
    abs: absolute,
    len: length,
    int: scalars.to_int,
    float: scalars.to_float,
    bool: scalars.truth,
    slice: slice_object,
    tuple: tuple_of,
}


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
