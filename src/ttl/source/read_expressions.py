"""From `ast` to the tree: expressions, and the names that functions own."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from inspect import Parameter as Kinds
from typing import TYPE_CHECKING, Any

from . import tree
from .bindings import Place, Scope
from .tree import Expression

if TYPE_CHECKING:
    from .read import Reader

Definition = ast.FunctionDef | ast.AsyncFunctionDef
FunctionNode = Definition | ast.Lambda
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp

SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.LShift: "<<", ast.RShift: ">>", ast.And: "and", ast.Or: "or",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
UNARY_SIGNS: dict[type[ast.AST], str] = {
    ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not",
}  # fmt: skip


def place_of(node: Any) -> Place:
    return Place(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)


def _name(reader: Reader, node: ast.Name) -> Expression:
    kind = tree.Name if isinstance(node.ctx, ast.Load) else tree.Target
    return kind(place_of(node), reader.binding(node.id))


def _attribute(reader: Reader, node: ast.Attribute) -> Expression:
    return tree.Attribute(place_of(node), reader.expression(node.value), node.attr)


def _item(reader: Reader, node: ast.Subscript) -> Expression:
    owner, index = reader.expression(node.value), reader.expression(node.slice)
    return tree.Item(place_of(node), owner, index)


def _slice(reader: Reader, node: ast.Slice) -> Expression:
    ends = (reader.optional(each) for each in (node.lower, node.upper, node.step))
    return tree.Slice(place_of(node), *ends)


def _sequence(reader: Reader, node: ast.Tuple | ast.List | ast.Set) -> Expression:
    kind = type(node).__name__.lower()
    return tree.Sequence(place_of(node), kind, reader.expressions(node.elts))


def _table(reader: Reader, node: ast.Dict) -> Expression:
    keys = tuple(map(reader.optional, node.keys))
    return tree.Table(place_of(node), keys, reader.expressions(node.values))


def _unary(reader: Reader, node: ast.UnaryOp) -> Expression:
    sign = UNARY_SIGNS[type(node.op)]
    return tree.Unary(place_of(node), sign, reader.expression(node.operand))


def _binary(reader: Reader, node: ast.BinOp) -> Expression:
    """Of a sum of many terms, which is deep to its left, term by term."""
    chain = [node]
    while isinstance(inner := chain[-1].left, ast.BinOp):
        chain.append(inner)
    found = reader.expression(chain[-1].left)
    for each in reversed(chain):
        right = reader.expression(each.right)
        found = tree.Binary(place_of(each), SIGNS[type(each.op)], found, right)
    return found


def _compare(reader: Reader, node: ast.Compare) -> Expression:
    signs = tuple(SIGNS[type(each)] for each in node.ops)
    first = reader.expression(node.left)
    return tree.Compare(place_of(node), signs, first, reader.expressions(node.comparators))


def _logic(reader: Reader, node: ast.BoolOp) -> Expression:
    return tree.Logic(place_of(node), SIGNS[type(node.op)], reader.expressions(node.values))


def _choice(reader: Reader, node: ast.IfExp) -> Expression:
    parts = reader.expressions((node.test, node.body, node.orelse))
    return tree.Choice(place_of(node), *parts)


def _text(reader: Reader, node: ast.JoinedStr) -> Expression:
    return tree.Text(place_of(node), reader.expressions(node.values))


def _formatted(reader: Reader, node: ast.FormattedValue) -> Expression:
    value, spec = reader.expression(node.value), reader.optional(node.format_spec)
    return tree.Formatted(place_of(node), value, node.conversion, spec)


def _bind(reader: Reader, node: ast.NamedExpr) -> Expression:
    value = reader.expression(node.value)
    binding = reader.outside_comprehensions(node.target.id)
    return tree.Bind(place_of(node), tree.Target(place_of(node.target), binding), value)


def _call(reader: Reader, node: ast.Call) -> Expression:
    function, arguments = reader.expression(node.func), reader.expressions(node.args)
    keywords = tuple(
        tree.Keyword(place_of(each), each.arg, reader.expression(each.value))
        for each in node.keywords
    )
    call = tree.Call(place_of(node), function, arguments, keywords)
    return reader.recognized(call)


def _suspend(reader: Reader, node: ast.Await | ast.Yield | ast.YieldFrom) -> Expression:
    kind = {"YieldFrom": "yield from"}.get(type(node).__name__, type(node).__name__.lower())
    return tree.Suspend(place_of(node), kind, reader.optional(node.value))


def _comprehension(reader: Reader, node: Comprehension) -> Expression:
    """The first sequence is evaluated outside, all else inside."""
    kind = type(node).__name__.removesuffix("Exp").removesuffix("Comp").lower()
    first = reader.expression(node.generators[0].iter)
    scope = Scope(f"<{kind}>", reader.scope)
    for each in node.generators:
        for name in stored_names(each.target):
            scope.variable(name)
    key, value = (node.key, node.value) if isinstance(node, ast.DictComp) else (None, node.elt)
    with reader.inside(scope):
        generators: list[tree.Generator] = []
        for each in node.generators:
            over = reader.expression(each.iter) if generators else first
            generators.append(_generator(reader, each, over))
        parts = reader.optional(key), reader.expression(value)
    return tree.Comprehension(place_of(node), kind, tuple(generators), *parts, scope)


def _generator(reader: Reader, node: ast.comprehension, over: Expression) -> tree.Generator:
    target, tests = reader.expression(node.target), reader.expressions(node.ifs)
    start, end = place_of(node.target), (tests[-1] if tests else over).place
    place = Place(start.line, start.column, end.end_line, end.end_column)
    return tree.Generator(place, target, over, tests, bool(node.is_async))


EXPRESSIONS: dict[type[ast.AST], Callable[[Reader, Any], Expression]] = {
    ast.Constant: lambda reader, node: tree.Constant(place_of(node), node.value),
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _item,
    ast.Slice: _slice,
    ast.Tuple: _sequence,
    ast.List: _sequence,
    ast.Set: _sequence,
    ast.Dict: _table,
    ast.Starred: lambda reader, node: tree.Starred(place_of(node), reader.expression(node.value)),
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.Compare: _compare,
    ast.BoolOp: _logic,
    ast.IfExp: _choice,
    ast.JoinedStr: _text,
    ast.FormattedValue: _formatted,
    ast.NamedExpr: _bind,
    ast.Call: _call,
    ast.Await: _suspend,
    ast.Yield: _suspend,
    ast.YieldFrom: _suspend,
    ast.Lambda: lambda reader, node: reader.function(node),
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.DictComp: _comprehension,
    ast.GeneratorExp: _comprehension,
}

# Parameters ---------------------------------------------------------------------------------------


def parameter_nodes(arguments: ast.arguments) -> Iterator[tuple[int, ast.arg, ast.expr | None]]:
    """The kind of each, and its default, in the order of the text."""
    positional = [*arguments.posonlyargs, *arguments.args]
    missing = len(positional) - len(arguments.defaults)
    defaults = [None] * missing + list(arguments.defaults)
    for number, (each, default) in enumerate(zip(positional, defaults, strict=True)):
        is_only = number < len(arguments.posonlyargs)
        yield (Kinds.POSITIONAL_ONLY if is_only else Kinds.POSITIONAL_OR_KEYWORD), each, default
    if arguments.vararg is not None:
        yield Kinds.VAR_POSITIONAL, arguments.vararg, None
    for each, given in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield Kinds.KEYWORD_ONLY, each, given
    if arguments.kwarg is not None:
        yield Kinds.VAR_KEYWORD, arguments.kwarg, None


# Names --------------------------------------------------------------------------------------------

INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def stored_names(*nodes: ast.AST) -> Iterator[str]:
    """The names that get values in these nodes, not those of functions and classes in them."""
    waiting = [*nodes]
    while waiting:
        node = waiting.pop()
        yield from _stored_by(node)
        if isinstance(node, COMPREHENSIONS):
            waiting += [each for each in ast.walk(node) if isinstance(each, ast.NamedExpr)]
        elif isinstance(node, INNER):
            waiting += _evaluated_outside(node)
        else:
            waiting += ast.iter_child_nodes(node)


def _stored_by(node: ast.AST) -> Iterable[str]:
    if isinstance(node, ast.Name):
        return () if isinstance(node.ctx, ast.Load) else (node.id,)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return (node.name,)
    if isinstance(node, ast.alias):
        return (node.asname or node.name.partition(".")[0],)
    name = getattr(node, "name", None) or getattr(node, "rest", None)
    is_named = isinstance(node, (ast.MatchAs, ast.MatchStar, ast.MatchMapping, ast.ExceptHandler))
    return (name,) if is_named and isinstance(name, str) else ()


def _evaluated_outside(node: ast.AST) -> list[ast.AST]:
    """Defaults, decorators and bases, where a walrus may stand."""
    arguments = getattr(node, "args", None)
    defaults = [*arguments.defaults, *filter(None, arguments.kw_defaults)] if arguments else []
    return [*defaults, *getattr(node, "decorator_list", ()), *getattr(node, "bases", ())]


def declared(kind: type[ast.AST], body: Iterable[ast.AST]) -> set[str]:
    """The names of `global` or `nonlocal` statements of a function itself."""
    found: set[str] = set()
    waiting = [*body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, kind):
            found.update(node.names)  # type: ignore[attr-defined]
        elif not isinstance(node, (*INNER, ast.expr)):
            waiting += ast.iter_child_nodes(node)
    return found
