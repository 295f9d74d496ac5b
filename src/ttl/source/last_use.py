"""Where a function leaves out releases and waits: statement by statement, on every path.

The rules are those of implicit_sync.py. Paths are followed with the outcomes of the tests they have
passed: two `if` with the same test, of names that do not change in between, take the same branch.
Exceptions end a run and are no paths, except to their handlers.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ttl.semantics.function_source import Definition, FunctionTree

from .handle_flow import HandleFlow
from .handles import (
    ACQUIRES,
    Handle,
    HandleKind,
    Made,
    SourceFunction,
    State,
    States,
    Summary,
    changed,
    has_own,
    joined,
)
from .liveness import is_endless, stored, test_key
from .scopes import shared_names
from .supplies import Place, Supplies, Supplying, is_awaited, unused
from .uses import uses_of_all
from .values import NOTHING, Value, item_of

Exits = defaultdict[type[ast.stmt], States]  # those that leave by a `return`, `break`, `continue`
EXITS = (ast.Return, ast.Break, ast.Continue)
MOST_ROUNDS = 8


@dataclass(slots=True)
class Known:
    """The functions that were read: what they do, and what is supplied in them."""

    summaries: dict[tuple[SourceFunction, FunctionTree], Summary] = field(default_factory=dict)
    supplies: dict[SourceFunction, Supplies] = field(default_factory=dict)


def read_function(function: SourceFunction, known: Known) -> Summary:
    if function not in known.supplies:
        known.supplies[function] = {}
        LastUses(function, function.tree, None, known).read()
    return known.summaries[function, function.tree]


class LastUses(Supplying):
    def __init__(
        self, root: SourceFunction, tree: FunctionTree, outer: HandleFlow | None, known: Known
    ):
        # A lambda among others has no statements for what it leaves out itself.
        is_lambda = outer is not None and tree in outer.lambdas.values()
        super().__init__(root, tree, outer, {} if is_lambda else known.supplies[root])
        self.known = known
        known.summaries[root, tree] = self.summary  # first: functions may call themselves

    def summary_of(self, callee: SourceFunction | FunctionTree) -> Summary:
        if isinstance(callee, SourceFunction):
            return read_function(callee, self.known)
        if (self.root, callee) not in self.known.summaries:
            LastUses(self.root, callee, self._around(callee), self.known).read()
        return self.known.summaries[self.root, callee]

    def _around(self, callee: FunctionTree) -> HandleFlow:
        flow: HandleFlow = self
        while callee not in (*flow.nested, *flow.lambdas.values()) and flow.outer is not None:
            flow = flow.outer
        return flow

    def read(self) -> None:
        exits: Exits = defaultdict(dict)
        assert not isinstance(self.tree, ast.Lambda)
        given = {h.buffer for state in self.states for h in state.handles}
        self.statements(self.tree.body, exits)
        for node in self.nested:  # also those that nobody here calls
            self.summary_of(node)
        self.summary.returns_other |= bool(self.states)
        ends = joined(self.states, exits[ast.Return])
        finished = [given - {h.buffer for h in s.handles if h.site is None} for s in ends]
        self.summary.finished = set.intersection(*finished) if finished else set()
        self.summary.finished_sometimes = set().union(*finished) - self.summary.finished
        shared = self.around - self.own
        for handle in (h for s in ends for h in s.handles if h.site is not None):
            for name in sorted(handle.names & shared):
                self.summary.binds.setdefault(name, set()).add(_made(handle))
        self.summary.is_complete = True
        for key in [key for key in self.supplies if key[2] in self.items]:
            del self.supplies[key]

    # Statements -----------------------------------------------------------------------------------

    def statements(self, body: list[ast.stmt], exits: Exits) -> None:
        outer, self.lists = self.lists, (*self.lists, id(body))
        for node in body:
            if self.states:
                self.current = node
                self.supply_before(node)
                self.statement(node, exits)
                if self.states:
                    self.supply_after(node, body)
        self.lists = outer

    def from_states(self, states: States, body: list[ast.stmt], exits: Exits) -> States:
        self.states = states
        self.statements(body, exits)
        return self.states

    def statement(self, node: ast.stmt, exits: Exits) -> None:
        if (compound := COMPOUND.get(type(node))) is not None:
            compound(self, node, exits)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets: list[ast.expr] = []
            targets += node.targets if isinstance(node, ast.Assign) else [node.target]
            if node.value is not None:
                self._assign(targets, node.value)
        elif isinstance(node, ast.AugAssign):  # the name stays bound to its block
            self.value(node.value)
        elif isinstance(node, ast.Expr):
            self.value(node.value, is_unused=True)
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self.bind(target.id, NOTHING)
        elif isinstance(node, ast.Return):
            self._return(node, exits)
        elif isinstance(node, EXITS):
            self._jump(node, exits)
        elif isinstance(node, Definition):
            self.defined[node.name] = node
            for default in (*node.args.defaults, *node.args.kw_defaults):
                self.escape(self.value(default))
        elif not isinstance(node, ast.ClassDef):
            self.children(node)
        if isinstance(node, ast.Raise):
            self.states = {}
        if isinstance(node, ast.AugAssign):
            self._forget([node.target.id] if isinstance(node.target, ast.Name) else [])
        elif type(node) not in COMPOUND:
            self._forget(stored(node))
            self._note_flag(node)

    def _forget(self, names: Iterable[str]) -> None:
        """What tests of these names were."""
        texts = [f"id='{name}'" for name in names]
        if texts and any(state.tests for state in self.states):
            self.states = changed(self.states, lambda state: State(
                state.handles,
                frozenset(t for t in state.tests if not any(text in t[0] for text in texts)),
            ))  # fmt: skip

    def _note_flag(self, node: ast.stmt) -> None:
        """`started = True` says how a test of it comes out."""
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant):
            return
        own = self.own - shared_names(self.tree)  # others may change what they share
        flags = [t for t in node.targets if isinstance(t, ast.Name) and t.id in own]
        if isinstance(node.value.value, bool):
            known = {(ast.dump(ast.Name(t.id, ast.Load())), node.value.value) for t in flags}
            self.states = changed(self.states, lambda s: State(s.handles, s.tests | known))

    def _assign(self, targets: list[ast.expr], value: ast.expr) -> None:
        pairs = _pairs(targets[0], value) if len(targets) == 1 else None
        if pairs is None:
            whole = self.value(value)
            pairs = [(target, value) for target in targets]
            values = [whole] * len(targets)
        else:
            values = [self.value(item) for _, item in pairs]
        for number, each in enumerate(values if len(values) > 1 else ()):
            self.hold(f"#{number}", each)  # `a, b = b, a`
            values[number] = tuple(tokens & {"~", "?"} | {f"#{number}"} for tokens in each)
        for (target, _), each in zip(pairs, values, strict=True):
            self.target(target, each)

    def _return(self, node: ast.Return, exits: Exits) -> None:
        value: Value = NOTHING if node.value is None else self.value(node.value)
        tokens = frozenset().union(*value)

        def left(state: State) -> State:
            returned = [h for h in state.handles if h.held_by(tokens)]
            self.summary.returns_other |= "?" in tokens or not all(map(state.holds, value))
            copied = [b for b in state.handles if any(h.copies(b) for h in returned)]
            for handle in (*returned, *copied):
                if handle.kind is HandleKind.GIVEN:
                    self.summary.returned.add(handle.buffer)
                else:
                    self.summary.makes.add(_made(handle))
            gone = {h for h in (*returned, *copied) if h.kind is not HandleKind.GIVEN}
            return state.changed(lambda h: None if h in gone else h)

        self.states = changed(self.states, left)
        self._jump(node, exits)

    def _jump(self, node: ast.stmt, exits: Exits) -> None:
        live = self.liveness.at_jump[node] if has_own(self.states) else frozenset()
        loop = None if isinstance(node, ast.Return) else self.loops[-1]

        def left(state: State) -> list[Handle]:
            ended = self.dead(state, live, loop)
            others = [h for h in unused(state, live) if h.is_transfer and h not in ended]
            return [h for h in others if loop is None or loop in self.path_of(h)] + ended

        self.settle(Place("before", node), left)
        exits[type(node)] = joined(exits[type(node)], self.states)
        self.states = {}

    # Compound statements --------------------------------------------------------------------------

    def if_statement(self, node: ast.If, exits: Exits) -> None:
        self.value(node.test)
        start, test = self.states, node.test
        then = self.from_states(_assume(start, test, True), node.body, exits)
        otherwise = self.from_states(_assume(start, test, False), node.orelse, exits)
        if then and otherwise:
            then, otherwise = self._balanced(node, then, otherwise)
        self.states = joined(then, otherwise)

    def _balanced(self, node: ast.If, then: States, otherwise: States) -> tuple[States, States]:
        """What one branch finishes and the other does not is supplied in the other."""
        if not has_own(joined(then, otherwise)):
            return then, otherwise
        live, here = self.liveness.after[node], self.lists[-1]

        def ended(state: State) -> list[Handle]:
            found = self.dead(state, live, here)
            return [h for h in state.handles if h.is_transfer and not is_awaited(h, state, live)
                    and h not in found] + found  # fmt: skip

        keys = [
            {(h.kind, h.site) for state in states for h in ended(state)}
            for states in (then, otherwise)
        ]
        last = node.orelse[-1] if node.orelse else None
        places = [Place("after", node.body[-1]),
                  Place("after", last) if last is not None else Place("else", node)]  # fmt: skip
        ends = []
        for side, states in enumerate((then, otherwise)):
            own = keys[side] - keys[1 - side]
            self.states = states
            if own:
                self.settle(places[side], lambda state, own=own: [  # type: ignore[misc]
                    h for h in ended(state) if (h.kind, h.site) in own
                ])  # fmt: skip
            ends.append(self.states)
        return ends[0], ends[1]

    def loop(self, node: ast.For | ast.AsyncFor | ast.While, exits: Exits) -> None:
        iterated = NOTHING if isinstance(node, ast.While) else self.value(node.iter)
        own: Exits = defaultdict(dict)
        entered: States = {}
        arriving, rounds = self.states, 0
        outer = self.loops, self.replaced
        self.loops = (*self.loops, id(node.body))
        self.replaced = (*self.replaced, uses_of_all(node.body).stored)
        while any(state not in entered for state in arriving):  # until an iteration adds nothing
            rounds += 1
            entered = joined(entered, arriving)
            if rounds >= MOST_ROUNDS:
                entered = {State(state.handles): None for state in entered}
            self.states = entered
            self._enter_iteration(node, iterated)
            self.statements(node.body, own)
            arriving = joined(self.states, own[ast.Continue])
            if rounds >= MOST_ROUNDS:
                arriving = {State(state.handles): None for state in arriving}
            if rounds > 4 * MOST_ROUNDS:
                break
        self.loops, self.replaced = outer
        exits[ast.Return] = joined(exits[ast.Return], own[ast.Return])
        ends = self.from_states({} if is_endless(node) else entered, node.orelse, exits)
        self.states = joined(ends, own[ast.Break])

    def _enter_iteration(
        self, node: ast.For | ast.AsyncFor | ast.While, iterated: Value
    ) -> None:
        if isinstance(node, ast.While):
            self.value(node.test)
        else:
            self.target(node.target, item_of(iterated))
            self._forget(stored(node.target))

    def try_statement(self, node: ast.Try | ast.TryStar, exits: Exits) -> None:
        start, own = self.states, defaultdict[type[ast.stmt], States](dict)
        after_body = self.from_states(start, node.body, own)
        ends = self.from_states(after_body, node.orelse, own)
        for handler in node.handlers:
            ends = joined(ends, self.from_states(joined(start, after_body), handler.body, own))
        for kind in EXITS:
            self.from_states(own[kind], node.finalbody, exits)
            if node.finalbody and has_own(self.states):
                live = self.liveness.after[node.finalbody[-1]]
                self.settle(Place("after", node.finalbody[-1]),
                            lambda state, live=live: self.dead(state, live, None))  # type: ignore[misc]  # fmt: skip
            exits[kind] = joined(exits[kind], self.states)
        self.states = self.from_states(ends, node.finalbody, exits)

    def with_statement(self, node: ast.With | ast.AsyncWith, exits: Exits) -> None:
        """What it acquires, or is given, it releases itself."""
        for item in node.items:
            if isinstance(item.context_expr, ast.Call) and self._is_acquire(item.context_expr):
                self.children(item.context_expr.func)
            else:
                self.finish(self.value(item.context_expr), but=HandleKind.TRANSFER)
            if item.optional_vars is not None:
                self.target(item.optional_vars, NOTHING)
        self.statements(node.body, exits)

    def _is_acquire(self, node: ast.Call) -> bool:
        return isinstance(node.func, ast.Attribute) and node.func.attr in ACQUIRES

    def match_statement(self, node: ast.Match, exits: Exits) -> None:
        self.value(node.subject)
        start, ends, is_complete = self.states, dict[State, None](), False
        for case in node.cases:
            ends = joined(ends, self.from_states(start, case.body, exits))
            is_default = isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None
            is_complete |= is_default and case.guard is None
        self.states = ends if is_complete else joined(ends, start)


COMPOUND: dict[type[ast.stmt], Callable[[LastUses, ast.stmt, Exits], None]] = {
    ast.If: LastUses.if_statement,  # type: ignore[dict-item]
    ast.For: LastUses.loop,  # type: ignore[dict-item]
    ast.AsyncFor: LastUses.loop,  # type: ignore[dict-item]
    ast.While: LastUses.loop,  # type: ignore[dict-item]
    ast.Try: LastUses.try_statement,  # type: ignore[dict-item]
    ast.TryStar: LastUses.try_statement,  # type: ignore[dict-item]
    ast.With: LastUses.with_statement,  # type: ignore[dict-item]
    ast.AsyncWith: LastUses.with_statement,  # type: ignore[dict-item]
    ast.Match: LastUses.match_statement,  # type: ignore[dict-item]
}


def _made(handle: Handle) -> Made:
    return Made(handle.kind, handle.reads, handle.writes, handle.buffer)


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]] | None:
    """Which target gets which value; None if that cannot be read off."""
    if not isinstance(target, (ast.Tuple, ast.List)):
        return [(target, value)] if not isinstance(target, ast.Starred) else None
    if not isinstance(value, (ast.Tuple, ast.List)) or len(target.elts) != len(value.elts):
        return None
    pairs: list[tuple[ast.expr, ast.expr]] = []
    for part, item in zip(target.elts, value.elts, strict=True):
        inner = None if isinstance(item, ast.Starred) else _pairs(part, item)
        if inner is None:
            return None
        pairs += inner
    return pairs


def _assume(states: States, test: ast.expr, outcome: bool) -> States:
    """The paths on which the test has that outcome."""
    key, truth = test_key(test)
    states = {s: None for s in states if _is_something(test, s) is not (not outcome)}
    if key is None:
        return states
    known = (key, truth is outcome)
    return {
        State(state.handles, state.tests | {known}): None
        for state in states
        if (key, not known[1]) not in state.tests
    }


def _is_something(test: ast.expr, state: State) -> bool | None:
    """`held is not None`, or `held`, of what has a handle."""
    outcome = True
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, outcome = test.operand, not outcome
    if isinstance(test, ast.Compare) and ast.unparse(test.comparators[-1]) == "None":
        outcome = outcome if isinstance(test.ops[0], ast.IsNot) else not outcome
        test = test.left if isinstance(test.ops[0], (ast.Is, ast.IsNot)) else test
    name = test.id if isinstance(test, ast.Name) else ""
    is_held = any(name in h.names - h.weak - h.unsure for h in state.handles if h.site is not None)
    return outcome if is_held else None
