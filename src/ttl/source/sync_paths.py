"""The paths of a function from where a handle is bound: is it finished on each of them?

Rule PATHS of implicit_sync. States are walked through the syntax tree: which binding is held, and
what the tests of the `if` statements passed so far were. Exceptions end a run and are no paths.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

from .scopes import COMPREHENSIONS

# Beyond these, outcomes of tests are forgotten: more paths, never fewer.
MOST_STATES = 64
MOST_ROUNDS = 8


class EventKind(Enum):
    NOTHING = "nothing"
    BIND = "bind"
    FINISH = "finish"
    OVERWRITE = "overwrite"
    ASSIGN = "assign to another name"


@dataclass(frozen=True, slots=True)
class Event:
    kind: EventKind
    node: ast.AST


@dataclass(frozen=True, slots=True)
class State:
    held: ast.AST | None  # the site
    tests: frozenset[tuple[str, bool]]


States = frozenset[State]
NOWHERE: States = frozenset()
Exits = defaultdict[type[ast.stmt], States]  # those that leave by a `return`, `break`, `continue`
EXITS = (ast.Return, ast.Break, ast.Continue)


def find_leaks(body: list[ast.stmt], event: Callable[[ast.AST], Event]) -> list[ast.AST]:
    """The sites that are bound and, on some path, not finished; in the order of the text."""
    walk = _Walk(event)
    exits: Exits = defaultdict(frozenset)
    ends = walk.statements(body, frozenset({State(None, frozenset())}), exits)
    walk.lose(ends | exits[ast.Return])
    return sorted(walk.lost, key=lambda node: (node.lineno, node.col_offset))  # type: ignore[attr-defined]


@dataclass(slots=True)
class _Walk:
    event: Callable[[ast.AST], Event]
    lost: set[ast.AST] = field(default_factory=set)

    def lose(self, states: States) -> None:
        self.lost |= {state.held for state in states if state.held is not None}

    def statements(self, body: Iterable[ast.stmt], states: States, exits: Exits) -> States:
        for statement in body:
            states = self.statement(statement, states, exits)
        return states if len(states) <= MOST_STATES else _forget(states)

    def statement(self, node: ast.stmt, states: States, exits: Exits) -> States:
        if isinstance(node, ast.If):
            states, (key, truth) = self.expression(node.test, states), _test_key(node.test)
            then = self.statements(node.body, _assume(states, key, truth), exits)
            return then | self.statements(node.orelse, _assume(states, key, not truth), exits)
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            return self._loop(node, states, exits)
        if isinstance(node, (ast.Try, ast.TryStar)):
            return self._try(node, states, exits)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            return self._with(node, states, exits)
        if isinstance(node, ast.Match):
            return self._match(node, self.expression(node.subject, states), exits)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return states
        states = self.expression(node, states)
        if isinstance(node, EXITS):
            exits[type(node)] |= states
        return NOWHERE if isinstance(node, (*EXITS, ast.Raise)) else states

    def _loop(
        self, node: ast.For | ast.AsyncFor | ast.While, states: States, exits: Exits
    ) -> States:
        before = node.test if isinstance(node, ast.While) else node.target
        if not isinstance(node, ast.While):
            states = self.expression(node.iter, states)
        own: Exits = defaultdict(frozenset)
        entered, arriving, rounds = NOWHERE, states, 0
        while not arriving <= entered:  # until an iteration adds nothing
            rounds += 1
            entered |= arriving
            if rounds > MOST_ROUNDS:
                entered = _forget(entered)
            arriving = self.statements(node.body, self.expression(before, entered), own)
            arriving |= own[ast.Continue]
            if rounds >= MOST_ROUNDS:
                arriving = _forget(arriving)
        exits[ast.Return] |= own[ast.Return]
        is_endless = isinstance(before, ast.Constant) and bool(before.value)
        ends = NOWHERE if is_endless else entered
        return self.statements(node.orelse, ends, exits) | own[ast.Break]

    def _try(self, node: ast.Try | ast.TryStar, states: States, exits: Exits) -> States:
        own: Exits = defaultdict(frozenset)
        after_body = self.statements(node.body, states, own)
        ends = self.statements(node.orelse, after_body, own)
        for handler in node.handlers:
            ends |= self.statements(handler.body, states | after_body, own)
        for kind in EXITS:
            exits[kind] |= self.statements(node.finalbody, own[kind], exits)
        return self.statements(node.finalbody, ends, exits)

    def _with(self, node: ast.With | ast.AsyncWith, states: States, exits: Exits) -> States:
        finishes = []
        for item in node.items:
            found = self.event(item.context_expr)
            if found.kind is EventKind.FINISH:  # `with block:` finishes at its end
                finishes.append(found)
            else:
                states = self.expression(item.context_expr, states)
            if item.optional_vars is not None:
                states = self.expression(item.optional_vars, states)
        own: Exits = defaultdict(frozenset)
        ends = self.statements(node.body, states, own)
        for found in finishes:
            ends = self._take(found, ends)
            for kind in EXITS:
                own[kind] = self._take(found, own[kind])
        for kind in EXITS:
            exits[kind] |= own[kind]
        return ends

    def _match(self, node: ast.Match, states: States, exits: Exits) -> States:
        ends, is_complete = NOWHERE, False
        for case in node.cases:
            ends |= self.statements(case.body, states, exits)
            is_default = isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None
            is_complete |= is_default and case.guard is None
        return ends if is_complete else ends | states

    # Expressions ----------------------------------------------------------------------------------

    def expression(self, node: ast.AST, states: States) -> States:
        for found, is_certain in self._in_order(node, True):
            taken = self._take(found, states)
            states = taken if is_certain else taken | states
        return states

    def _in_order(self, node: ast.AST, is_certain: bool) -> Iterator[tuple[Event, bool]]:
        """What happens in an expression, as it is evaluated, and whether it surely happens."""
        if isinstance(node, ast.Lambda):
            return
        if isinstance(node, ast.AugAssign):  # the name stays bound to its block
            yield from self._in_order(node.value, is_certain)
            if isinstance(node.target, ast.Name):
                yield Event(EventKind.ASSIGN, node.target), is_certain
            return
        for child in _operands(node):
            yield from self._in_order(child, is_certain and not _may_be_skipped(node, child))
        found = self.event(node)
        if found.kind is not EventKind.NOTHING:
            yield found, is_certain

    def _take(self, found: Event, states: States) -> States:
        if found.kind in (EventKind.BIND, EventKind.OVERWRITE):
            self.lose(states)
        if found.kind is EventKind.FINISH:
            return frozenset(State(None, state.tests) for state in states)
        if found.kind is EventKind.BIND:
            return frozenset(State(found.node, state.tests) for state in states)
        assert isinstance(found.node, ast.Name)
        name = f"id='{found.node.id}'"
        is_overwritten = found.kind is EventKind.OVERWRITE
        return frozenset(
            State(
                None if is_overwritten else state.held,
                frozenset(test for test in state.tests if name not in test[0]),
            )
            for state in states
        )


def _operands(node: ast.AST) -> Iterator[ast.AST]:
    """In the order in which Python evaluates them."""
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
        if node.value is not None:
            yield node.value
        yield from node.targets if isinstance(node, ast.Assign) else [node.target]
    else:
        yield from ast.iter_child_nodes(node)


def _may_be_skipped(node: ast.AST, child: ast.AST) -> bool:
    if isinstance(node, ast.IfExp):
        return child is not node.test
    if isinstance(node, ast.BoolOp):
        return child is not node.values[0]
    return isinstance(node, COMPREHENSIONS)


STABLE_CALLS = ("is_src", "is_dst", "is_active")


def _test_key(test: ast.expr) -> tuple[str | None, bool]:
    """What two tests with the same outcome have in common, and what `true` means for it."""
    truth = True
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, truth = test.operand, not truth
    for node in ast.walk(test):
        if isinstance(node, (ast.NamedExpr, ast.Await, ast.Subscript)):
            return None, truth
        if isinstance(node, ast.Call) and not (
            isinstance(node.func, ast.Attribute) and node.func.attr in STABLE_CALLS
        ):
            return None, truth
    return ast.dump(test), truth


def _assume(states: States, key: str | None, truth: bool) -> States:
    if key is None:
        return states
    return frozenset(
        State(state.held, state.tests | {(key, truth)})
        for state in states
        if (key, not truth) not in state.tests
    )


def _forget(states: States) -> States:
    return frozenset(State(state.held, frozenset()) for state in states)
