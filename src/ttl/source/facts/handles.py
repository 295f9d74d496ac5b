"""The blocks and transfers of a path at one place, and their holders: states, and their joins.

A path is a state: its handles, oldest first, with what is known of variables and of tests. Holders
of a handle are variables, and for a block also its transfers under way. Two handles of one call
with the same holders are one, so there are finitely many states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache

from .. import tree
from ..bindings import Binding, Variable
from ..python import as_text
from ..walking import walk
from .values import ANYTHING, Holder, Known, Value

# With more states, they are merged: which handles exist together is lost.
MOST_STATES = 64

End = tuple[Known | Binding, str]  # of a buffer: what is known of it, and the releasing method

NOBODY: frozenset[Holder] = frozenset()


class Hidden(Variable):
    """A variable that the text does not have: for the value of an expression or a replaced one."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Handle:
    site: tree.Call  # the acquire, the copy, or the call that returned it to this function
    is_transfer: bool
    holders: frozenset[Holder]
    end: End | None = None  # of a block: releases at one end keep their order
    is_named: bool = field(default=False, hash=False)  # has a user's variable ever held it?
    weak: frozenset[Holder] = field(default=NOBODY, hash=False)  # may hold another item
    leads: frozenset[Holder] = field(default=NOBODY, hash=False)  # held its transfers
    reads: frozenset[Holder] = field(default=NOBODY, hash=False)  # a transfer copies these
    writes: frozenset[Holder] = field(default=NOBODY, hash=False)
    tensor: Binding | None = field(default=None, hash=False)  # that it writes to

    @property
    def names(self) -> frozenset[Variable]:
        """Return the user's variables that hold it."""
        return frozenset(each for each in self.holders if type(each) is Variable)

    @property
    def hidden(self) -> frozenset[Hidden]:
        return frozenset(each for each in self.holders if isinstance(each, Hidden))

    @property
    def known_names(self) -> frozenset[Variable]:
        """Return the names, or the hidden ones if there are no others."""
        return self.names or self.hidden

    def held_by(self, holders: Iterable[Holder]) -> bool:
        return not self.holders.isdisjoint(holders)

    def copies(self, block: Handle) -> bool:
        """Is it a transfer, still under way, of this block?"""
        return self.is_transfer and self.site in block.holders

    def given_to(self, holder: Holder, value: Value) -> Handle:
        """Add a holder of the value's handles."""
        is_weak = value.is_item or self.holders & value.holders <= self.weak
        is_named = self.is_named or type(holder) is Variable
        weak = self.weak | {holder} if is_weak and isinstance(holder, Variable) else self.weak
        return replace(self, holders=self.holders | {holder}, weak=weak, is_named=is_named)

    def without(self, gone: frozenset[Holder]) -> Handle:
        """Drop these holders."""
        parts = {name: getattr(self, name) - gone for name in HOLDING}
        is_same = all(len(part) == len(getattr(self, name)) for name, part in parts.items())
        return self if is_same else replace(self, **parts)


HOLDING = ("holders", "weak", "leads", "reads", "writes")


@dataclass(frozen=True, slots=True)
class Test:
    """The key of tests that have the same outcome."""

    text: str
    variables: frozenset[Variable]


@dataclass(frozen=True, slots=True)
class Held:
    handles: tuple[Handle, ...] = ()  # oldest first
    known: frozenset[tuple[Variable, Known]] = frozenset()
    tests: frozenset[tuple[Test, bool]] = frozenset()

    def known_of(self, variable: Variable) -> frozenset[Known]:
        return frozenset(known for each, known in self.known if each is variable) or ANYTHING

    def held_by(self, value: Value) -> list[Handle]:
        return [handle for handle in self.handles if handle.held_by(value.holders)]

    def changed(self, change: Callable[[Handle], Handle | None]) -> Held:
        found = (change(handle) for handle in self.handles)
        handles = tuple(dict.fromkeys(each for each in found if each is not None))
        return self if handles == self.handles else replace(self, handles=handles)

    def finished(self, gone: Iterable[Handle]) -> Held:
        """Drop these handles; the holders of a dropped transfer now lead to its blocks."""
        gone = {*gone}
        if not gone:
            return self
        done = {each.site: each.known_names for each in gone if each.is_transfer}

        def left(handle: Handle) -> Handle | None:
            if handle in gone:
                return None
            if not handle.held_by(done):
                return handle
            names = frozenset().union(*(done[each] for each in handle.holders if each in done))
            rest = handle.without(frozenset(done))
            return replace(rest, leads=rest.leads | names)

        return self.changed(left)

    def escaped(self, value: Value) -> Held:
        """Drop the value's handles, because an unknown holder finishes them elsewhere."""
        gone = {*self.held_by(value)}
        return self.changed(lambda handle: None if handle in gone else handle) if gone else self

    def held(self, holder: Holder, value: Value) -> Held:
        """Add a holder of the value, which keeps its own handles."""
        if not value.holders:
            return self
        return self.changed(
            lambda each: each.given_to(holder, value) if each.held_by(value.holders) else each
        )

    def bound(self, variable: Variable, value: Value) -> Held:
        """Assign the value to a variable, which loses its old one."""
        lost = frozenset({variable}) - value.holders

        def with_name(handle: Handle) -> Handle:
            is_one = handle.held_by(value.holders)
            rest = handle.without(lost)
            return rest.given_to(variable, value) if is_one else rest

        return self.forgetting(variable).changed(with_name).knowing(variable, value.known)

    def knowing(self, variable: Variable, known: frozenset[Known]) -> Held:
        if not known or known == ANYTHING:
            return self
        return replace(self, known=self.known | {(variable, each) for each in known})

    def forgetting(self, *variables: Variable) -> Held:
        """Forget what is known of these variables, and the tests that use them."""
        known = frozenset(each for each in self.known if each[0] not in variables)
        tests = frozenset(each for each in self.tests if each[0].variables.isdisjoint(variables))
        is_same = len(known) == len(self.known) and len(tests) == len(self.tests)
        return self if is_same else replace(self, known=known, tests=tests)

    def unbound(self, *variables: Variable) -> Held:
        gone = frozenset(variables)
        return self.forgetting(*variables).changed(lambda handle: handle.without(gone))

    def assuming(self, test: Test | None, outcome: bool) -> Held | None:
        """Return None if the path had another outcome before."""
        if test is None:
            return self
        if (test, not outcome) in self.tests:
            return None
        return replace(self, tests=self.tests | {(test, outcome)})


# Sets of states -----------------------------------------------------------------------------------

States = dict[Held, None]  # a set in a fixed order


def as_states(several: Iterable[Held]) -> States:
    states = dict.fromkeys(several)
    return {merge_states(states): None} if len(states) > MOST_STATES else states


def merge_states(states: Iterable[Held]) -> Held:
    """Return one state with everything that any of them has."""
    states = [*states]
    variables = [{variable for variable, _ in state.known} for state in states]
    common = set.intersection(*variables)
    known = frozenset(pair for state in states for pair in state.known if pair[0] in common)
    return Held(tuple(dict.fromkeys(h for state in states for h in state.handles)), known)


def names_of(handle: Handle, state: Held) -> set[Variable]:
    """Return the variables that lead to a handle or to a transfer of it, the certain ones first."""
    transfers = (other.known_names for other in state.handles if other.copies(handle))
    several = (handle.names - handle.weak, handle.hidden, handle.names, handle.leads, *transfers)
    return {*next((names for names in several if names), ())}


def select_unused(state: Held, found: dict[Held, list[Handle]]) -> list[Handle]:
    """List the handles to finish now, not those other paths use later by the same names."""
    used = [
        other.names
        for path, gone in found.items()
        for other in path.handles
        if path is not state and other.names and other not in gone
    ]
    gone: list[Handle] = []
    later: list[Handle] = []
    for handle in found[state]:
        names = names_of(handle, state)
        is_kept = any(names >= other for other in used) or any(
            other.copies(handle) or (not handle.is_transfer and other.end == handle.end)
            for other in later  # rule ORDER
        )
        (later if is_kept else gone).append(handle)
    return gone


# Tests --------------------------------------------------------------------------------------------

STABLE_CALLS = ("is_src", "is_dst", "is_active")
CHANGING = (tree.Bind, tree.Suspend, tree.Item, tree.Function, tree.Comprehension)


@lru_cache(maxsize=1024)
def test_of(node: tree.Expression) -> tuple[Test | None, bool]:
    """Return the key of tests with this outcome, and the outcome for which the test is true.
    None if asking again may have another outcome."""
    truth = True
    while isinstance(node, tree.Unary) and node.sign == "not":
        node, truth = node.operand, not truth
    nodes = [*walk(node)]
    if any(isinstance(each, CHANGING) for each in nodes):
        return None, truth
    if any(isinstance(each, tree.Call) and each.method not in STABLE_CALLS for each in nodes):
        return None, truth
    names = (each.binding for each in nodes if isinstance(each, tree.Name))
    variables = frozenset(each for each in names if isinstance(each, Variable))
    return Test(as_text(node), variables), truth
