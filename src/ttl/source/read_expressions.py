"""From `ast` to the tree: expressions, patterns of `match`, and the names that functions own."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from inspect import Parameter as Kinds
from typing import TYPE_CHECKING, Any, NamedTuple

from ttl.semantics.syntax import child_nodes

from . import tree
from .bindings import Place, Scope
from .making import around, called
from .python import SIGNS
from .tree import Expression
from .walking import copy_of

if TYPE_CHECKING:
    from .read import Reader

Definition = ast.FunctionDef | ast.AsyncFunctionDef
FunctionNode = Definition | ast.Lambda
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp

LONGEST_SUM = 1_000  # operations


def place_of(node: Any) -> Place:
    node = getattr(node, "context_expr", node)  # an item of a `with` has no place
    return Place(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)


def _name(reader: Reader, node: ast.Name) -> Expression:
    kind = tree.Name if isinstance(node.ctx, ast.Load) else tree.Target
    return kind(place_of(node), reader.binding(node.id))


def _binary(reader: Reader, node: ast.BinOp) -> Expression:
    """Read sums of up to a thousand terms; later passes could not recurse into longer ones."""
    chain: list[ast.expr] = [node]
    while isinstance(last := chain[-1], ast.BinOp):
        chain.append(last.left)
    if len(chain) > LONGEST_SUM:
        raise RecursionError
    left: Expression = reader.expression(chain.pop())
    for each in reversed(chain):
        assert isinstance(each, ast.BinOp)
        left = tree.Binary(
            place_of(each), SIGNS[type(each.op)], left, reader.expression(each.right)
        )
    return left


def _bind(reader: Reader, node: ast.NamedExpr) -> Expression:
    value = reader.expression(node.value)
    binding = reader.outside_comprehensions(node.target.id)
    return tree.Bind(place_of(node), tree.Target(place_of(node.target), binding), value)


def _call(reader: Reader, node: ast.Call) -> Expression:
    call: tree.Call = reader.same_form(node)
    return reader.recognized(call)


def _comprehension(reader: Reader, node: Comprehension) -> Expression:
    """Read the first sequence in the outer scope and everything else in the inner one."""
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
        parts = reader.part(key), reader.expression(value)
    return tree.Comprehension(place_of(node), kind, tuple(generators), *parts, scope)


def _generator(reader: Reader, node: ast.comprehension, over: Expression) -> tree.Generator:
    target, tests = reader.expression(node.target), reader.part(node.ifs)
    start, end = place_of(node.target), (tests[-1] if tests else over).place
    place = Place(start.line, start.column, end.end_line, end.end_column)
    return tree.Generator(place, target, over, tests, bool(node.is_async))


def _handler(reader: Reader, node: ast.ExceptHandler) -> tree.Handler:
    place, kind = place_of(node), reader.part(node.type)
    target = tree.Target(place, reader.binding(node.name)) if node.name else None
    return tree.Handler(place, kind, target, reader.body(node.body))


# All other nodes have the same form in the tree (python.py).
EXPRESSIONS: dict[type[ast.AST], Callable[..., object]] = {
    ast.Name: _name,
    ast.BinOp: _binary,
    ast.NamedExpr: _bind,
    ast.Call: _call,
    ast.Lambda: lambda reader, node: reader.function(node),
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.DictComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.ExceptHandler: _handler,
}

# Parameters ---------------------------------------------------------------------------------------


def parameter_nodes(arguments: ast.arguments) -> Iterator[tuple[int, ast.arg, ast.expr | None]]:
    """Yield each parameter's kind, node and default, in the order of the text."""
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
    """Yield the names that these nodes bind, without those inside nested functions and classes."""
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
    """Return defaults, decorators and bases, because a walrus there binds an outer name."""
    arguments = getattr(node, "args", None)
    defaults = [*arguments.defaults, *filter(None, arguments.kw_defaults)] if arguments else []
    return [*defaults, *getattr(node, "decorator_list", ()), *getattr(node, "bases", ())]


def declared(kind: type[ast.AST], body: Iterable[ast.AST]) -> set[str]:
    """Return the names in the `global` or `nonlocal` statements of this function only."""
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
    """The depth of nested expressions or statements, and the outermost of them."""

    depth: int
    is_expression: bool
    outermost: ast.AST
    file: str


def deepest_nest(definition: ast.AST, file: str) -> Nest | None:
    """Find the deepest nest; it may be too deep to read."""
    deepest: Nest | None = None
    left: list[tuple[ast.AST, Nest | None]] = [(each, None) for each in child_nodes(definition)]
    while left:
        node, around = left.pop()
        if isinstance(node, (ast.expr, ast.stmt)):
            is_expression = isinstance(node, ast.expr)
            if around is None or around.is_expression is not is_expression:
                around = Nest(0, is_expression, node, file)
            around = around._replace(depth=around.depth + 1)
            deepest = max(deepest or around, around, key=lambda nest: nest.depth)
        left += [(child, around) for child in child_nodes(node)]
    return deepest


# Patterns of `match` ------------------------------------------------------------------------------


class NoFormError(Exception):
    """The pattern has no form in the tree, so no kernel can have it."""


@dataclass(slots=True)
class Pattern:
    """The tests on the subject, and the names that the pattern binds."""

    reader: Reader
    tests: list[Expression] = field(default_factory=list)
    names: list[tuple[str, Expression]] = field(default_factory=list)

    def test(self, place: Place, *more: Expression) -> Expression | None:
        """Join the tests, built of new nodes because several places name parts of the subject."""
        tests = (*self.tests, *more)
        if len(tests) < 2:
            return copy_of(tests[0]) if tests else None
        return copy_of(tree.Logic(place, "and", tests))

    def named(self) -> Iterator[tuple[str, Expression]]:
        for name, value in self.names:
            yield name, copy_of(value)

    def add(self, pattern: ast.pattern, subject: Expression) -> None:
        place = place_of(pattern)
        match pattern:
            case ast.MatchValue():
                self._compare(subject, "==", self.reader.expression(pattern.value), place)
            case ast.MatchSingleton():
                self._compare(subject, "is", tree.Constant(place, pattern.value), place)
            case ast.MatchOr():
                self._any_of(pattern, subject)
            case ast.MatchAs():
                if pattern.pattern is not None:
                    self.add(pattern.pattern, subject)
                self._name(pattern.name, subject)
            case ast.MatchSequence():
                self._sequence(pattern.patterns, subject, place)
            case ast.MatchMapping(rest=None):
                self.tests.append(_is_a(place, subject, "dict"))
                for key, each in zip(pattern.keys, pattern.patterns, strict=True):
                    name = self.reader.expression(key)
                    self._compare(name, "in", subject, place)
                    self.add(each, tree.Item(place, subject, name))
            case ast.MatchClass(patterns=[]):
                kind = self.reader.expression(pattern.cls)
                self.tests.append(_call_of(place, "isinstance", subject, kind))
                for attribute, each in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
                    text = tree.Constant(place, attribute)
                    self.tests.append(_call_of(place, "hasattr", subject, text))
                    self.add(each, tree.Attribute(place, subject, attribute))
            case _:
                raise NoFormError

    def _compare(self, one: Expression, sign: str, other: Expression, place: Place) -> None:
        self.tests.append(tree.Compare(place, (sign,), one, (other,)))

    def _name(self, name: str | None, value: Expression) -> None:
        self.names += [] if name is None else [(name, value)]

    def _any_of(self, pattern: ast.MatchOr, subject: Expression) -> None:
        """Add alternatives, which bind no names; one that always matches adds no test."""
        place, tests = place_of(pattern), []
        for each in pattern.patterns:
            inner = Pattern(self.reader)
            inner.add(each, subject)
            if inner.names:
                raise NoFormError
            tests.append(inner.test(place))
        if None not in tests:
            self.tests.append(tree.Logic(place, "or", tuple(filter(None, tests))))

    def _sequence(self, parts: list[ast.pattern], subject: Expression, place: Place) -> None:
        starred = [n for n, each in enumerate(parts) if isinstance(each, ast.MatchStar)]
        self.tests.append(_is_a(place, subject, "tuple", "list"))
        count = tree.Constant(place, len(parts) - len(starred))
        size = _call_of(place, "len", subject)
        self._compare(size, ">=" if starred else "==", count, place)
        for number, each in enumerate(parts):
            after = number - len(parts)
            if isinstance(each, ast.MatchStar):
                stop = None if after == -1 else tree.Constant(place, after + 1)
                rest = tree.Slice(place, tree.Constant(place, number), stop, None)
                self._name(each.name, _call_of(place, "list", tree.Item(place, subject, rest)))
            else:
                is_after = bool(starred) and number > starred[0]
                index = tree.Constant(place, after if is_after else number)
                self.add(each, tree.Item(place, subject, index))


def _is_a(place: Place, subject: Expression, *kinds: str) -> Expression:
    names = tuple(around(kind, place) for kind in kinds)
    return _call_of(place, "isinstance", subject, tree.Sequence(place, "tuple", names))


def _call_of(place: Place, name: str, *arguments: Expression) -> Expression:
    return called(around(name, place), *arguments)
