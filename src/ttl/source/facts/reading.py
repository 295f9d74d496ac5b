"""Read a kernel together with the functions it calls: each call goes into the function's tree.

rule RETURNED a handle that a function makes and returns counts as made by the call
rule ONCE     the ends of a call with the same arguments on the same path are kept
rule ALONE    functions that are named but not called are read with unknown arguments
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from types import CodeType, FunctionType

from .. import tree
from ..bindings import Variable
from ..functions import own_code, place_of
from ..trees import tree_of
from ..walking import is_generator
from .evaluation import Evaluation, Result
from .handles import Handle, Held, Hidden
from .liveness import Liveness
from .supplies import Bodies, Supplies, Supply
from .values import (
    UNKNOWN,
    ArgumentUse,
    Callee,
    Closure,
    Holder,
    Known,
    KnownObject,
    Sort,
    Value,
    callees,
    find_captured,
)

Given = dict[Variable, Value]
GENERATOR = 0x2A0  # in co_flags: a generator may never reach its end


@dataclass(slots=True)
class Reading:
    """The state of all functions that were read."""

    trees: dict[tuple[CodeType, str], tree.Function | None] = field(default_factory=dict)
    facts: dict[tree.Function, tuple[Liveness, Bodies]] = field(default_factory=dict)
    hidden: dict[tree.Node, Hidden] = field(default_factory=dict)
    formers: dict[tuple[tree.Assign, Variable], Hidden] = field(default_factory=dict)
    items: set[tree.Call] = field(default_factory=set)  # the sites whose handles are in lists
    running: list[tree.Function] = field(default_factory=list)
    named: dict[tree.Function, Closure] = field(default_factory=dict)
    calls: dict[object, tuple[Supplies, list[Held]]] = field(default_factory=dict)

    def read(self, function: FunctionType) -> None:
        self.note({KnownObject(function)})
        done: set[tree.Function] = set()
        while waiting := [each for each in self.named if each not in done]:  # rule ALONE
            done.update(waiting)
            for each in waiting:
                if all(call.closure.function is not each for call, _ in self.calls.values()):
                    self.ends(self.named[each], {}, Held(), False)

    def note(self, known: Iterable[Known]) -> None:
        """Note the user's functions among these, because an unknown caller may call them."""
        for closure in self.closures(known):
            self.named.setdefault(closure.function, closure)

    def closures(self, known: Iterable[Known]) -> list[Closure]:
        """Return the functions among these whose trees are known."""
        found = map(self.closure, callees(each for each in known if not isinstance(each, Sort)))
        return [each for each in found if each is not None]

    def closure(self, callee: Callee) -> Closure | None:
        """Return None if its source is not available, or it is a generator."""
        function = callee.function
        if isinstance(function, ArgumentUse):
            return None
        if isinstance(function, Closure):
            inner = function.function
            return None if inner.is_async or is_generator(inner) else function
        code = own_code(function)
        if place_of(code) not in self.trees:
            self.trees[place_of(code)] = None if code.co_flags & GENERATOR else tree_of(function)
        found = self.trees[place_of(code)]
        return None if found is None else Closure(found, function)

    def ends(
        self, closure: Closure, given: Given, state: Held, is_callback: bool
    ) -> tuple[Supplies, list[Held]]:  # rule ONCE
        key = closure, frozenset(given.items()), state, is_callback
        if key not in self.calls:
            self.running.append(closure.function)
            call = Supplies(self, closure, is_callback)
            ends = call.function(closure.function, {_begin(closure.function, given, state): None})
            self.running.pop()
            self.calls[key] = call, [*(ends or {})]
        return self.calls[key]

    def supplies(self) -> dict[tuple[CodeType, str], dict[object, Supply]]:
        """Group the supplied calls by the code of outermost functions."""
        found: dict[tuple[CodeType, str], dict[object, Supply]] = {}
        for call, _ in self.calls.values():
            here = found.setdefault(place_of(own_code(call.around)), {})
            for spot, several in call.found.items():
                for key, supply in several.items():
                    if supply.site not in self.items:
                        first = Supply(*key, spot, supply.is_at_once)
                        here.setdefault((spot, key), first).add(supply)
        return found

    def facts_of(self, function: tree.Function) -> tuple[Liveness, Bodies]:
        if function not in self.facts:
            self.facts[function] = Liveness(function), Bodies(function)
        return self.facts[function]

    def former(self, node: tree.Assign, variable: Variable) -> Hidden:
        """Return the hidden variable for the value that a variable had before a statement."""
        key = node, variable
        return self.formers.setdefault(key, Hidden(f".{variable.name}", variable.scope))

    def go_in(
        self,
        caller: Evaluation,
        node: tree.Call,
        closure: Closure,
        given: Given,
        state: Held,
        is_callback: bool = False,
    ) -> Result:
        if closure.function in self.running:
            for value in given.values():
                state = state.escaped(value)
            return [(state, UNKNOWN)]
        call, ends = self.ends(closure, given, state, is_callback)
        token = caller.hidden(node)
        return [_back(token, node, call, given, state, each) for each in ends]


def _begin(function: tree.Function, given: Given, state: Held) -> Held:
    for parameter in function.parameters:
        value = given.get(parameter.variable, UNKNOWN)
        known = value.known | {Sort.OUTSIDE}
        state = state.bound(parameter.variable, replace(value, known=known))
    return state


def _back(
    token: Hidden, node: tree.Call, call: Supplies, given: Given, before: Held, end: Held
) -> tuple[Held, Value]:  # rule RETURNED
    known = end.known_of(call.returned)
    taken = find_captured(known)
    own = [each for each, _ in end.known if each.scope.is_in(call.scope) and each not in taken]
    back = _Back(token, node, call, given, taken)
    state = replace(
        end.unbound(token).forgetting(*own).changed(back.handle), tests=end.tests & before.tests
    )
    is_held = any(token in handle.holders for handle in state.handles)
    return state, Value(frozenset({token} if is_held else ()), known)


@dataclass(frozen=True, slots=True)
class _Back:
    """Translate the handles that a call leaves into its caller's view."""

    token: Hidden
    node: tree.Call
    call: Supplies
    given: Given
    taken: frozenset[Holder]  # by returned functions

    def handle(self, handle: Handle) -> Handle | None:
        is_made, holders = handle.site in self.call.own, self.holders(handle.holders)
        if is_made and not holders:
            return None
        changed = replace(
            handle,
            holders=holders,
            weak=self.holders(handle.weak) | self.taken,
            leads=self.holders(handle.leads),
            reads=self.holders(handle.reads, self.given),
            writes=self.holders(handle.writes, self.given),
        )
        is_own_end = isinstance(handle.end and handle.end[0], Variable)
        end = None if is_own_end else handle.end
        return replace(changed, site=self.node, tensor=None, end=end) if is_made else changed

    def holders(self, holders: frozenset[Holder], given: Given | None = None) -> frozenset[Holder]:
        found: set[Holder] = set()
        for each in holders:
            if given and each in given:
                found |= given[each].holders
            elif not isinstance(each, Variable):
                found.add(self.node if each in self.call.own else each)
            elif each in self.taken or not each.scope.is_in(self.call.scope):
                found.add(each)
            elif each is self.call.returned:
                found.add(self.token)
        return frozenset(found)
