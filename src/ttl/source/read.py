"""From `ast` to the tree (tree.py): the one place that knows Python's statements.

rule SIMPLER  `else` of a loop, `match` on values and tests that assign become simpler statements
rule FOREIGN  Python without a form in the tree keeps its `ast`, with the names in it
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from . import tree
from .bindings import Around, Binding, Place, Scope, Variable
from .making import make_assign
from .python import READ_FORMS, SIGNS, UNARY_SIGNS
from .read_expressions import (
    EXPRESSIONS,
    Definition,
    FunctionNode,
    NoFormError,
    Pattern,
    find_declared,
    find_stored_names,
    parameter_nodes,
    place_of,
)
from .tree import Body, Statement

Recognize = Callable[[tree.Call], tree.Call]
ReadStatement = Callable[..., Iterable[Statement]]


def read_function(node: FunctionNode, recognize: Recognize = lambda call: call) -> tree.Function:
    """Return the tree of one definition. `recognize` tells calls of the language from others."""
    return Reader(recognize).function(node)


def read_module(text: str | bytes, file: str = "<unknown>") -> tree.Function:
    """Return the statements of a file as a function whose variables are the names they define."""
    module, reader = ast.parse(text, file), Reader(lambda call: call)
    scope = reader.scope = Scope("<module>")
    reader.elsewhere[scope] = set()
    globally = (node.names for node in ast.walk(module) if isinstance(node, ast.Global))
    for name in sorted({*find_stored_names(*module.body)}.union(*globally)):
        scope.variable(name)
    reader.globally = scope.variables
    body = reader.body(module.body)
    end = body[-1].place if body else Place(1, 0, 1, 0)
    place = Place(1, 0, end.end_line, end.end_column)
    return tree.Function(place, scope.name, (), (), body, scope)


class Reader:
    def __init__(self, recognize: Recognize):
        self.recognized = recognize
        self.scope: Scope | None = None
        self.elsewhere: dict[Scope, set[str]] = {}  # names that a function declares as global
        self.globally: dict[str, Variable] = {}  # of a module that is read as a whole
        # For each loop around this place, the variable that tells whether it ended without `break`.
        self.loops: list[Variable | None] = []

    # Names ----------------------------------------------------------------------------------------

    def binding(self, name: str) -> Binding:
        scope = self.scope
        while scope is not None:
            if name in scope.variables and (scope is self.scope or not scope.is_class):
                return scope.variables[name]
            if name in self.elsewhere.get(scope, ()):
                break
            scope = scope.outer
        return self.globally.get(name, Around(name))

    def outside_comprehensions(self, name: str) -> Binding:
        """Find the name that `:=` in a comprehension binds in the function around it."""
        scope = self.scope
        while scope is not None and scope not in self.elsewhere:
            scope = scope.outer
        with self.inside(scope):
            return self.binding(name)

    @contextmanager
    def inside(self, scope: Scope | None) -> Iterator[None]:
        outer, self.scope = self.scope, scope
        try:
            yield
        finally:
            self.scope = outer

    def own(self, name: str) -> Variable:
        """Add a variable that the reader needs to the function being read."""
        scope = self.scope
        assert scope is not None
        return scope.variable(name)

    # Nodes ----------------------------------------------------------------------------------------

    def expression(self, node: ast.AST) -> Any:
        special = EXPRESSIONS.get(type(node))
        return self.same_form(node) if special is None else special(self, node)

    def same_form(self, node: ast.AST) -> Any:
        form = READ_FORMS[type(node)]
        parts = [self.part(getattr(node, name)) for _, name in form.parts]
        return form.node(place_of(node), *form.kind, *parts)

    def part(self, part: Any) -> Any:
        """Read a field of an `ast` node."""
        if isinstance(part, list):
            is_body = bool(part) and isinstance(part[0], ast.stmt)
            return self.body(part) if is_body else tuple(map(self.part, part))
        if (sign := ALL_SIGNS.get(type(part))) is not None:
            return sign
        return self.expression(part) if isinstance(part, ast.AST) else part

    # Functions ------------------------------------------------------------------------------------

    def function(self, node: FunctionNode) -> tree.Function:
        is_lambda = isinstance(node, ast.Lambda)
        name = "<lambda>" if is_lambda else node.name  # type: ignore[union-attr]
        scope = self.scope_of(node, name)
        decorators = self.part(getattr(node, "decorator_list", []))
        parameters = tuple(
            tree.Parameter(
                place_of(each),
                scope.variable(each.arg),
                kind,
                self.part(default),
                self.part(each.annotation),
            )
            for kind, each, default in parameter_nodes(node.args)
        )
        loops, self.loops = self.loops, []
        with self.inside(scope):
            body = self._function_body(node)
        self.loops = loops
        is_async = isinstance(node, ast.AsyncFunctionDef)
        returns = self.part(getattr(node, "returns", None))
        return tree.Function(
            place_of(node), name, decorators, parameters, body, scope, is_lambda, is_async, returns
        )

    def _function_body(self, node: FunctionNode) -> Body:
        if isinstance(node, ast.Lambda):
            return (tree.Return(place_of(node.body), self.expression(node.body)),)
        return self.body(node.body)

    def scope_of(self, node: FunctionNode | ast.ClassDef, name: str) -> Scope:
        body: Sequence[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else node.body
        is_class = isinstance(node, ast.ClassDef)
        scope = Scope(name, self.scope, is_class=is_class)
        globally, around = find_declared(ast.Global, body), find_declared(ast.Nonlocal, body)
        self.elsewhere[scope] = globally
        own = [] if is_class else [each.arg for _, each, _ in parameter_nodes(node.args)]  # type: ignore[union-attr]
        for each in (*own, *sorted({*find_stored_names(*body)} - globally - around)):
            scope.variable(each)
        for each in around:
            if isinstance(found := self.binding(each), Variable):
                found.scope.shared.add(found)
        return scope

    # Statements -----------------------------------------------------------------------------------

    def body(self, nodes: Iterable[ast.stmt]) -> Body:
        return tuple(made for node in nodes for made in self.statement(node))

    def statement(self, node: ast.stmt) -> Iterable[Statement]:
        special = STATEMENTS.get(type(node))
        if special is None and type(node) in READ_FORMS:
            return (self.same_form(node),)
        return (special or _foreign)(self, node)


# Simple statements --------------------------------------------------------------------------------


def _annotated(reader: Reader, node: ast.AnnAssign) -> Iterable[Statement]:
    if node.value is not None:
        value = reader.expression(node.value)
        yield tree.Assign(place_of(node), (reader.expression(node.target),), value)


def _definition(reader: Reader, node: Definition) -> Iterable[Statement]:
    function = reader.function(node)
    yield make_assign(reader.binding(node.name), function, place_of(node))


def _import(reader: Reader, node: ast.Import) -> Iterable[Statement]:
    for each in node.names:
        name = each.asname or each.name.partition(".")[0]
        yield tree.Import(place_of(node), each.name, 0, (_imported(reader, each, None, name),))


def _import_from(reader: Reader, node: ast.ImportFrom) -> Iterable[Statement]:
    names = [_imported(reader, each, each.name, each.asname or each.name) for each in node.names]
    yield tree.Import(place_of(node), node.module or "", node.level, tuple(names))


def _imported(reader: Reader, node: ast.alias, name: str | None, local: str) -> tree.Imported:
    target = tree.Target(place_of(node), reader.binding(local))
    return tree.Imported(place_of(node), name, target, node.asname is not None)


def _declare(reader: Reader, node: ast.Global | ast.Nonlocal) -> Iterable[Statement]:
    keyword = "global" if isinstance(node, ast.Global) else "nonlocal"
    yield tree.Declare(place_of(node), keyword, tuple(map(reader.binding, node.names)))


def _break(reader: Reader, node: ast.Break) -> Iterable[Statement]:
    if (ended := reader.loops[-1]) is not None:
        yield _flag(ended, False, place_of(node))
    yield tree.Jump(place_of(node), "break")


def _flag(variable: Variable, value: bool, place: Place) -> Statement:
    return make_assign(variable, tree.Constant(place, value), place)


# Control flow -------------------------------------------------------------------------------------


def _if(reader: Reader, node: ast.If) -> Iterable[Statement]:
    """rule SIMPLER: `if a and (x := f()):` is an `if` in an `if`; x has a value wherever f() was
    called."""
    test = node.test
    first = test.values[0] if isinstance(test, ast.BoolOp) else test
    if isinstance(test, ast.BoolOp) and _assigns(*test.values[1:], *_parts(first)[1:]):
        others = test.values[1:]
        rest = others[0] if len(others) == 1 else ast.BoolOp(test.op, others)
        ast.copy_location(rest, test)
        inner: list[ast.stmt] = [ast.copy_location(ast.If(rest, node.body, node.orelse), node)]
        sides = (inner, node.orelse) if isinstance(test.op, ast.And) else (node.body, inner)
        return _if(reader, ast.copy_location(ast.If(first, *sides), node))
    return (reader.same_form(node),)


def _parts(node: ast.expr) -> Sequence[ast.expr]:
    return node.values if isinstance(node, ast.BoolOp) else [node]


def _assigns(*nodes: ast.expr) -> bool:
    return any(isinstance(part, ast.NamedExpr) for node in nodes for part in ast.walk(node))


def _loop(reader: Reader, node: ast.For | ast.While) -> Iterable[Statement]:
    """rule SIMPLER: `else` is an `if` after the loop, on a variable that every `break` clears."""
    place, ended = place_of(node), None
    if node.orelse:
        ended = reader.own(f"<not left {node.lineno}.{node.col_offset}>")
        yield _flag(ended, True, place)
    reader.loops.append(ended)
    if isinstance(node, ast.For):
        over, target = reader.expression(node.iter), reader.expression(node.target)
        yield tree.Loop(place, target, over, reader.body(node.body))
    else:
        yield _while(reader, node)
    reader.loops.pop()
    if ended is not None:
        yield tree.Branch(place, tree.Name(place, ended), reader.body(node.orelse), ())


def _while(reader: Reader, node: ast.While) -> tree.While:
    """rule SIMPLER: a test that assigns is an `if` in the loop for each part of `and`."""
    place, leave = place_of(node), (tree.Jump(place_of(node), "break"),)
    if not _assigns(node.test):
        return tree.While(place, reader.expression(node.test), reader.body(node.body))
    is_and = isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And)
    tests = map(reader.expression, _parts(node.test) if is_and else [node.test])
    fails = [tree.Unary(each.place, "not", each) for each in tests]
    leaves = [tree.Branch(place, each, leave, ()) for each in fails]
    return tree.While(place, tree.Constant(place, True), (*leaves, *reader.body(node.body)))


# match --------------------------------------------------------------------------------------------


def _match(reader: Reader, node: ast.Match) -> Iterable[Statement]:
    """rule SIMPLER: `if` on a variable of the subject."""
    subject, place = reader.own(f"<subject {node.lineno}.{node.col_offset}>"), place_of(node)
    patterns = [Pattern(reader) for _ in node.cases]
    try:
        for each, pattern in zip(node.cases, patterns, strict=True):
            pattern.add(each.pattern, tree.Name(place, subject))
    except NoFormError:
        yield from _foreign(reader, node, "match")
        return
    yield make_assign(subject, reader.expression(node.subject), place)
    yield from _cases(reader, [*zip(node.cases, patterns, strict=True)])


def _cases(reader: Reader, cases: list[tuple[ast.match_case, Pattern]]) -> Body:
    """Chain the cases as `if`s; names are bound before a guard, which may use them."""
    if not cases:
        return ()
    (case, pattern), *others = cases
    place = place_of(case.pattern)
    then: Body = tuple(
        make_assign(reader.binding(name), value, place) for name, value in pattern.named()
    )
    guards = [] if case.guard is None else [reader.expression(case.guard)]
    if guards and then:
        guard, body = guards.pop(), reader.body(case.body)
        then = (*then, tree.Branch(guard.place, guard, body, _cases(reader, others)))
    else:
        then = (*then, *reader.body(case.body))
    test = pattern.test(place, *guards)
    return then if test is None else (tree.Branch(place, test, then, _cases(reader, others)),)


# What has no form ---------------------------------------------------------------------------------

KEYWORDS: dict[type[ast.AST], str] = {
    ast.AsyncFor: "async for",
    ast.AsyncWith: "async with",
    ast.ClassDef: "class",
    ast.TryStar: "except*",
}


def _foreign(
    reader: Reader, node: ast.stmt, keyword: str = ""
) -> Iterable[Statement]:  # rule FOREIGN
    place, named = place_of(node), (each for each in ast.walk(node) if isinstance(each, ast.Name))
    names = [tree.Name(place_of(each), reader.binding(each.id)) for each in named]
    targets = tuple(tree.Target(place, reader.binding(name)) for name in find_stored_names(node))
    word = keyword or KEYWORDS.get(type(node), type(node).__name__)
    body: Body = ()
    if isinstance(node, ast.ClassDef):
        with reader.inside(reader.scope_of(node, node.name)):
            body = reader.body(node.body)
    yield tree.Foreign(place, word, tuple(names), targets, node, body)


ALL_SIGNS = SIGNS | UNARY_SIGNS
STATEMENTS: dict[type[ast.AST], ReadStatement] = {
    ast.AnnAssign: _annotated,
    ast.FunctionDef: _definition,
    ast.AsyncFunctionDef: _definition,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Global: _declare,
    ast.Nonlocal: _declare,
    ast.Pass: lambda reader, node: [],
    ast.Break: _break,
    ast.If: _if,
    ast.For: _loop,
    ast.While: _loop,
    ast.Match: _match,
}
