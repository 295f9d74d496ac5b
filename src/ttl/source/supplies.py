"""What is left out at a place: the handles that a path has, and nobody finishes or uses later.

The rules are those of implicit_sync.py.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

from ttl.semantics.function_source import FunctionTree
from ttl.semantics.syntax import child_nodes, walk

from .handle_flow import HandleFlow
from .handles import (
    Handle,
    HandleKind,
    Meaning,
    SourceFunction,
    State,
    has_own,
    joined,
    names_of,
    under_way,
    without_temporary,
)
from .liveness import Names, alive, stored
from .scopes import COMPREHENSIONS


@dataclass(frozen=True, slots=True)
class Place:
    """Before or after a statement, or in the `else` that an `if` does not have."""

    where: str  # "before", "after", "else"; "in" for what is waited for at once
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
    leads: set[str] = field(default_factory=set)  # variables that have transfers of it
    kept: set[str] = field(default_factory=set)  # what these have is used later
    saves: set[tuple[ast.stmt, str]] = field(default_factory=set)  # before which `.name = name`


Supplies = dict[tuple[Place, bool, ast.expr], Supply]


class Supplying(HandleFlow):
    """The function is read statement by statement; `loops` and `replaced` are those around."""

    def __init__(
        self, root: SourceFunction, tree: FunctionTree, outer: HandleFlow | None, found: Supplies
    ):
        super().__init__(root, tree, outer)
        self.supplies = found
        self.current: ast.stmt  # that is read
        self.loops: tuple[int, ...] = ()  # their bodies, as ids
        self.replaced: tuple[Names, ...] = ()  # the names that they give values to
        self.saved: set[tuple[ast.stmt, str]] = set()  # as in Supply

    def dead(
        self, state: State, live: Names, body: int | None, is_end: bool = False
    ) -> list[Handle]:
        """What is to be finished now: transfers, then blocks, oldest first."""
        ended = unused(state, live)
        transfers = [
            h for h in ended
            if h.is_transfer and (not h.is_named or (is_end and body in self.path_of(h)))
        ]  # fmt: skip
        blocks: list[Handle] = []
        older: set[str] = set()
        for handle in (h for h in state.handles if h.kind is HandleKind.BLOCK):
            is_here = body is None or body in self.path_of(handle) or self._is_replaced(handle)
            if handle in ended and is_here and handle.buffer not in older:
                blocks.append(handle)
                transfers += [h for h in ended if h.copies(handle) and h not in transfers]
            else:
                older.add(handle.buffer)
        return transfers + blocks

    def _is_replaced(self, handle: Handle) -> bool:
        """Is this the body of a loop, in which its names get something else?"""
        if not self.loops or self.loops[-1] != self.lists[-1]:
            return False
        return not handle.names.isdisjoint(self.replaced[-1])

    def path_of(self, handle: Handle) -> tuple[int, ...]:
        return self.paths.get(handle.site, ()) if handle.site is not None else ()

    def settle(
        self, place: Place, gone: Callable[[State], list[Handle]], is_urgent: bool = False
    ) -> None:
        """Supply what is left out on some path, at a place that they all pass: what is not urgent
        later, if a variable that has it has something on another path that is used later.
        """
        found = {state: gone(state) for state in self.states}
        if not is_urgent:
            found = {state: _unless_used(state, found) for state in found}
        for state, handles in found.items():
            for handle in handles:
                self._supply(place, handle, names_of(handle, state), found)
        self.states = joined({state.finished(handles): None for state, handles in found.items()})

    def _supply(
        self, place: Place, handle: Handle, names: Names, found: dict[State, list[Handle]]
    ) -> None:
        assert handle.site is not None
        key = place, handle.is_transfer, handle.site
        if key not in self.supplies:
            is_at_once = handle.is_transfer and not handle.is_named
            self.supplies[key] = Supply(key[1], handle.site, place, is_at_once)
        supply = self.supplies[key]
        # A name from before the statement is one that all paths through it have.
        supply.names |= names & self.liveness.before[place.statement] or names
        supply.is_unnamed |= names <= handle.unsure
        supply.saves |= {save for save in self.saved if f".{save[1]}" in names}
        if not names and self.path_of(handle) != self.lists:  # there may be several, of a loop
            names = handle.leads
            supply.leads |= names
        for state, gone in found.items():
            for other in state.handles:
                leads = other.names | other.leads | names_of(other, state)
                if other not in gone and other.site is not None and leads & names:
                    supply.kept |= other.names - names

    def wait_at_once(self, sites: set[ast.AST]) -> None:
        """For transfers that are started in the midst of a statement."""

        def started(state: State) -> list[Handle]:
            return [h for h in state.handles if h.is_transfer and h.site in sites and not h.names
                    and isinstance(h.site, ast.Call)
                    and self.meaning(h.site.func) is Meaning.COPY]  # fmt: skip

        self.settle(Place("in", self.current), started)

    def supply_before(self, node: ast.stmt) -> None:
        """Transfers that the statement needs done, and what it gives the only name of away."""
        if not has_own(self.states):
            return
        live = self.liveness.before[node]
        is_simple = isinstance(node, (ast.Assign, ast.AnnAssign, ast.Expr, ast.Delete))
        replaced = stored(node) - self.liveness.uses(node) if is_simple else frozenset()

        def needed(state: State) -> list[Handle]:
            owed = [h for h in state.handles if h.is_transfer and not is_awaited(h, state, live)]
            lost = [h for h in state.handles if h.site and h.names and h.holders <= replaced]
            return [h for h in owed if h in lost or self._needs(node, h, state)] + [
                h for h in lost if not h.is_transfer
            ]

        self.settle(Place("before", node), needed, is_urgent=True)
        if isinstance(node, ast.Assign) and self.loops:
            self._save(node)

    def _save(self, node: ast.Assign) -> None:
        """In the loop of the acquire a name for that has a younger block by then."""
        again = stored(node) & _certainly_read(node.value)

        def saved(handle: Handle) -> Handle:
            is_block = handle.kind is HandleKind.BLOCK and self.loops[-1] in self.path_of(handle)
            if not is_block or not handle.names or not handle.names <= again:
                return handle
            name = min(handle.names)
            self.saved.add((node, name))
            return handle.given_to(f".{name}", handle.names)

        self.each(saved)

    def _needs(self, node: ast.stmt, transfer: Handle, state: State) -> bool:
        read, written = set(transfer.reads), set(transfer.writes)
        for block in state.handles:
            if transfer.copies(block):
                (written if block.held_by(transfer.writes) else read).update(block.names)
        sources, tensors = self._copied_from(node)
        if transfer.tensor in tensors:
            return True
        if self.liveness.uses(node).isdisjoint(read | written):
            return False
        names = [n for n in walk(node) if isinstance(n, ast.Name) and n.id in read | written]
        return not names or any(n.id in written or n not in sources for n in names)

    def _copied_from(self, node: ast.AST) -> tuple[set[ast.AST], set[str]]:
        """The names whose blocks are copied from, and the tensors."""
        names: set[ast.AST] = set()
        tensors: set[str] = set()
        for call in walk(node):
            if isinstance(call, ast.Call) and call.args and self.meaning(call.func) is Meaning.COPY:
                source = call.args[0]
                if isinstance(source, ast.Name):
                    names.add(source)
                elif isinstance(source, ast.Subscript) and isinstance(source.value, ast.Name):
                    tensors.add(source.value.id)
        return names, tensors

    def supply_after(self, node: ast.stmt, body: list[ast.stmt]) -> None:
        if not has_own(self.states):
            return
        live = self.liveness.after[node]
        is_end = node is body[-1]
        here = id(body)
        self.settle(Place("after", node), lambda state: self.dead(state, live, here, is_end))
        self.each(without_temporary)


def _certainly_read(node: ast.expr) -> Names:
    """The variables that the evaluation reads on every path."""
    if isinstance(node, ast.Name):
        return frozenset({node.id})
    if isinstance(node, (ast.IfExp, ast.BoolOp, ast.Lambda, *COMPREHENSIONS)):
        return frozenset()
    parts = (child for child in child_nodes(node) if isinstance(child, ast.expr))
    return frozenset().union(*map(_certainly_read, parts))


def _unless_used(state: State, found: dict[State, list[Handle]]) -> list[Handle]:
    """What the path is to finish, but for what other paths use later by the same variables."""
    used = [
        other.names
        for path, gone in found.items()
        for other in path.handles
        if path is not state and other.site is not None and other.names and other not in gone
    ]
    gone: list[Handle] = []
    later: list[Handle] = []
    for handle in found[state]:
        names = names_of(handle, state)
        is_kept = any(names >= other for other in used) or any(
            other.copies(handle) or (not handle.is_transfer and other.buffer == handle.buffer)
            for other in later  # rule ORDER
        )
        (later if is_kept else gone).append(handle)
    return gone


def unused(state: State, live: Names) -> list[Handle]:
    """What is neither used later, nor under way for a transfer that is."""
    live = _on_path(live, state)
    own = [handle for handle in state.handles if handle.site is not None]
    transfers = [h for h in own if h.is_transfer and live.isdisjoint(h.holders)]
    ended = {under_way(h.site) for h in transfers if h.site is not None}

    def is_unused(holder: str) -> bool:
        return holder in ended if holder[0] == "@" else holder not in live

    return [handle for handle in own if all(map(is_unused, handle.holders))]


def is_awaited(transfer: Handle, state: State, live: Names) -> bool:
    waited = _on_path(live, state)
    return not transfer.is_named or any(f"{holder}!" in waited for holder in transfer.holders)


def _on_path(live: Names, state: State) -> Names:
    """The names, whatever tests that the path does not know they depend on."""
    return frozenset(name.partition("?")[0] for name in alive(live, state.tests))
