"""Where a function leaves out releases and waits: statement by statement, on every path.

The rules are those of implicit_sync.py. Paths are followed with the outcomes of the tests they have
passed: two `if` with the same test, of names that do not change in between, take the same branch.
Exceptions end a run and are no paths, except to their handlers.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from ttl.semantics.function_source import Definition, FunctionTree

from .handle_flow import NOTHING, HandleFlow, Value, item_of
from .handles import (
    Handle,
    HandleKind,
    Made,
    Meaning,
    SourceFunction,
    State,
    States,
    Summary,
    changed,
    joined,
    under_way,
)
from .liveness import Names, alive, stored, test_key
from .scopes import stored_names

Exits = defaultdict[type[ast.stmt], States]  # those that leave by a `return`, `break`, `continue`
EXITS = (ast.Return, ast.Break, ast.Continue)
MOST_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Place:
    """Before or after a statement, or in the `else` that an `if` does not have."""

    where: str  # "before", "after", "else"
    statement: ast.stmt


@dataclass(slots=True)
class Supply:
    """One supplied call: what for, where, and the variables that may have the handle then."""

    is_wait: bool
    site: ast.expr
    place: Place
    is_at_once: bool = False
    is_unnamed: bool = False  # on some path no variable has it
    names: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)  # what these have is used later


Supplies = dict[tuple[Place, bool, ast.expr], Supply]


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


class LastUses(HandleFlow):
    def __init__(
        self, root: SourceFunction, tree: FunctionTree, outer: HandleFlow | None, known: Known
    ):
        super().__init__(root, tree, outer)
        self.known, self.supplies = known, known.supplies[root]
        self.loops: tuple[int, ...] = ()
        self.replaced: tuple[set[str], ...] = ()  # the names that a loop gives values to
        known.summaries[root, tree] = self.summary  # first: functions may call themselves

    def summary_of(self, callee: SourceFunction | FunctionTree) -> Summary:
        if isinstance(callee, SourceFunction):
            return read_function(callee, self.known)
        if (self.root, callee) not in self.known.summaries:
            LastUses(self.root, callee, self._around(callee), self.known).read()
        return self.known.summaries[self.root, callee]

    def _around(self, callee: FunctionTree) -> HandleFlow:
        flow: HandleFlow = self
        while flow.outer is not None and flow.functions.get(callee.name) is not callee:  # type: ignore[union-attr]
            flow = flow.outer
        while flow.outer is not None and flow.outer.functions.get(callee.name) is callee:  # type: ignore[union-attr]
            flow = flow.outer
        return flow

    def read(self) -> None:
        exits: Exits = defaultdict(dict)
        assert not isinstance(self.tree, ast.Lambda)
        given = {h.buffer for state in self.states for h in state.handles}
        self.statements(self.tree.body, exits)
        for node in self.functions.values():  # also those that nobody here calls
            self.summary_of(node)
        ends = joined(self.states, exits[ast.Return])
        finished = [given - {h.buffer for h in s.handles if h.site is None} for s in ends]
        self.summary.finished = set.intersection(*finished) if finished else set()
        self.summary.finished_sometimes = set().union(*finished) - self.summary.finished
        shared = self.around - self.own
        for handle in (h for s in ends for h in s.handles if h.site is not None):
            for name in sorted(handle.names & shared):
                self.summary.binds.setdefault(name, set()).add(_made(handle))
        self.summary.is_complete = True

    # Supplying ------------------------------------------------------------------------------------

    def is_dead(self, handle: Handle, state: State, live: Names) -> bool:
        """Is it neither used later, nor under way for a transfer that is?"""
        if handle.kind is HandleKind.GIVEN:
            return False
        live = _on_path(live, state)
        transfers = {under_way(h.site): h for h in state.handles if _is_transfer(h) and h.site}
        for holder in handle.holders:
            if holder[0] == "@":
                if holder not in transfers or not self.is_dead(transfers[holder], state, live):
                    return False
            elif holder in live:
                return False
        return True

    def dead(
        self, state: State, live: Names, body: int | None, is_end: bool = False
    ) -> list[Handle]:
        """What is to be finished now: transfers, then blocks, oldest first."""
        ended = [h for h in state.handles if self.is_dead(h, state, live)]
        transfers = [
            h for h in ended
            if _is_transfer(h) and (not h.is_named or (is_end and self._path(h)[-1:] == (body,)))
        ]  # fmt: skip
        blocks: list[Handle] = []
        older: set[str] = set()
        for handle in (h for h in state.handles if h.kind is HandleKind.BLOCK):
            is_here = body is None or body in self._path(handle) or self._is_replaced(handle)
            if handle in ended and is_here and handle.buffer not in older:
                blocks.append(handle)
                transfers += [h for h in ended if _copies(h, handle) and h not in transfers]
            else:
                older.add(handle.buffer)
        return transfers + blocks

    def _is_replaced(self, handle: Handle) -> bool:
        """Is this the body of a loop, in which its names get something else?"""
        if not self.loops or self.loops[-1] != self.lists[-1]:
            return False
        return not handle.names.isdisjoint(self.replaced[-1])

    def _path(self, handle: Handle) -> tuple[int, ...]:
        return self.paths.get(handle.site, ()) if handle.site is not None else ()

    def settle(self, place: Place, gone: Callable[[State], list[Handle]]) -> None:
        """Supply what is left out on some path, at a place that they all pass."""
        found = {state: gone(state) for state in self.states}
        for state, handles in found.items():
            for handle in handles:
                self._supply(place, handle, _names(handle, state), found)
        self.states = joined({state.finished(handles): None for state, handles in found.items()})

    def _supply(
        self, place: Place, handle: Handle, names: Names, found: dict[State, list[Handle]]
    ) -> None:
        assert handle.site is not None
        key = place, _is_transfer(handle), handle.site
        if key not in self.supplies:
            is_at_once = _is_transfer(handle) and not handle.is_named
            self.supplies[key] = Supply(key[1], handle.site, place, is_at_once)
        supply = self.supplies[key]
        # A name from before the statement is one that all paths through it have.
        supply.names |= names & self.liveness.before[place.statement] or names
        supply.is_unnamed |= not names
        for state, gone in found.items():
            for other in state.handles:
                leads = other.names | _names(other, state)
                if other not in gone and other.site is not None and leads & names:
                    supply.kept |= other.names - names

    def _before(self, node: ast.stmt) -> None:
        """Transfers that the statement needs done, and what it gives the only name of away."""
        live = self.liveness.before[node]
        is_simple = isinstance(node, (ast.Assign, ast.AnnAssign, ast.Expr, ast.Delete))
        replaced = stored(node) - self.liveness.uses(node) if is_simple else set()

        def needed(state: State) -> list[Handle]:
            owed = [h for h in state.handles if _is_transfer(h) and not _is_awaited(h, state, live)]
            lost = [h for h in state.handles if h.site and h.names and h.holders <= replaced]
            return [h for h in owed if h in lost or self._needs(node, h, state)] + [
                h for h in lost if not _is_transfer(h)
            ]

        self.settle(Place("before", node), needed)

    def _needs(self, node: ast.stmt, transfer: Handle, state: State) -> bool:
        if isinstance(node, EXITS):
            return False
        read, written = set(transfer.reads), set(transfer.writes)
        for block in state.handles:
            if _copies(transfer, block):
                (written if block.held_by(transfer.writes) else read).update(block.names)
        sources, tensors = self._copied_from(node)
        if transfer.tensor in tensors:
            return True
        if self.liveness.uses(node).isdisjoint(read | written):
            return False
        names = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in read | written]
        return not names or any(n.id in written or n not in sources for n in names)

    def _copied_from(self, node: ast.AST) -> tuple[set[ast.AST], set[str]]:
        """The names whose blocks are copied from, and the tensors."""
        names: set[ast.AST] = set()
        tensors: set[str] = set()
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and call.args and self.meaning(call.func) is Meaning.COPY:
                source = call.args[0]
                if isinstance(source, ast.Name):
                    names.add(source)
                elif isinstance(source, ast.Subscript) and isinstance(source.value, ast.Name):
                    tensors.add(source.value.id)
        return names, tensors

    def _after(self, node: ast.stmt, body: list[ast.stmt]) -> None:
        live = self.liveness.after[node]
        is_end = node is body[-1]
        here = id(body)
        self.settle(Place("after", node), lambda state: self.dead(state, live, here, is_end))
        self.states = changed(self.states, lambda s: s.changed(_without_temporary))

    # Statements -----------------------------------------------------------------------------------

    def statements(self, body: list[ast.stmt], exits: Exits) -> None:
        outer, self.lists = self.lists, (*self.lists, id(body))
        for node in body:
            if self.states:
                self._before(node)
                self.statement(node, exits)
                if self.states:
                    self._after(node, body)
        self.lists = outer

    def from_states(self, states: States, body: list[ast.stmt], exits: Exits) -> States:
        self.states = states
        self.statements(body, exits)
        return self.states

    def statement(self, node: ast.stmt, exits: Exits) -> None:
        if (compound := COMPOUND.get(type(node))) is not None:
            compound(self, node, exits)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
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
            for default in (*node.args.defaults, *node.args.kw_defaults):
                self.escape(self.value(default))
        elif not isinstance(node, ast.ClassDef):
            self.children(node)
        if isinstance(node, ast.Raise):
            self.states = {}
        changed_names = stored(node) if not isinstance(node, tuple(COMPOUND)) else set()
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            changed_names.add(node.target.id)
        self._forget(changed_names)

    def _forget(self, names: Iterable[str]) -> None:
        """What tests of these names were."""
        texts = [f"id='{name}'" for name in names]
        if texts:
            self.states = changed(self.states, lambda state: State(
                state.handles,
                frozenset(t for t in state.tests if not any(text in t[0] for text in texts)),
            ))  # fmt: skip

    def _assign(self, targets: list[ast.expr], value: ast.expr) -> None:
        for target in targets:
            if (pairs := _pairs(target, value)) is None or len(targets) > 1:
                break
            values = [(part, self.value(item)) for part, item in pairs]
            for part, item_value in values:
                self.target(part, item_value)
            return
        whole = self.value(value)
        for target in targets:
            self.target(target, whole)

    def _return(self, node: ast.Return, exits: Exits) -> None:
        value: Value = NOTHING if node.value is None else self.value(node.value)
        tokens = frozenset().union(*value)

        def left(state: State) -> State:
            returned = [h for h in state.handles if h.held_by(tokens)]
            copied = [b for b in state.handles if any(_copies(h, b) for h in returned)]
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
        live = self.liveness.at_jump[node]
        loop = None if isinstance(node, ast.Return) else self.loops[-1]

        def left(state: State) -> list[Handle]:
            ended = self.dead(state, live, loop)
            return [h for h in state.handles if _is_transfer(h) and h not in ended
                    and self.is_dead(h, state, live)
                    and (loop is None or loop in self._path(h))] + ended  # fmt: skip

        self.settle(Place("before", node), left)
        exits[type(node)] = joined(exits[type(node)], self.states)
        self.states = {}

    # Compound statements --------------------------------------------------------------------------

    def if_statement(self, node: ast.If, exits: Exits) -> None:
        self.value(node.test)
        start, (key, truth) = self.states, test_key(node.test)
        then = self.from_states(_assume(start, key, truth), node.body, exits)
        otherwise = self.from_states(_assume(start, key, not truth), node.orelse, exits)
        if then and otherwise:
            then, otherwise = self._balanced(node, then, otherwise)
        self.states = joined(then, otherwise)

    def _balanced(self, node: ast.If, then: States, otherwise: States) -> tuple[States, States]:
        """What one branch finishes and the other does not is supplied in the other."""
        live, here = self.liveness.after[node], self.lists[-1]

        def ended(state: State) -> list[Handle]:
            found = self.dead(state, live, here)
            return [h for h in state.handles if _is_transfer(h) and not _is_awaited(h, state, live)
                    and h not in found] + found  # fmt: skip

        keys = [{(h.kind, h.site) for s in states for h in ended(s)} for states in (then, otherwise)]
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
        # A loop over blocks has at least one iteration.
        ends = {s: None for s in self.states if not any(h.held_by(t) for h in s.handles
                                                        for t in iterated)}  # fmt: skip
        arriving, rounds = self.states, 0
        outer = self.loops, self.replaced
        self.loops = (*self.loops, id(node.body))
        self.replaced = (*self.replaced, stored_names(node.body))
        while any(state not in entered for state in arriving):  # until an iteration adds nothing
            rounds += 1
            entered = joined(entered, arriving)
            if rounds >= MOST_ROUNDS:
                entered = {State(state.handles): None for state in entered}
            self.states = entered
            self._enter_iteration(node, iterated)
            self.statements(node.body, own)
            arriving = joined(self.states, own[ast.Continue])
            ends = joined(ends, arriving)
            if rounds >= MOST_ROUNDS:
                arriving = {State(state.handles): None for state in arriving}
            if rounds > 4 * MOST_ROUNDS:
                break
        self.loops, self.replaced = outer
        exits[ast.Return] = joined(exits[ast.Return], own[ast.Return])
        test = node.test if isinstance(node, ast.While) else None
        is_endless = isinstance(test, ast.Constant) and bool(test.value)
        ends = self.from_states({} if is_endless else ends, node.orelse, exits)
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
            if node.finalbody and self.states:
                live = self.liveness.after[node.finalbody[-1]]
                self.settle(Place("after", node.finalbody[-1]),
                            lambda state, live=live: self.dead(state, live, None))  # type: ignore[misc]  # fmt: skip
            exits[kind] = joined(exits[kind], self.states)
        self.states = self.from_states(ends, node.finalbody, exits)

    def with_statement(self, node: ast.With | ast.AsyncWith, exits: Exits) -> None:
        finished: list[Value] = []
        for item in node.items:
            value: Value = NOTHING
            if isinstance(item.context_expr, ast.Call) and self._is_acquire(item.context_expr):
                self.children(item.context_expr.func)
            else:
                value = self.value(item.context_expr)
                finished.append(value)
            if item.optional_vars is not None:
                self.target(item.optional_vars, value)
        own: Exits = defaultdict(dict)
        ends = self.from_states(self.states, node.body, own)
        for states, kind in [*((own[kind], kind) for kind in EXITS), (ends, None)]:
            self.states = states
            for value in finished:
                self.finish(value)
            if kind is not None:
                exits[kind] = joined(exits[kind], self.states)

    def _is_acquire(self, node: ast.Call) -> bool:
        return isinstance(node.func, ast.Attribute) and node.func.attr in ("reserve", "wait")

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


def _is_transfer(handle: Handle) -> bool:
    return handle.kind is HandleKind.TRANSFER


def _made(handle: Handle) -> Made:
    return Made(handle.kind, handle.reads, handle.writes)


def _is_awaited(transfer: Handle, state: State, live: Names) -> bool:
    waited = _on_path(live, state)
    return not transfer.is_named or any(f"{holder}!" in waited for holder in transfer.holders)


def _on_path(live: Names, state: State) -> Names:
    """The names, whatever tests that the path does not know they depend on."""
    return frozenset(name.partition("?")[0] for name in alive(live, state.tests))


def _copies(transfer: Handle, block: Handle) -> bool:
    return _is_transfer(transfer) and transfer.site is not None and (
        under_way(transfer.site) in block.holders
    )  # fmt: skip


def _names(handle: Handle, state: State) -> Names:
    """The variables that lead to it, or to a transfer of it."""
    transfers = (h.names for h in state.handles if _copies(h, handle))
    return (handle.names - handle.weak) or handle.names or frozenset().union(*transfers)


def _without_temporary(handle: Handle) -> Handle:
    if not handle.names:
        return handle
    return handle.without([holder for holder in handle.holders if holder[0] == "#"])


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


def _assume(states: States, key: str | None, truth: bool) -> States:
    if key is None:
        return states
    return {
        State(state.handles, state.tests | {(key, truth)}): None
        for state in states
        if (key, not truth) not in state.tests
    }
