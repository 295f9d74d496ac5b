"""Expressions of a kernel. Handlers are plain functions, one for each syntax class."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from ttl.diagnostics import RuleBroken, codes
from ttl.diagnostics.names import UnknownNameError
from ttl.dialects import ttl
from ttl.semantics.ops import BY_OPERATOR

from .builder import KernelBuilder, Value, describe, not_yet
from .calls import Fill, block_math, call_function, call_method, tensor_slice


def expression(builder: KernelBuilder, node: ast.expr) -> Value:
    handler = EXPRESSIONS.get(type(node))
    with builder.at(node):
        if handler is None:
            raise not_yet(f"`{type(node).__name__}` expressions")
        return handler(builder, node)


def constant(builder: KernelBuilder, node: ast.Constant) -> Value:
    return node.value


def name(builder: KernelBuilder, node: ast.Name) -> Value:
    return builder.lookup(node.id)


def tuple_display(builder: KernelBuilder, node: ast.Tuple) -> Value:
    return tuple(expression(builder, item) for item in node.elts)


def slice_display(builder: KernelBuilder, node: ast.Slice) -> Value:
    parts = (node.lower, node.upper, node.step)
    return slice(*(None if part is None else expression(builder, part) for part in parts))


def attribute(builder: KernelBuilder, node: ast.Attribute) -> Value:
    owner = expression(builder, node.value)
    if isinstance(owner, SSAValue):
        raise not_yet(f"`.{node.attr}` of {describe(owner)}")
    try:
        return getattr(owner, node.attr)
    except UnknownNameError as error:
        found = error.diagnostics[0]
        raise RuleBroken(found.code, found.message, helps=found.helps, notes=found.notes) from None
    except AttributeError as error:
        raise RuleBroken(codes.UNKNOWN_NAME, str(error)) from None


def binary_expression(builder: KernelBuilder, node: ast.BinOp) -> Value:
    left, right = expression(builder, node.left), expression(builder, node.right)
    return binary(builder, node.op, left, right)


def binary(builder: KernelBuilder, operator: ast.operator, left: Value, right: Value) -> Value:
    sign, fold = OPERATORS.get(type(operator), (type(operator).__name__, None))
    if not isinstance(left, (SSAValue, Fill)) and not isinstance(right, (SSAValue, Fill)):
        return _fold(fold, sign, left, right)
    if _is_block(left) or _is_block(right):
        if sign not in BY_OPERATOR:
            raise not_yet(f"`{sign}` on blocks")
        return block_math(builder, BY_OPERATOR[sign], [left, right])
    if type(operator) not in INDEX_OPS:
        raise not_yet(f"`{sign}` on run-time integers")
    made = INDEX_OPS[type(operator)](builder.index(left), builder.index(right))
    return builder.value(made)


def _is_block(value: Value) -> bool:
    return isinstance(value, Fill) or (
        isinstance(value, SSAValue) and ttl.is_block_value(value.type)
    )


def unary_expression(builder: KernelBuilder, node: ast.UnaryOp) -> Value:
    """Signs of constants; the language has no unary operators on blocks."""
    value = expression(builder, node.operand)
    if not isinstance(node.op, (ast.USub, ast.UAdd)) or not isinstance(value, (int, float)):
        raise not_yet(f"`{type(node.op).__name__}` of {describe(value)}")
    return -value if isinstance(node.op, ast.USub) else +value


def _fold(fold: Callable[[Any, Any], Any] | None, sign: str, left: Value, right: Value) -> Value:
    if fold is None:
        raise not_yet(f"`{sign}`")
    try:
        return fold(left, right)
    except Exception as error:
        raise RuleBroken(codes.WRONG_ARGUMENT, f"{left!r} {sign} {right!r}: {error}") from None


OPERATORS: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", lambda a, b: a + b),
    ast.Sub: ("-", lambda a, b: a - b),
    ast.Mult: ("*", lambda a, b: a * b),
    ast.FloorDiv: ("//", lambda a, b: a // b),
    ast.Mod: ("%", lambda a, b: a % b),
    ast.Div: ("/", lambda a, b: a / b),
    ast.Pow: ("**", lambda a, b: a**b),
    ast.MatMult: ("@", lambda a, b: a @ b),
    ast.BitXor: ("^", lambda a, b: a ^ b),
}
INDEX_OPS: dict[type[ast.operator], Callable[[SSAValue, SSAValue], Operation]] = {
    ast.Add: arith.AddiOp,
    ast.Sub: arith.SubiOp,
    ast.Mult: arith.MuliOp,
}


def call_expression(builder: KernelBuilder, node: ast.Call) -> Value:
    arguments = [expression(builder, argument) for argument in node.args]
    keywords = {k.arg: expression(builder, k.value) for k in node.keywords if k.arg}
    if isinstance(node.func, ast.Attribute):
        owner = expression(builder, node.func.value)
        if (method := call_method(owner, node.func.attr)) is not None:
            return method(builder, owner, *arguments, **keywords)
    return call_function(builder, expression(builder, node.func), arguments, keywords)


def subscript(builder: KernelBuilder, node: ast.Subscript) -> Value:
    owner = expression(builder, node.value)
    index = expression(builder, node.slice)
    if id(owner) in builder.tensors:
        return tensor_slice(builder, owner, index)
    if isinstance(owner, SSAValue) or isinstance(index, SSAValue):
        raise not_yet(f"indexing {describe(owner)}")
    try:
        return owner[index]
    except Exception as error:
        raise RuleBroken(codes.WRONG_ARGUMENT, f"{type(error).__name__}: {error}") from None


EXPRESSIONS: dict[type[ast.expr], Callable[[KernelBuilder, Any], Value]] = {
    ast.Constant: constant,
    ast.Name: name,
    ast.Tuple: tuple_display,
    ast.Slice: slice_display,
    ast.Attribute: attribute,
    ast.BinOp: binary_expression,
    ast.UnaryOp: unary_expression,
    ast.Call: call_expression,
    ast.Subscript: subscript,
}
