"""The effects of expressions on handles: make, name, finish, keep and pass them.

Each path is evaluated by itself: an expression gives the paths after it, each with its value.
Calls go into functions whose tree is known (reading.py).

rule HANDLE  an acquire (`x.reserve()`, `x.wait()`) makes a block, `ttl.copy()` a transfer, a call
             of a helper whatever the helper returns
rule HOLDER  variables hold handles, also in lists, tuples and groups. A handle passed to an unknown
             function, or stored in an attribute, is finished elsewhere, or the run reports it
rule CALLED  a callee may call any function it gets
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from .. import tree
from ..bindings import Around, Binding, Variable
from ..walking import children, terms
from . import values
from .handles import Handle, Held, Hidden, as_states, test_of
from .liveness import ACQUIRES, RELEASES
from .values import (
    ANYTHING,
    NOTHING,
    UNKNOWN,
    ArgumentUse,
    Callee,
    Closure,
    Known,
    KnownObject,
    Partial,
    Sort,
    Value,
    unite,
)

if TYPE_CHECKING:
    from .reading import Reading

KEEPING = frozenset({"append", "appendleft", "add", "extend", "insert", "put"})
TAKEN = frozenset({*RELEASES, "release", "wait"})
BLOCK, TRANSFER = frozenset({Sort.BLOCK}), frozenset({Sort.TRANSFER})
MOST_RESULTS = 64

Result = list[tuple[Held, Value]]
Results = Iterator[tuple[Held, Value]]


class Evaluation:
    """The evaluation of expressions in one call of a function."""

    def __init__(self, reading: Reading, closure: Closure):
        self.reading, self.around = reading, closure.around
        self.scope = closure.function.scope
        self.liveness, self.bodies = reading.facts_of(closure.function)
        self.current: tree.Statement  # being passed
        # The calls that made handles of this function, and the bodies around them.
        self.own: dict[tree.Call, tuple[tree.Body, ...]] = {}

    # Values ---------------------------------------------------------------------------------------

    def value(self, node: tree.Node | None, state: Held) -> Result:
        if node is None:
            return [(state, NOTHING)]
        if (found := EXPRESSIONS.get(type(node))) is not None:
            return few([*found(self, node, state)])
        return [(after, NOTHING) for after, _ in self.several(terms(node), state)]

    def several(
        self, nodes: Iterable[tree.Node], state: Held
    ) -> list[tuple[Held, tuple[Value, ...]]]:
        found: list[tuple[Held, tuple[Value, ...]]] = [(state, ())]
        for node in nodes:
            found = [
                (after, (*earlier, value))
                for before, earlier in found
                for after, value in self.value(node, before)
            ]
        return found

    def united(self, nodes: Iterable[tree.Node], state: Held) -> Result:
        return [(after, unite(values)) for after, values in self.several(nodes, state)]

    def known(self, node: tree.Node, state: Held) -> frozenset[Known]:
        """Return what is known of an expression, without evaluating its effects."""
        if isinstance(node, tree.Name):
            binding = node.binding
            if isinstance(binding, Around):
                return values.around(binding.name, self.around)
            return state.known_of(binding)
        if isinstance(node, tree.Attribute):
            return values.attributes(self.known(node.owner, state), node.name)
        if isinstance(node, tree.Constant) and isinstance(node.value, (bool, type(None))):
            return frozenset({KnownObject(node.value)})
        return values.NOTHING_KNOWN if isinstance(node, tree.Constant) else ANYTHING

    def name(self, node: tree.Name, state: Held) -> Result:
        known = self.known(node, state)
        if isinstance(node.binding, Around):
            self.reading.note(known)
            return [(state, Value(known=known))]
        return [(state, Value(frozenset({node.binding}), known))]

    def attribute(self, node: tree.Attribute, state: Held) -> Results:
        for after, owner in self.value(node.owner, state):
            known = values.attributes(owner.known, node.name)
            self.reading.note(known)
            after = after.escaped(owner) if node.name in TAKEN else after  # a caller may call it
            yield after, Value(known=known)

    def item(self, node: tree.Item, state: Held) -> Results:
        for after, (owner, _) in self.several((node.owner, node.index), state):
            value = owner.item
            if isinstance(node.index, tree.Constant):
                key = node.index.value
                known = frozenset(k for each in owner.known for k in values.item_at(each, key))
                value = replace(value, known=known)
            self.reading.note(value.known)
            yield after, value

    def binary(self, node: tree.Binary, state: Held) -> Result:
        """Evaluate an operator: a sum of lists has their items, a sum of blocks is a new value."""
        if any(
            isinstance(each, (tree.Sequence, tree.Comprehension))
            or (isinstance(each, tree.Item) and isinstance(each.index, tree.Slice))
            for each in terms(node)
        ):
            return self.united(terms(node), state)
        return [(after, NOTHING) for after, _ in self.several(terms(node), state)]

    def bind(self, node: tree.Bind, state: Held) -> Result:
        return [
            (bound, Value(value.holders | {node.target.binding}, value.known))  # type: ignore[arg-type]
            for after, value in self.value(node.value, state)
            for bound in self.assign(node.target, value, after)
        ]

    def outcomes(self, test: tree.Expression, state: Held) -> tuple[list[Held], list[Held]]:
        """Split the paths by the outcome of a test."""
        key, truth = test_of(test)
        sides: tuple[list[Held], list[Held]] = [], []
        for after, _ in self.value(test, state):
            decided = self.truth(test, after)
            for side, outcome in zip(sides, (True, False), strict=True):
                found = after.assuming(key, truth is outcome)
                if found is not None and decided is not (not outcome):
                    side.append(found)
        return sides

    def truth(self, test: tree.Expression, state: Held) -> bool | None:
        """Return the truth of `held`, `held is not None` and flags, where it is known."""
        if isinstance(test, tree.Unary) and test.sign == "not":
            truth = self.truth(test.operand, state)
            return None if truth is None else not truth
        if isinstance(test, tree.Compare) and test.signs[0] in ("is", "is not"):
            is_none = Value(known=self.known(test.first, state)).is_none
            other = test.others[0]
            if is_none is None or not isinstance(other, tree.Constant) or other.value is not None:
                return None
            return is_none is (test.signs[0] == "is")
        return Value(known=self.known(test, state)).truth

    def choice(self, node: tree.Choice, state: Held) -> Result:
        sides = self.outcomes(node.test, state)
        return [
            (replace(after, tests=after.tests & state.tests), value)
            for side, part in zip(sides, (node.then, node.otherwise), strict=True)
            for before in side
            for after, value in self.value(part, before)
        ]

    def logic(self, node: tree.Logic, state: Held) -> Result:
        found = self.value(node.operands[0], state)
        for part in node.operands[1:]:  # each may be the last one evaluated
            found = few([*found, *(each for s, _ in found for each in self.value(part, s))])
        return found

    def definition(self, node: tree.Function, state: Held) -> Result:
        defaults = [each.default for each in node.parameters if each.default is not None]
        closure = Value(known=frozenset({Closure(node, self.around)}))
        self.reading.note(closure.known)
        found = self.united((*node.decorators, *defaults), state)
        return [(after.escaped(value), closure) for after, value in found]

    def comprehension(self, node: tree.Comprehension, state: Held) -> Result:
        states, first = [state], node.generators[0]
        for each in node.generators:
            states = [
                tested
                for before in states
                for over, value in self.value(each.over, before)
                for after in [over if each is first else over.escaped(value)]  # no name can hold it
                for bound in self.assign(each.target, value.item, after)
                for tested, _ in self.several(each.tests, bound)
            ]
        parts = [part for part in (node.key, node.value) if part is not None]
        own = node.scope.variables.values()
        found = [each for before in states for each in self.united(parts, before)]
        return [(after.unbound(*own), value) for after, value in found]

    def suspended(self, node: tree.Suspend, state: Held) -> Result:
        return [(after.escaped(value), UNKNOWN) for after, value in self.value(node.value, state)]

    # Targets --------------------------------------------------------------------------------------

    def assign(self, target: tree.Expression, value: Value, state: Held) -> list[Held]:
        if isinstance(target, tree.Target) and isinstance(target.binding, Variable):
            return [state.bound(target.binding, value)]
        if isinstance(target, tree.Sequence):
            states = [state]
            for part in target.items:
                states = [new for each in states for new in self.assign(part, value.item, each)]
            return states
        if isinstance(target, tree.Starred):
            return self.assign(target.value, value, state)
        if isinstance(target, tree.Item):
            found = self.several((target.owner, target.index), state)
            return [self.keep(target.owner, owner, value, after) for after, (owner, _) in found]
        return [after.escaped(value) for after, _ in self.several(children(target), state)]

    def keep(self, node: tree.Expression, container: Value, value: Value, state: Held) -> Held:
        """Let a container of this function hold the value too."""
        variable = node.binding if isinstance(node, tree.Name) else None
        if not isinstance(variable, Variable) or Sort.OUTSIDE in container.known:
            return state.escaped(value)
        known = state.known_of(variable)
        others = value.known - ANYTHING if known != ANYTHING else values.NOTHING_KNOWN
        return state.held(variable, value).knowing(variable, others)

    def finish(self, value: Value, state: Held, is_transfer: bool | None = None) -> Held:
        """Finish a value: all handles of a container, because the item is not known."""
        gone = [h for h in state.held_by(value) if is_transfer in (None, h.is_transfer)]
        for each in gone:
            if value.is_item or each.holders & value.holders <= each.weak:
                self.reading.items.add(each.site)
        return state.finished(gone)

    # Calls ----------------------------------------------------------------------------------------

    def call(self, node: tree.Call, state: Held) -> Result:
        if not isinstance(node.function, tree.Attribute):
            found = self.value(node.function, state)
            return [each for after, value in found for each in self.apply(node, value.known, after)]
        return [
            each
            for after, owner in self.value(node.function.owner, state)
            for each in self.method(node, node.function, owner, after)
        ]

    def method(
        self, node: tree.Call, function: tree.Attribute, owner: Value, state: Held
    ) -> Result:
        name = function.name
        is_handle = bool(owner.is_unknown or owner.known & (BLOCK | TRANSFER) or owner.buffers)
        if name in ACQUIRES and is_handle and not node.given:
            return self.acquire_or_wait(node, function, owner, state)
        if name in (*RELEASES, "release") and is_handle:
            found = self.united(node.given, state)
            return [(self.release(function, owner, after), UNKNOWN) for after, _ in found]
        is_guessed = not any(isinstance(each, KnownObject) for each in owner.known)
        if name == "wait_all" and is_guessed:
            return [(self.finish(owner, state, True), NOTHING)]
        if name in KEEPING and isinstance(function.owner, tree.Name):
            found = self.united(node.given, state)
            return [(self.keep(function.owner, owner, v, after), NOTHING) for after, v in found]
        if name in values.GIVING and owner.has_items:
            return [(after, owner.item) for after, _ in self.several(node.given, state)]
        is_own = bool(owner.known) and owner.known <= BLOCK | TRANSFER
        if is_own or (name == "store" and is_guessed):
            return [*self.other(node, values.LEAVES, state)]
        known = values.attributes(owner.known, name)
        self.reading.note(known)
        return self.apply(node, known, state)

    def apply(self, node: tree.Call, known: frozenset[Known], state: Held) -> Result:
        found: Result = []
        for callee in values.callees(known):
            if callee.function is values.COPY:
                found += self.copy(node, state)
            elif isinstance(callee.function, ArgumentUse):
                found += self.other(node, callee.function, state)
            elif (closure := self.reading.closure(callee)) is None:
                found += self.other(node, values.KEEPS, state)
            else:
                found += self.given(node, callee, closure, state)
        if found:
            return found
        # The value of a variable may return a block that it gets, and does not keep it.
        binding = getattr(node.function, "binding", None)
        is_variable = isinstance(binding, Variable)
        return [*self.other(node, values.PASSES if is_variable else values.KEEPS, state)]

    def given(self, node: tree.Call, callee: Callee, closure: Closure, state: Held) -> Result:
        found: list[tuple[Held, dict[Variable, Value]]] = [(state, {})]
        for argument, parameter in values.match_arguments(node, closure.function, callee.bound):
            found = [
                (after, {**given, parameter: value})
                if parameter is not None
                else (after.escaped(value), given)
                for before, given in found
                for after, value in self.value(argument, before)
            ]
        return [
            each
            for after, given in found
            for each in self.reading.go_in(self, node, closure, given, after)
        ]

    def other(self, node: tree.Call, effect: ArgumentUse, state: Held) -> Results:  # rule CALLED
        """Call a function that is not read."""
        for after, given in self.several(node.given, state):
            states = [after]
            for closure in self.reading.closures(known for each in given for known in each.known):
                states = [
                    after
                    for before in states
                    for after, _ in self.reading.go_in(self, node, closure, {}, before, True)
                ]
            is_kept = effect in (values.KEEPS, values.BINDS)
            kept = unite(each for each in given if is_kept and not values.find_captured(each.known))
            yield from ((each.escaped(kept), _result(effect, given)) for each in states)

    # The language's own ---------------------------------------------------------------------------

    def hidden(self, site: tree.Call) -> Hidden:
        """Return the hidden variable for the handle that a call of this function makes."""
        self.own.setdefault(site, self.bodies.around[self.current])
        return self.reading.hidden.setdefault(site, Hidden(".held", self.scope))

    def make(self, handle: Handle, known: frozenset[Known], state: Held) -> Result:
        token = self.hidden(handle.site)
        copied = Value(handle.reads | handle.writes)

        def started(other: Handle) -> Handle:
            is_copied = not other.is_transfer and other.held_by(copied.holders)
            return other.given_to(handle.site, copied) if is_copied else other

        state = state.unbound(token).changed(started)
        handle = replace(handle, holders=handle.holders | {token})
        return [(replace(state, handles=(*state.handles, handle)), Value(handle.holders, known))]

    def acquire_or_wait(
        self, node: tree.Call, function: tree.Attribute, owner: Value, state: Held
    ) -> Result:
        is_wait = function.name == "wait"
        has_transfer = any(handle.is_transfer for handle in state.held_by(owner))
        is_unused = isinstance(self.current, tree.Evaluate) and self.current.value is node
        is_maybe = is_wait and is_unused and not owner.buffers
        if is_wait and (has_transfer or is_maybe or owner.known & TRANSFER):
            return [(self.finish(owner, state, True), NOTHING)]
        if owner.known & BLOCK:
            return [(state, NOTHING)]
        end = self.end(function.owner, owner, "pop" if is_wait else "push")
        return self.make(Handle(node, False, frozenset(), end), BLOCK, state)

    def end(
        self, node: tree.Expression, owner: Value, release: str
    ) -> tuple[Known | Binding, str] | None:
        buffers = owner.buffers
        if len(buffers) == 1:
            return next(iter(buffers)), release
        return (node.binding, release) if isinstance(node, tree.Name) and not buffers else None

    def release(self, node: tree.Attribute, owner: Value, state: Held) -> Held:
        end = self.end(node.owner, owner, node.name)
        oldest = [h for h in state.handles if end is not None and h.end == end][:1]
        if oldest and not state.held_by(owner):
            return state.finished(oldest)
        return self.finish(owner, state, False)

    def copy(self, node: tree.Call, state: Held) -> Results:
        for after, ends in self.several(node.given, state):
            if len(ends) != 2:  # the call is refused
                yield after, NOTHING
                return
            tensors = [self.tensor(each, after) for each in node.given]
            source, destination = (
                each.holders - {tensor} for each, tensor in zip(ends, tensors, strict=True)
            )
            handle = Handle(node, True, frozenset(), reads=source, writes=destination)
            yield from self.make(replace(handle, tensor=tensors[1]), TRANSFER, after)

    def tensor(self, node: tree.Expression, state: Held) -> Binding | None:
        """Return `a` for `a[0, i]`, but None for `blocks[i]`."""
        if not isinstance(node, tree.Item) or not isinstance(node.owner, tree.Name):
            return None
        name = node.owner.binding
        is_held = any(name in h.holders and not h.is_transfer for h in state.handles)
        return None if is_held or isinstance(node.index, tree.Constant) else name


EXPRESSIONS: dict[type[tree.Node], Callable[..., Iterable[tuple[Held, Value]]]] = {
    tree.Attribute: Evaluation.attribute,
    tree.Binary: Evaluation.binary,
    tree.Bind: Evaluation.bind,
    tree.Call: Evaluation.call,
    tree.Choice: Evaluation.choice,
    tree.Comprehension: Evaluation.comprehension,
    tree.Constant: lambda flow, node, state: [(state, Value(known=flow.known(node, state)))],
    tree.Function: Evaluation.definition,
    tree.Item: Evaluation.item,
    tree.LanguageCall: Evaluation.call,
    tree.Logic: Evaluation.logic,
    tree.Name: Evaluation.name,
    tree.Sequence: lambda flow, node, state: flow.united(node.items, state),
    tree.Starred: lambda flow, node, state: flow.value(node.value, state),
    tree.Suspend: Evaluation.suspended,
    tree.Table: lambda flow, node, state: flow.united(children(node), state),
}


def _result(effect: ArgumentUse, given: tuple[Value, ...]) -> Value:
    if effect is values.PASSES:
        found = unite(given)
        known = frozenset(k for each in found.known for k in values.inside(each)) or ANYTHING
        return replace(found, known=known)
    if effect is values.BINDS and given and not given[0].is_unknown:
        count = len(given) - 1
        functions = (each for each in given[0].known if not isinstance(each, Sort))
        return Value(known=frozenset(Partial(each, count) for each in functions))
    return NOTHING if effect is values.LEAVES else UNKNOWN


def few(found: Result) -> Result:
    """Merge the values of equal states."""
    if len(found) == 1:
        return found
    values: dict[Held, Value] = {}
    for state, value in found:
        values[state] = values[state].or_other(value) if state in values else value
    if len(values) <= MOST_RESULTS:
        return [*values.items()]
    return [(state, unite(values.values())) for state in as_states(values)]
