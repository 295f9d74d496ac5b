"""From `ast` to the tree: expressions, patterns of `match`, and the names that functions own."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from inspect import Parameter as Kinds
from typing import TYPE_CHECKING, Any, NamedTuple

from ttl.semantics.syntax import child_nodes

from . import tree
from .bindings import Around, Place, Scope
from .tree import Expression

if TYPE_CHECKING:
    from .read import Reader

Definition = ast.FunctionDef | ast.AsyncFunctionDef
FunctionNode = Definition | ast.Lambda
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp

LONGEST_SUM = 1_000  # operations
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
    """A sum of a thousand terms is no mistake; a longer one is too deep for all that follows."""
    chain: list[ast.expr] = [node]
    while isinstance(last := chain[-1], ast.BinOp):
        chain.append(last.left)
    if len(chain) > LONGEST_SUM:
        raise RecursionError
    left = reader.expression(chain.pop())
    for each in reversed(chain):
        assert isinstance(each, ast.BinOp)
        left = tree.Binary(
            place_of(each), SIGNS[type(each.op)], left, reader.expression(each.right)
        )
    return left


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


# Depth --------------------------------------------------------------------------------------------


class Nest(NamedTuple):
    """Expressions, or statements, inside each other, and the outermost of them."""

    depth: int
    outermost: ast.expr | ast.stmt
    is_expression: bool


def nests(definition: ast.AST) -> Iterable[Nest]:
    """The deepest expression and the deepest statement: they may be too deep to be read."""
    deepest: dict[bool, Nest] = {}
    left: list[tuple[ast.AST, Nest | None]] = [(each, None) for each in child_nodes(definition)]
    while left:
        node, around = left.pop()
        if isinstance(node, (ast.expr, ast.stmt)):
            is_expression = isinstance(node, ast.expr)
            if around is None or around.is_expression is not is_expression:
                around = Nest(0, node, is_expression)
            around = Nest(around.depth + 1, around.outermost, is_expression)
            deepest[is_expression] = max(deepest.get(is_expression, around), around, key=_depth)
        left += [(child, around) for child in child_nodes(node)]
    return deepest.values()


def _depth(nest: Nest) -> int:
    return nest.depth


# Patterns of `match` ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pattern:
    """What is asked of the subject, and the names that it gives values to."""

    tests: tuple[tree.Expression, ...] = ()
    names: tuple[tuple[str, tree.Expression], ...] = ()

    def test(self, place: Place) -> tree.Expression | None:
        if len(self.tests) < 2:
            return self.tests[0] if self.tests else None
        return tree.Logic(place, "and", self.tests)


ANYTHING = Pattern()


def pattern_of(
    reader: Reader, pattern: ast.pattern, subject: tree.Expression
) -> Pattern | None:
    """None if a kernel cannot have it."""
    place = place_of(pattern)
    if isinstance(pattern, ast.MatchValue):
        value = reader.expression(pattern.value)
        return Pattern((tree.Compare(place, ("==",), subject, (value,)),))
    if isinstance(pattern, ast.MatchSingleton):
        constant = tree.Constant(place, pattern.value)
        return Pattern((tree.Compare(place, ("is",), subject, (constant,)),))
    if isinstance(pattern, ast.MatchOr):
        return _any_of(reader, pattern, subject)
    if isinstance(pattern, ast.MatchAs):
        inner = ANYTHING
        if pattern.pattern is not None and (
            inner := pattern_of(reader, pattern.pattern, subject)  # type: ignore[assignment]
        ) is None:
            return None
        names = () if pattern.name is None else ((pattern.name, subject),)
        return Pattern(inner.tests, (*inner.names, *names))
    if isinstance(pattern, ast.MatchSequence):
        return _sequence_pattern(reader, pattern, subject)
    if isinstance(pattern, ast.MatchMapping):
        return _mapping_pattern(reader, pattern, subject)
    return _class_pattern(reader, pattern, subject) if isinstance(pattern, ast.MatchClass) else None


def _any_of(
    reader: Reader, pattern: ast.MatchOr, subject: tree.Expression
) -> Pattern | None:
    """Alternatives without names; one that fits everything leaves nothing to ask."""
    found = [pattern_of(reader, each, subject) for each in pattern.patterns]
    if any(each is None or each.names for each in found):
        return None
    place = place_of(pattern)
    tests = [each.test(place) for each in found if each is not None]
    known = tuple(test for test in tests if test is not None)
    return ANYTHING if len(known) < len(tests) else Pattern((tree.Logic(place, "or", known),))


def _sequence_pattern(
    reader: Reader, pattern: ast.MatchSequence, subject: tree.Expression
) -> Pattern | None:
    place, parts = place_of(pattern), pattern.patterns
    starred = [n for n, each in enumerate(parts) if isinstance(each, ast.MatchStar)]
    count = tree.Constant(place, len(parts) - len(starred))
    size = _call_of(place, "len", subject)
    fits = tree.Compare(place, (">=" if starred else "==",), size, (count,))
    found = [Pattern((_is_a(place, subject, "tuple", "list"), fits))]
    for number, each in enumerate(parts):
        after = number - len(parts)
        if isinstance(each, ast.MatchStar):
            stop = None if after == -1 else tree.Constant(place, after + 1)
            rest = tree.Slice(place, tree.Constant(place, number), stop, None)
            items = _call_of(place, "list", tree.Item(place, subject, rest))
            found.append(Pattern((), () if each.name is None else ((each.name, items),)))
            continue
        is_after = bool(starred) and number > starred[0]
        item = tree.Item(place, subject, tree.Constant(place, after if is_after else number))
        inner = pattern_of(reader, each, item)
        if inner is None:
            return None
        found.append(inner)
    return _all_of(found)


def _mapping_pattern(
    reader: Reader, pattern: ast.MatchMapping, subject: tree.Expression
) -> Pattern | None:
    if pattern.rest is not None:
        return None
    place = place_of(pattern)
    found = [Pattern((_is_a(place, subject, "dict"),))]
    for key, each in zip(pattern.keys, pattern.patterns, strict=True):
        name = reader.expression(key)
        has_it = tree.Compare(place, ("in",), name, (subject,))
        inner = pattern_of(reader, each, tree.Item(place, subject, name))
        if inner is None:
            return None
        found += [Pattern((has_it,)), inner]
    return _all_of(found)


def _class_pattern(
    reader: Reader, pattern: ast.MatchClass, subject: tree.Expression
) -> Pattern | None:
    if pattern.patterns:
        return None
    place = place_of(pattern)
    is_it = _call_of(place, "isinstance", subject, reader.expression(pattern.cls))
    found = [Pattern((is_it,))]
    for name, each in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
        has_it = _call_of(place, "hasattr", subject, tree.Constant(place, name))
        inner = pattern_of(reader, each, tree.Attribute(place, subject, name))
        if inner is None:
            return None
        found += [Pattern((has_it,)), inner]
    return _all_of(found)


def _all_of(found: Iterable[Pattern]) -> Pattern:
    parts = list(found)
    tests = tuple(test for each in parts for test in each.tests)
    return Pattern(tests, tuple(name for each in parts for name in each.names))


def _is_a(place: Place, subject: tree.Expression, *kinds: str) -> tree.Expression:
    names = tuple(tree.Name(place, Around(kind)) for kind in kinds)
    return _call_of(place, "isinstance", subject, tree.Sequence(place, "tuple", names))


def _call_of(place: Place, name: str, *arguments: tree.Expression) -> tree.Expression:
    """Of a function of Python."""
    return tree.Call(place, tree.Name(place, Around(name)), arguments, ())
