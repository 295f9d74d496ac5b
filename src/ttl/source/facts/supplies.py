"""The calls a function leaves out: pass its paths, and find what each has to finish.

rule LAST    a block that a path does not release is released after the last statement that uses its
             last holder, in a body that contains the acquire: for a block acquired outside of a
             loop or branch, after the whole loop or branch. `return`, `break` and `continue` that
             leave the body come after the release
rule NEEDED  a transfer that a path does not wait for is waited for before the first statement that
             needs it done: a use of its block other than another read, a release of the block, a
             read of the tensor it writes, a new value for its only name; otherwise at the end of
             the body that contains it, or at once if it has no name
rule ORDER   transfers first, then blocks, oldest first; a block stays while an older one of its
             buffer is held
rule BRANCH  a handle that one branch of an `if` finishes is finished in the other branch too
rule FLAGS   two `if`s with the same test, of names that do not change in between, take the same
             branch. Exceptions end a run, except for their handlers
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ttl.language.copies import copy

from .. import tree
from ..bindings import Binding, Variable
from ..flow import Forward
from ..tree import Body, Expression, Statement
from ..walking import children, walk
from .evaluation import BLOCK, Evaluation
from .handles import Handle, Held, Hidden, States, as_states, merge_states, names_of, select_unused
from .liveness import ACQUIRES, Live
from .values import Closure, Value, add_captured, unite

if TYPE_CHECKING:
    from .reading import Reading

MOST_ROUNDS = 24  # through a loop
NO_NAMES: frozenset[Variable] = frozenset()
SIMPLE = (tree.Assign, tree.Evaluate, tree.Delete)


@dataclass(frozen=True, slots=True)
class Spot:
    """A place before or after a statement, on leaving by one, or in an empty branch of an `if`."""

    where: str  # "before", "after", "leaving", "then", "else"
    statement: Statement


@dataclass(slots=True)
class Supply:
    """A supplied call: its handle, its place, and variables that may hold the handle there."""

    is_wait: bool
    site: tree.Call
    spot: Spot
    is_at_once: bool = False
    names: set[Variable] = field(default_factory=set)
    kept: set[Variable] = field(default_factory=set)  # their handles are used later

    def add(self, other: Supply) -> None:
        self.names |= other.names
        self.kept |= other.kept


class Bodies:
    """The bodies around each statement of a function."""

    def __init__(self, function: tree.Function):
        self.around: dict[Statement, tuple[Body, ...]] = {}
        self.replaced: dict[Body, frozenset[Variable]] = {}  # per loop: assigned in it
        self._read(function.body, ())

    def loop(self, node: Statement) -> Body:
        """Return the body of the innermost loop around it."""
        return next(body for body in reversed(self.around[node]) if body in self.replaced)

    def _read(self, body: Body, outer: tuple[Body, ...]) -> None:
        for node in body:
            self.around[node] = (*outer, body)
            if isinstance(node, (tree.Loop, tree.While)):
                targets = (each for each in walk(*node.body) if isinstance(each, tree.Target))
                names = (each.binding for each in targets)
                self.replaced[node.body] = frozenset(n for n in names if isinstance(n, Variable))
            for part in (node, *getattr(node, "handlers", ())):
                for name in ("body", "then", "otherwise", "finally_"):
                    self._read(getattr(part, name, ()), (*outer, body))


class Supplies(Forward[States], Evaluation):
    """The paths through one call of a function."""

    def __init__(self, reading: Reading, closure: Closure, is_callback: bool):
        Forward.__init__(self)
        Evaluation.__init__(self, reading, closure)
        self.closure = closure
        self.returned = Hidden(".returned", self.scope)
        self.is_callback = is_callback  # the caller ignores the result
        self.over: dict[tree.Loop, Value] = {}  # items of loops
        self.found: dict[Spot, dict[tuple[bool, tree.Call], Supply]] = {}

    # Paths ----------------------------------------------------------------------------------------

    def join(self, one: States, other: States) -> States:
        return as_states((*one, *other))

    def widen(self, state: States, rounds: int) -> States:
        return {merge_states(state): None} if rounds >= MOST_ROUNDS else state

    def forget(self, loop: tree.Loop | tree.While) -> None:
        around = self.bodies.around
        for spot in [each for each in self.found if loop.body in around[each.statement]]:
            del self.found[spot]

    # Statements -----------------------------------------------------------------------------------

    def before(self, node: Statement, state: States) -> States:
        self.current = node
        return self.supply_before(node, state) if self._has_own(state) else state

    def after(self, node: Statement, state: States) -> States:
        self.current = node
        return self.supply_after(node, state) if self._has_own(state) else state

    def _has_own(self, states: States) -> bool:
        return any(handle.site in self.own for state in states for handle in state.handles)

    def step(self, node: Statement, state: States) -> States:
        found = as_states(each for before in state for each in self._statement(node, before))
        if isinstance(node, (tree.Return, tree.Jump)):
            found = self.supply_leaving(node, found)
        return found

    def _statement(self, node: Statement, state: Held) -> Iterable[Held]:
        if isinstance(node, tree.Assign):
            return self._assign(node, state)
        if isinstance(node, tree.Return):
            found = self.value(node.value, state)
            return [after.bound(self.returned, add_captured(value)) for after, value in found]
        after = [each for each, _ in self.several(_list_evaluated(node), state)]
        targets = [each for each in children(node) if isinstance(each, tree.Target)]
        gone = [each.binding for each in targets if isinstance(each.binding, Variable)]
        if isinstance(node, tree.Update):  # the name stays bound to its block
            return [each.forgetting(*gone) for each in after]
        return [each.unbound(*gone) for each in after] if gone else after

    def _assign(self, node: tree.Assign, state: Held) -> Iterable[Held]:
        targets, values = _pairs(node)
        names = [Hidden(".item", self.scope) for _ in values[1:]]
        for after, several in self.several(values, state):
            given = [*several]
            for number, name in enumerate(names):  # `a, b = b, a`
                after = after.held(name, given[number + 1])
                given[number + 1] = replace(given[number + 1], holders=frozenset({name}))
            states = [after]
            for number, target in enumerate(targets):
                value = given[min(number, len(given) - 1)]
                states = [new for each in states for new in self.assign(target, value, each)]
            yield from (each.unbound(*names) for each in states)

    # Compound statements --------------------------------------------------------------------------

    def decide(self, test: Expression, state: States) -> tuple[States | None, States | None]:
        sides = [self.outcomes(test, each) for each in state]
        then, otherwise = (as_states(s for side in sides for s in side[i]) for i in (0, 1))
        return then or None, otherwise or None

    def start(self, loop: tree.Loop, state: States) -> States:
        found = [each for before in state for each in self.value(loop.over, before)]
        self.over[loop] = unite(value for _, value in found).item
        return as_states(after for after, _ in found)

    def next(self, loop: tree.Loop, state: States) -> States:
        value = self.over[loop]
        return as_states(new for each in state for new in self.assign(loop.target, value, each))

    def enter(self, node: tree.With, state: States) -> States:
        """Bind the blocks of a `with`, which releases them itself."""
        for item in node.items:
            state = as_states(new for each in state for new in self._entered(item, each))
        return state

    def _entered(self, item: tree.Entered, state: Held) -> Iterable[Held]:
        acquire = item.value
        if isinstance(acquire, tree.Call) and acquire.method in ACQUIRES and not acquire.given:
            found = self.value(acquire.function, state)
        else:
            given = self.value(acquire, state)
            found = [(self.finish(value, after, False), value) for after, value in given]
        for after, _ in found:
            block = Value(known=BLOCK)
            yield from [after] if item.target is None else self.assign(item.target, block, after)

    def catch(self, handler: tree.Handler, state: States) -> States:
        gone = handler.target.binding if handler.target is not None else None
        return as_states(s.unbound(gone) for s in state) if isinstance(gone, Variable) else state

    # Left out calls -------------------------------------------------------------------------------

    def supply_before(self, node: Statement, states: States) -> States:
        """Supply transfers that the statement needs done, and handles that lose their only name."""
        live = self.liveness.live_before(node)
        replaced = self.liveness.replaced(node)[0] if isinstance(node, SIMPLE) else NO_NAMES

        def needed(state: Held) -> list[Handle]:
            own = [h for h in state.handles if h.site in self.own]
            lost = [h for h in own if h.names and h.holders - h.hidden <= replaced]
            owed = [h for h in own if h.is_transfer and not self._is_awaited(h, live)]
            urgent = [h for h in owed if h in lost or self._needs(node, h, state)]
            return urgent + [h for h in lost if not h.is_transfer]

        states = self.settle(Spot("before", node), states, needed, is_urgent=True)
        return self._saved(node, states) if isinstance(node, tree.Assign) else states

    def _saved(self, node: tree.Assign, states: States) -> States:
        """Give a hidden name to handles whose names the statement reads and replaces."""
        again = self.liveness.replaced(node)[1]

        def is_lost(handle: Handle) -> bool:
            is_unnamed = handle.is_transfer or handle.hidden or not handle.names
            return not is_unnamed and handle.names <= again

        def saved(handle: Handle) -> Handle:
            name = min(handle.names, key=lambda each: each.name)
            return handle.given_to(self.reading.former(node, name), Value(handle.names))

        return (
            as_states(
                state.changed(lambda each: saved(each) if is_lost(each) else each)
                for state in states
            )
            if again
            else states
        )

    def _needs(self, node: Statement, transfer: Handle, state: Held) -> bool:
        read, written = {*transfer.reads}, {*transfer.writes}
        for block in state.handles:
            if transfer.copies(block):
                (written if block.held_by(transfer.writes) else read).update(block.names)
        sources, tensors = _find_copied(node)
        if transfer.tensor is not None and transfer.tensor in tensors:
            return True
        touched = read | written
        if touched.isdisjoint(self.liveness.mentions(node)):
            return False
        names = [n for n in walk(node) if isinstance(n, tree.Name) and n.binding in touched]
        return not names or any(n.binding in written or n not in sources for n in names)

    def supply_after(self, node: Statement, states: States) -> States:
        body, live = self.bodies.around[node][-1], self.liveness.live_after(node)
        is_end = node is body[-1]

        def dead(state: Held) -> list[Handle]:
            return self.dead(state, live, node, body, is_end)

        return self.settle(Spot("after", node), states, dead)

    def supply_leaving(self, node: Statement, states: States) -> States:
        live = self.liveness.live_after(node)
        is_return = isinstance(node, tree.Return)
        loop = None if is_return else self.bodies.loop(node)
        live |= {self.returned} if is_return and not self.is_callback else NO_NAMES

        def left(state: Held) -> list[Handle]:
            ended = self.dead(state, live, node, loop)
            unused = [h for h in self.unused(state, live) if h.is_transfer and h not in ended]
            return [h for h in unused if loop is None or loop in self.own[h.site]] + ended

        return self.settle(Spot("leaving", node), states, left)

    def leave(self, node: tree.Try, state: States) -> States:
        if not node.finally_ or not self._has_own(state):
            return state
        last = node.finally_[-1]
        live = self.liveness.live_after(last)
        return self.settle(Spot("after", last), state, lambda s: self.dead(s, live, last, None))

    def meet(
        self, node: tree.Branch, then: States | None, otherwise: States | None
    ) -> tuple[States | None, States | None]:  # rule BRANCH
        if not then or not otherwise or not self._has_own(then | otherwise):
            return then, otherwise
        live, body = self.liveness.live_after(node), self.bodies.around[node][-1]

        def ended(state: Held) -> list[Handle]:
            found = self.dead(state, live, node, body)
            own = [h for h in state.handles if h.site in self.own and h.is_transfer]
            return [h for h in own if not self._is_awaited(h, live) and h not in found] + found

        sides = then, otherwise
        keys = [{(h.is_transfer, h.site) for s in states for h in ended(s)} for states in sides]
        ends: list[States] = []
        for side, part in enumerate((node.then, node.otherwise)):
            own = keys[side] - keys[1 - side]
            spot = Spot("after", part[-1]) if part else Spot(("then", "else")[side], node)
            ends.append(
                self.settle(
                    spot,
                    sides[side],
                    lambda state, own=own: [  # type: ignore[misc]
                        h for h in ended(state) if (h.is_transfer, h.site) in own
                    ],
                )
            )
        return ends[0], ends[1]

    # Selection ------------------------------------------------------------------------------------

    def dead(
        self, state: Held, live: Live, node: Statement, body: Body | None, is_end: bool = False
    ) -> list[Handle]:
        """List the handles to finish now: transfers, then blocks, oldest first."""
        ended = self.unused(state, live)
        if not ended:
            return []
        transfers = [
            h
            for h in ended
            if h.is_transfer and (not h.is_named or (is_end and body in self.own[h.site]))
        ]
        blocks: list[Handle] = []
        older: set[object] = set()
        for handle in (h for h in state.handles if not h.is_transfer):  # rule ORDER
            is_here = body is None or body in self.own.get(handle.site, ())
            is_here |= self._is_replaced(handle, self.bodies.around[node][-1])
            if handle in ended and is_here and (handle.end is None or handle.end not in older):
                blocks.append(handle)
                transfers += [h for h in ended if h.copies(handle) and h not in transfers]
            else:
                older.add(handle.end)
        return transfers + blocks

    def _is_replaced(self, handle: Handle, body: Body) -> bool:
        """Do the handle's names get new values in this body of a loop?"""
        return not handle.names.isdisjoint(self.bodies.replaced.get(body, NO_NAMES))

    def unused(self, state: Held, live: Live) -> list[Handle]:
        """List handles that are not used later, nor by a transfer that is."""
        own = [handle for handle in state.handles if handle.site in self.own]
        ended = {h.site for h in own if h.is_transfer and not self._is_live(h, live, ())}
        found = [handle for handle in own if not self._is_live(handle, live, ended)]
        if not found:
            return []
        ends = {self._end(each, state) for each in live if isinstance(each, tree.Attribute)}
        return [handle for handle in found if handle.end is None or handle.end not in ends]

    def _is_live(self, handle: Handle, live: Live, ended: Collection[tree.Call]) -> bool:
        for holder in handle.holders:
            if isinstance(holder, Variable):
                if holder in live or self._is_outer(holder):
                    return True
            elif holder not in ended:
                return True
        return False

    def _is_outer(self, variable: Variable) -> bool:
        """Is it a variable of a function around this one, or of a caller?"""
        if variable.scope.is_in(self.scope):
            return False
        callers = {each.scope for each in self.reading.running}
        return variable.scope in callers or self.scope.is_in(variable.scope)

    def _end(self, node: tree.Attribute, state: Held) -> object:
        return self.end(node.owner, Value(known=self.known(node.owner, state)), node.name)

    def _is_awaited(self, transfer: Handle, live: Live) -> bool:
        names = transfer.names
        return not transfer.is_named or any(n in live or self._is_outer(n) for n in names)

    # Recording ------------------------------------------------------------------------------------

    def settle(
        self,
        spot: Spot,
        states: States,
        gone: Callable[[Held], list[Handle]],
        is_urgent: bool = False,
    ) -> States:
        """Supply the calls that some path leaves out, at a place that all paths pass. A call that
        is not urgent waits if another path uses a handle of the same variable later."""
        found = {state: gone(state) for state in states}
        if not any(found.values()):
            return states
        if not is_urgent:
            found = {state: select_unused(state, found) for state in found}
        for state, handles in found.items():
            for handle in handles:
                self._supply(spot, handle, names_of(handle, state), found)
        return as_states(state.finished(handles) for state, handles in found.items())

    def _supply(
        self, spot: Spot, handle: Handle, names: set[Variable], found: dict[Held, list[Handle]]
    ) -> None:
        here = self.found.setdefault(spot, {})
        key = handle.is_transfer, handle.site
        is_at_once = handle.is_transfer and not handle.is_named
        supply = here.setdefault(key, Supply(*key, spot, is_at_once))
        # Names that are live before the statement are names on all paths through it.
        supply.names |= self._own(names & self.liveness.live_before(spot.statement) or names)
        for state, gone in found.items():
            for other in state.handles:
                leads = {*other.holders, *other.leads, *names_of(other, state)}
                if other not in gone and other.site in self.own and leads & names:
                    supply.kept |= self._own(other.names - names)

    def _own(self, names: Collection[Variable]) -> set[Variable]:
        """Keep the variables visible here: callees keep some of their own."""
        return {each for each in names if self.scope.is_in(each.scope)}


def _find_copied(node: Statement) -> tuple[set[Expression], set[Binding]]:
    """Return the names of blocks copied from, and the tensors."""
    names: set[Expression] = set()
    tensors: set[Binding] = set()
    for call in walk(node):
        if isinstance(call, tree.LanguageCall) and call.which is copy and call.given:
            source = call.given[0]
            if isinstance(source, tree.Name):
                names.add(source)
            elif isinstance(source, tree.Item) and isinstance(source.owner, tree.Name):
                tensors.add(source.owner.binding)
    return names, tensors


def _list_evaluated(node: Statement) -> list[tree.Node]:
    parts = [*node.names] if isinstance(node, tree.Foreign) else children(node)
    return [each for each in parts if not isinstance(each, tree.Target)]


def _pairs(node: tree.Assign) -> tuple[Sequence[Expression], Sequence[Expression]]:
    """Return targets and their values, or one value for all targets."""
    target, value = node.targets[0], node.value
    if len(node.targets) == 1 and all(isinstance(each, tree.Sequence) for each in (target, value)):
        sides = target.items, value.items  # type: ignore[attr-defined]
        has_rest = any(isinstance(each, tree.Starred) for side in sides for each in side)
        if len(sides[0]) == len(sides[1]) and not has_rest:
            return sides
    return node.targets, (value,)
