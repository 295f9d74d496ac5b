"""Expressions of a kernel. Handlers are plain functions, one for each syntax class."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from ttl.diagnostics import RuleBroken, codes
from ttl.semantics.numpy_numbers import python_number
from ttl.source import tree

from .attributes import attribute_of, find_method
from .builder import KernelBuilder
from .dispatch import call, handled
from .functions import local_function
from .generators import Generator, function_of
from .hir import Scalar, Value, is_run_time
from .in_python import in_python
from .items import comprehended, dict_of, iterated, set_of
from .joins import choose
from .node_values import PerNode
from .operators import binary, compare, logic, unary
from .problems import describe, not_in_kernels, raised
from .subscripts import item_at
from .texts import CONVERSIONS, RunTimeText, spec_of_text
from .value_ranges import of_this_path


def expression(builder: KernelBuilder, node: tree.Expression) -> Any:
    handler = EXPRESSIONS.get(type(node))
    outer, builder.node = builder.node, node  # like builder.at(), which is slower
    try:
        if handler is None:
            raise not_in_kernels(f"`{getattr(node, 'kind', type(node).__name__)}` expressions")
        return python_number(of_this_path(builder, handler(builder, node)))
    except RuleBroken as broken:
        raise builder.mistake(broken) from None
    finally:
        builder.node = outer


def table(builder: KernelBuilder, node: tree.Table) -> Value:
    found: dict[object, Value] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            found |= expression(builder, value)
        else:
            made = expression(builder, key)
            if is_run_time(made):
                raise not_in_kernels("a key that is known only at run time")
            if isinstance(made, PerNode):
                in_python(hash, made)
                raise codes.NODES_DIFFER.broken(f"a key of a dict that is {describe(made)}")
            found[made] = expression(builder, value)
    return builder.new(found)


def comprehension(builder: KernelBuilder, node: tree.Comprehension) -> Value:
    key = node.key
    if node.kind == "generator":
        return _generator(builder, node)
    if key is None:
        items = comprehended(builder, node, lambda: expression(builder, node.value))
        return set_of(builder, items) if node.kind == "set" else builder.new(items)

    def pair() -> tuple[object, Value]:
        return expression(builder, key), expression(builder, node.value)

    return dict_of(builder, comprehended(builder, node, pair))


def _generator(builder: KernelBuilder, node: tree.Comprehension) -> Generator:
    """Evaluate the first sequence now, and the rest when the generator is consumed."""
    variable, function = function_of(node)
    frame = builder.new_frame(builder.frame.file, node.scope, builder.frame)
    first = expression(builder, node.generators[0].over)
    builder.state.values[frame.variable(variable)] = first

    def items() -> list[Value]:
        outer, builder.frame = builder.frame, made_in
        try:
            return comprehended(builder, node, lambda: expression(builder, node.value), first)
        finally:
            builder.frame = outer

    made_in = builder.frame
    return Generator(builder, function, frame, builder.loop, items)


def sequence(builder: KernelBuilder, node: tree.Sequence) -> Value:
    items = _items(builder, node.items)
    if node.kind == "tuple":
        return tuple(items)
    return set_of(builder, items) if node.kind == "set" else builder.new(items)


def _items(builder: KernelBuilder, nodes: Iterable[tree.Expression]) -> list[Value]:
    """Evaluate the items of a display or of arguments, with `*values`."""
    items: list[Value] = []
    for node in nodes:
        if isinstance(node, tree.Starred):
            items += iterated(expression(builder, node.value))
        else:
            items.append(expression(builder, node))
    return items


def slice_display(builder: KernelBuilder, node: tree.Slice) -> Value:
    parts = (node.start, node.stop, node.step)
    return slice(*(None if part is None else expression(builder, part) for part in parts))


def text(builder: KernelBuilder, node: tree.Text) -> Value:
    """Evaluate an f-string; only print() takes one with run-time values."""
    pieces: list[str | tuple[Scalar, str]] = []
    for part in node.pieces:
        if isinstance(part, tree.Formatted):
            pieces += _formatted(builder, part)
        else:
            pieces.append(str(expression(builder, part)))
    if any(isinstance(piece, tuple) for piece in pieces):
        return RunTimeText(tuple(pieces))
    return "".join(map(str, pieces))


def _formatted(builder: KernelBuilder, part: tree.Formatted) -> list[str | tuple[Scalar, str]]:
    value = expression(builder, part.value)
    spec = "" if part.spec is None else expression(builder, part.spec)
    if isinstance(value, RunTimeText):
        return list(value.parts)
    if not isinstance(spec, str):
        raise not_in_kernels("formats that are known only at run time, in texts")
    if not is_run_time(value):
        value = CONVERSIONS[part.conversion](value)
        return [str(of_this_path(builder, in_python(format, value, spec)))]
    if not isinstance(value, Scalar):
        raise not_in_kernels(f"text with {describe(value)}")
    return [(value, spec if part.conversion == -1 else spec_of_text(value, spec))]


def bound_expression(builder: KernelBuilder, node: tree.Bind) -> Value:
    value = expression(builder, node.value)
    builder.assign(node.target.binding, value)
    return value


# Items --------------------------------------------------------------------------------------------


def item(builder: KernelBuilder, node: tree.Item) -> Value:
    return item_at(builder, expression(builder, node.owner), expression(builder, node.index))


# Operators ----------------------------------------------------------------------------------------


def binary_expression(builder: KernelBuilder, node: tree.Binary) -> Value:
    left, right = expression(builder, node.left), expression(builder, node.right)
    return binary(builder, node.sign, left, right)


def comparison(builder: KernelBuilder, node: tree.Compare) -> Value:
    """Evaluate `a < b <= c`: b once, c only if needed."""
    left = expression(builder, node.first)

    def step(sign: str, other: tree.Expression) -> Value:
        nonlocal left
        one, left = left, expression(builder, other)
        return compare(builder, sign, one, left)

    pairs = zip(node.signs, node.others, strict=True)
    return logic(builder, True, [partial(step, *pair) for pair in pairs])


def choice(builder: KernelBuilder, node: tree.Choice) -> Value:
    return choose(
        builder,
        expression(builder, node.test),
        lambda: expression(builder, node.then),
        lambda: expression(builder, node.otherwise),
    )


# Calls --------------------------------------------------------------------------------------------


def call_expression(builder: KernelBuilder, node: tree.Call) -> Value:
    function = node.function
    first = function.owner if isinstance(function, tree.Attribute) else function
    called = expression(builder, first)
    arguments = _items(builder, node.arguments)
    keywords: dict[str, Value] = {}
    for keyword in node.keywords:
        value = expression(builder, keyword.value)
        if keyword.name is None and not isinstance(value, dict):
            error = f"TypeError: argument after ** must be a mapping, not {describe(value)}"
            raise raised(error)
        keywords |= value if keyword.name is None else {keyword.name: value}
    if not isinstance(function, tree.Attribute):
        return call(builder, called, arguments, keywords)
    if (found := find_method(builder, called, function.name)) is not None:
        method, owner = found
        return handled(builder, method, [owner, *arguments], keywords, function.name)
    return call(builder, attribute_of(builder, called, function.name), arguments, keywords)


EXPRESSIONS: dict[type[tree.Node], Callable[..., Value]] = {
    tree.Constant: lambda builder, node: node.value,
    tree.Name: lambda builder, node: builder.lookup(node.binding),
    tree.Sequence: sequence,
    tree.Table: table,
    tree.Comprehension: comprehension,
    tree.Slice: slice_display,
    tree.Text: text,
    tree.Bind: bound_expression,
    tree.Function: local_function,
    tree.Attribute: lambda builder, node: attribute_of(
        builder, expression(builder, node.owner), node.name
    ),
    tree.Item: item,
    tree.Binary: binary_expression,
    tree.Unary: lambda builder, node: unary(builder, node.sign, expression(builder, node.operand)),
    tree.Compare: comparison,
    tree.Logic: lambda builder, node: logic(
        builder, node.sign == "and", [partial(expression, builder, each) for each in node.operands]
    ),
    tree.Choice: choice,
    tree.Call: call_expression,
    tree.LanguageCall: call_expression,
}
