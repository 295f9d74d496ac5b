"""Reads the body of a unified operation, statement by statement, into units.

rule UNIT    every simple statement, item of a `with`, and head of a loop or condition is a unit
rule FLOW    names stand for what reaches them: branches are joined, loops are read until nothing
             changes
rule INLINE  a function of the user's is read where it is called: what it does, its caller does
rule EXPAND  an operation that is called as a statement is a frame of units of its own
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib import import_module
from types import FunctionType
from typing import Any

from ttl.language.operation import Operation, operation
from ttl.semantics.function_source import FunctionTree
from ttl.semantics.syntax import child_nodes

from ..scopes import default_nodes, own_names, parameters, positional_names
from . import expressions
from .calls import Given
from .counting import counted
from .problems import defined_inside, not_here, parameter_given, returns_value
from .scopes import Flow, Scope, flow_of, go_to, joined_flow
from .things import SCALAR, End, Kind, Thing, container, container_of, joined, thing_of
from .units import Effect, Frame, Site, Unit

MOST_ROUNDS = 8  # of one loop: kinds only grow
DEEPEST_CALLS = 32


class Reader:
    """Where the reading stands: the frame, the names, the unit and what it stands in."""

    def __init__(self, frame: Frame, scope: Scope):
        self.frame = frame
        self.scope = scope
        self.unit: Unit = None  # type: ignore[assignment]  # the first statement sets it
        self.control: Unit | None = frame.caller
        self.functions: list[FunctionTree] = []  # that are being read where they are called
        self.calls: list[ast.AST] = []  # and the calls of them
        self.returned: list[Thing] = []
        self._units: dict[tuple[Frame, ast.AST, str], Unit] = {}
        self._sites: dict[tuple[Unit, ast.AST, tuple[ast.AST, ...]], Site] = {}
        self.loops: dict[Unit, tuple[Flow, Flow]] = {}  # what was known before them, and after
        self.order: list[Unit] = []  # all units, also those of expansions

    # Units ----------------------------------------------------------------------------------------

    def begin(self, node: ast.AST, argument: str = "") -> Unit:  # rule UNIT
        if self.functions:
            return self.unit
        key = self.frame, node, argument
        if key not in self._units:
            self._units[key] = Unit(self.frame, node, self.control)
            self.frame.units.append(self._units[key])
            self.order.append(self._units[key])
        self.unit = self._units[key]
        return self.unit

    def does(self, effect: Effect, node: ast.AST) -> None:
        place = self.unit.node if self.functions else node
        self.unit.effects.setdefault(effect, place)

    def site(self, node: ast.expr, end: End, buffer: Any, name: str) -> Site:
        key = self.place(node)
        if key not in self._sites:
            place = node if not self.functions else self.unit.node
            self._sites[key] = Site(place, self.unit, end, buffer, name)  # type: ignore[arg-type]
        self.unit.acquires.add(self._sites[key])
        return self._sites[key]

    def place(self, node: ast.AST) -> tuple[Unit, ast.AST, tuple[ast.AST, ...]]:
        """Where something is made: a function may be called twice by one unit."""
        return self.unit, node, tuple(self.calls)

    def evaluate(self, node: ast.expr) -> Thing:
        return expressions.evaluate(self, node)

    # Names ----------------------------------------------------------------------------------------

    def read(self, name: str) -> Thing:
        thing, home = self.scope.lookup(name)
        self.unit.depends |= thing.origins
        self.unit.sites |= thing.sites
        if home is self.frame.scope:
            self.unit.reads.setdefault(name, set()).update(thing.origins)
        return thing

    def bind(self, target: ast.expr, thing: Thing) -> None:
        if isinstance(target, ast.Name):
            self._store(target.id, thing)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for position, each in enumerate(target.elts):
                self.bind(each, expressions.item_of(thing, position))
        elif isinstance(target, ast.Starred):
            self.bind(target.value, thing)
        elif isinstance(target, (ast.Subscript, ast.Attribute)):
            self.evaluate(target.value)
            key = None
            if isinstance(target, ast.Subscript):
                self.evaluate(target.slice)
                key = expressions.constant_index(target.slice)
            self.change(target.value, container_of(thing), key)

    def _store(self, name: str, thing: Thing) -> None:
        home = self.scope.home(name) or self.scope
        if home is self.frame.scope:
            if name in self.frame.parameters:
                raise parameter_given(self.frame, self.unit.node, name)
            self.unit.binds.add(name)
            thing = thing.given_by(self.unit)
            if home is not self.scope and name in home.names:  # the function may not be called
                thing = joined([home.names[name], thing])
        home.names[name] = thing

    def change(self, owner: ast.expr, thing: Thing, key: Hashable = None) -> None:
        """What an expression holds gets another item, in a dict under a key."""
        if isinstance(owner, ast.Name) and (home := self.scope.home(owner.id)) is not None:
            before = home.names.get(owner.id, SCALAR)
            changed = before
            if before.kind is Kind.CONTAINER and before.keys is not None and key is not None:
                changed = before.with_item(key, thing.any_item())
            elif before.kind is Kind.CONTAINER:
                is_empty = not before.items and before.item is None
                changed = thing if is_empty else joined([replace(before, items=None, keys=None,
                                                                 item=before.any_item()), thing])
            home.names[owner.id] = replace(changed, origins=before.origins | {self.unit})
            if home is self.frame.scope:
                self.unit.binds.add(owner.id)

    @contextmanager
    def inside(self, scope: Scope) -> Iterator[None]:
        outer, self.scope = self.scope, scope
        try:
            yield
        finally:
            self.scope = outer

    @contextmanager
    def under(self, unit: Unit) -> Iterator[None]:
        if self.functions:
            yield
            return
        outer, self.control = self.control, unit
        try:
            yield
        finally:
            self.control = outer

    # Functions ------------------------------------------------------------------------------------

    def enter(
        self,
        tree: FunctionTree,
        around: Scope | FunctionType,
        call: ast.AST,
        given: Given,
        bound: int = 0,
    ) -> Thing:  # rule INLINE
        if isinstance(tree, ast.AsyncFunctionDef):
            raise not_here(self.frame, tree, "a coroutine")
        if tree in self.functions or len(self.functions) > DEEPEST_CALLS:
            return SCALAR
        scope = Scope(own_names(tree), around)
        scope.names |= self._arguments(tree.args, given, bound)
        outer, self.returned = self.returned, []
        self.functions.append(tree)
        self.calls.append(call)
        try:
            with self.inside(scope):
                if isinstance(tree, ast.Lambda):
                    return self.evaluate(tree.body)
                self.body(tree.body)
                return joined(self.returned)
        finally:
            self.functions.pop()
            self.calls.pop()
            self.returned = outer

    def _arguments(self, arguments: ast.arguments, given: Given, bound: int) -> dict[str, Thing]:
        names = positional_names(arguments)[bound:]
        found = dict.fromkeys(parameters(arguments), SCALAR) | {
            name: Thing(value=each.value)
            for name, each in default_nodes(arguments).items()
            if isinstance(each, ast.Constant)
        }
        found |= dict(zip(names, given.things, strict=False))
        found |= {name: thing for name, thing in given.keywords.items() if name in found}
        if arguments.vararg is not None:
            rest = given.things[len(names) :]
            found[arguments.vararg.arg] = container(rest)
        return found

    def expand(self, operation: Operation, node: ast.Call, given: Given) -> Thing:  # rule EXPAND
        from .expanding import expand  # which reads bodies, too

        expand(self, operation, node, given)
        return SCALAR

    # Statements -----------------------------------------------------------------------------------

    def body(self, statements: Sequence[ast.stmt]) -> bool:
        """Is the end of these reached?"""
        for statement in statements:
            handler = _STATEMENTS.get(type(statement))
            if handler is None:
                raise not_here(self.frame, statement, f"`{ast.unparse(statement).split()[0]}`")
            if handler(self, statement) is False:
                return False
        return True


def _expression(reader: Reader, node: ast.Expr) -> None:
    unit = reader.begin(node)
    if isinstance(node.value, ast.Constant):
        unit.stays = True
    reader.evaluate(node.value)


def _assign(reader: Reader, node: ast.Assign) -> None:
    unit = reader.begin(node)
    thing = reader.evaluate(node.value)
    if thing.kind is Kind.FUNCTION and not reader.functions:
        unit.is_function = True
    for target in node.targets:
        reader.bind(target, thing)


def _annotated(reader: Reader, node: ast.AnnAssign) -> None:
    reader.begin(node)
    if node.value is not None:
        reader.bind(node.target, reader.evaluate(node.value))


def _augmented(reader: Reader, node: ast.AugAssign) -> None:
    """`+=` on blocks and values computes; a block stays the block that it is."""
    reader.begin(node)
    value = reader.evaluate(node.value)
    if not isinstance(node.target, ast.Name):
        reader.bind(node.target, value)
        return
    before = reader.read(node.target.id)
    if before.kind is Kind.BLOCK or Kind.VALUE in (before.kind, value.kind) or (
        value.kind is Kind.BLOCK
    ):  # fmt: skip
        reader.does(Effect.COMPUTE, node)
        value = before if before.kind is Kind.BLOCK else Thing(Kind.VALUE)
    elif before.kind is Kind.CONTAINER:
        value = joined([before, value])
    else:
        value = Thing(max(before.kind, value.kind))
    reader.bind(node.target, value)


def _if(reader: Reader, node: ast.If) -> bool:
    unit = reader.begin(node.test)
    test = reader.evaluate(node.test)
    if reader.functions and type(test.value) is bool:  # rule INLINE: what this call does
        return reader.body(node.body if test.value else node.orelse)
    before = flow_of(reader.scope)
    flows: list[Flow] = []
    for branch in (node.body, node.orelse):
        go_to(before)
        with reader.under(unit):
            if reader.body(branch):
                flows.append(flow_of(reader.scope))
    for flow in flows:
        go_to(flow)
    if len(flows) > 1:
        go_to(joined_flow(*flows))
    return bool(flows)


def _for(reader: Reader, node: ast.For) -> None:
    unit = reader.begin(node.iter)
    if not reader.functions:
        unit.is_loop, unit.counts = True, counted(node)

    def head() -> None:
        reader.begin(node.iter)
        reader.bind(node.target, expressions.item_of(reader.evaluate(node.iter)))

    _loop(reader, unit, head, node.body)
    reader.body(node.orelse)


def _while(reader: Reader, node: ast.While) -> None:
    unit = reader.begin(node.test)
    unit.is_loop = not reader.functions

    def head() -> None:
        reader.begin(node.test)
        reader.evaluate(node.test)

    _loop(reader, unit, head, node.body)
    reader.body(node.orelse)


def _loop(
    reader: Reader, unit: Unit, head: Callable[[], None], body: Sequence[ast.stmt]
) -> None:  # rule FLOW
    start = before = flow_of(reader.scope)
    known = reader.loops.get(unit)
    if known is not None and known[0] == start and not reader.functions:
        go_to(known[1])
        return
    for _ in range(MOST_ROUNDS):
        go_to(before)
        head()
        with reader.under(unit):
            reader.body(body)
        after = joined_flow(before, flow_of(reader.scope))
        if after == before:
            break
        before = after
    go_to(before)
    if not reader.functions:
        reader.loops[unit] = start, before


def _with(reader: Reader, node: ast.With) -> bool:
    with ExitStack() as around:
        for item in node.items:
            unit = reader.begin(item.context_expr)
            thing = reader.evaluate(item.context_expr)
            if item.optional_vars is not None:
                reader.bind(item.optional_vars, thing)
            if unit.is_signpost:
                around.enter_context(reader.under(unit))
        return reader.body(node.body)


def _function(reader: Reader, node: ast.FunctionDef) -> None:
    unit = reader.begin(node)
    unit.is_function = not reader.functions
    for default in default_nodes(node.args).values():
        reader.evaluate(default)
    for decorator in node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if reader.evaluate(called).value is operation:
            raise defined_inside(reader.frame, node)
        reader.evaluate(decorator)
    made = Thing(Kind.FUNCTION, tree=node, scope=reader.scope)
    reader.bind(ast.Name(node.name, ast.Store()), made)


def _return(reader: Reader, node: ast.Return) -> bool:
    if not reader.functions and node.value is not None:
        raise returns_value(reader.frame, node)
    unit = reader.begin(node)
    if not reader.functions:
        unit.is_jump = True
    if node.value is not None:
        reader.returned.append(reader.evaluate(node.value))
    return False


def _jump(reader: Reader, node: ast.Break | ast.Continue | ast.Raise | ast.Assert) -> bool:
    unit = reader.begin(node)
    unit.is_jump = unit.is_jump or not reader.functions
    for child in child_nodes(node):
        if isinstance(child, ast.expr):
            reader.evaluate(child)
    return isinstance(node, ast.Assert)


def _nothing(reader: Reader, node: ast.stmt) -> None:
    """`pass`, `nonlocal`."""


def _import(reader: Reader, node: ast.Import | ast.ImportFrom) -> None:
    reader.begin(node)
    for alias in node.names:
        name = alias.asname or alias.name.partition(".")[0]
        module = node.module if isinstance(node, ast.ImportFrom) else None
        value: Any = import_module(module or (alias.name if alias.asname else name))
        if isinstance(node, ast.ImportFrom):
            value = getattr(value, alias.name)
        reader.bind(ast.Name(name, ast.Store()), thing_of(value))


_STATEMENTS: dict[type[ast.stmt], Callable[[Reader, Any], bool | None]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.If: _if,
    ast.For: _for,
    ast.While: _while,
    ast.With: _with,
    ast.FunctionDef: _function,
    ast.Return: _return,
    ast.Break: _jump,
    ast.Continue: _jump,
    ast.Raise: _jump,
    ast.Assert: _jump,
    ast.Pass: _nothing,
    ast.Nonlocal: _nothing,
    ast.Import: _import,
    ast.ImportFrom: _import,
}
