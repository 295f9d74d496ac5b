"""Handles that a function holds at a place: blocks it acquired, transfers it started.

Holders are the names of variables, and four others: `#place` is the expression itself, until the
end of its statement, `@place` is a transfer that is under way, for the blocks it copies,
`buffer.pop` is a buffer that itself releases its blocks, and `.name` is what a variable had before
a statement in a loop that uses and replaces it, `e = e + v`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, ClassVar

from ttl.diagnostics.buffer_ends import CALLS
from ttl.semantics.function_source import Definition

RELEASES, ACQUIRES = tuple(CALLS), tuple(CALLS.values())

# Beyond these less is known: outcomes of tests, then which handles there are together.
MOST_STATES = 64


class Finish(ast.stmt):
    """Wait for the transfers, or release the blocks, that the variables `names` have.

    Not what one of the variables `kept` has as well; nor what is finished already.
    """

    _fields = ("names", "kept", "is_wait")
    _field_types: ClassVar = {"names": list, "kept": list, "is_wait": bool}  # ast.dump of 3.14
    names: list[ast.Name]
    kept: list[ast.Name]
    is_wait: bool

    def __init__(  # what copies a tree makes nodes without arguments or, since 3.13, with None
        self,
        names: Sequence[ast.Name] | None = None,
        kept: Sequence[ast.Name] | None = None,
        is_wait: bool = False,
    ):
        given: Any = (list(names or ()), list(kept or ()), is_wait)
        super().__init__(*given)


class Meaning(Enum):
    """What an expression that names something outside of a function stands for."""

    COPY = "ttl.copy"
    BUFFER = "a dataflow buffer"
    HARMLESS = "a function that does not keep its arguments"
    PASSING = "a function whose result has its arguments as items"
    PARTIAL = "functools.partial"
    OTHER = "something that is no dataflow buffer"
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True, eq=False)
class SourceFunction:
    """A function as the analysis sees it: its definition, and what the names in it mean."""

    tree: Definition
    resolve: Callable[[ast.expr], Meaning | SourceFunction]
    bound: Callable[[ast.expr], int] = lambda node: 0  # arguments that a method or partial has
    # The functions that an expression is, or has as items; None: not all of them are known.
    inside: Callable[[ast.expr], KnownFunctions | None] = lambda node: None


KnownFunctions = Sequence[tuple[Meaning | SourceFunction, int]]  # and the arguments they have


class HandleKind(Enum):
    BLOCK = "block"
    TRANSFER = "transfer"
    GIVEN = "given"  # a parameter, or a variable of a function around: nothing is supplied


@dataclass(frozen=True, slots=True)
class Handle:
    kind: HandleKind
    site: ast.expr | None  # the acquire, copy or call that made it
    holders: frozenset[str]
    buffer: str = ""  # and the end of it, as written: releases of one keep their order
    is_named: bool = False  # was it ever bound to a variable?
    weak: frozenset[str] = frozenset()  # the names that may have another item of its container
    unsure: frozenset[str] = frozenset()  # the names that may have something else altogether
    reads: frozenset[str] = frozenset()  # of a transfer: the holders of what it copies from
    writes: frozenset[str] = frozenset()
    tensor: str = ""  # that it writes to
    leads: frozenset[str] = frozenset()  # to a block: the names of its transfers that are done

    @property
    def names(self) -> frozenset[str]:
        """The variables: neither `#place` nor `@place` nor `buffer.pop` nor `.name`."""
        return frozenset(holder for holder in self.holders if holder.isidentifier())

    @property
    def former(self) -> frozenset[str]:
        """What the variables that have lost it are called: `.name`."""
        return frozenset(holder for holder in self.holders if holder[0] == ".")

    @property
    def is_transfer(self) -> bool:
        return self.kind is HandleKind.TRANSFER

    def copies(self, block: Handle) -> bool:
        """Is it a transfer of the block that is under way?"""
        is_known = self.is_transfer and self.site is not None
        return is_known and under_way(self.site) in block.holders  # type: ignore[arg-type]

    def is_item(self, tokens: frozenset[str]) -> bool:
        """Is what the tokens stand for perhaps another one?"""
        return "~" in tokens or self.holders & tokens <= self.weak

    def held_by(self, tokens: Iterable[str]) -> bool:
        return not self.holders.isdisjoint(tokens)

    def given_to(self, token: str, value: Iterable[str] = ()) -> Handle:
        """One more holder has what the tokens `value` stand for."""
        is_named = self.is_named or token.isidentifier()
        known = self.holders.intersection(value)
        weak = self.weak | {token} if "~" in value else self.weak
        is_unsure = "?" in value or (known and known <= self.unsure)
        unsure = self.unsure | {token} if is_unsure else self.unsure
        return replace(
            self, holders=self.holders | {token}, is_named=is_named, weak=weak, unsure=unsure
        )

    def without(self, tokens: Iterable[str]) -> Handle:
        if self.holders.isdisjoint(tokens):
            return self
        return replace(self, holders=self.holders - {*tokens})

    def unbound(self, name: str) -> Handle:
        """The variable has another value from here on."""
        if name not in self.holders | self.reads | self.writes | self.leads:
            return self
        parts = ("holders", "reads", "writes", "weak", "unsure", "leads")
        return replace(self, **{part: getattr(self, part) - {name} for part in parts})


@dataclass(frozen=True, slots=True)
class State:
    handles: tuple[Handle, ...]  # oldest first
    tests: frozenset[tuple[str, bool]] = frozenset()

    def holds(self, tokens: Iterable[str]) -> bool:
        return any(handle.held_by(tokens) for handle in self.handles)

    def oldest_of(self, buffer: str) -> list[Handle]:
        return [h for h in self.handles if h.buffer == buffer and h.site is not None][:1]

    def changed(self, change: Callable[[Handle], Handle | None]) -> State:
        found = (change(handle) for handle in self.handles)
        return replace(self, handles=tuple(dict.fromkeys(h for h in found if h is not None)))

    def finished(self, gone: Iterable[Handle]) -> State:
        """Without these; a transfer that is done holds its blocks no longer."""
        gone = {*gone}
        if not gone:
            return self
        done = {under_way(h.site): h.names for h in gone if h.is_transfer and h.site}

        def left(handle: Handle) -> Handle | None:
            leads = handle.leads.union(*(done[token] for token in handle.holders & done.keys()))
            return None if handle in gone else replace(handle.without(done), leads=leads)

        return self.changed(left)


States = dict[State, None]  # a set in a fixed order


def has_own(states: States) -> bool:
    """Is there a handle that the function itself made?"""
    return any(handle.site is not None for state in states for handle in state.handles)


def at(site: ast.AST) -> str:
    return f"{site.lineno}.{site.col_offset}.{site.end_lineno}.{site.end_col_offset}"  # type: ignore[attr-defined]


def temporary(site: ast.AST) -> str:
    return f"#{at(site)}"


def under_way(site: ast.AST) -> str:
    return f"@{at(site)}"


def names_of(handle: Handle, state: State) -> frozenset[str]:
    """The variables that lead to it, or to a transfer of it; those that surely do first."""
    transfers = (other.names for other in state.handles if other.copies(handle))
    found = (handle.names - handle.weak) or handle.names or handle.former
    return found or frozenset().union(*transfers)


def without_temporary(handle: Handle) -> Handle:
    temporary = [holder for holder in handle.holders if holder[0] == "#"]
    return handle.without(temporary) if temporary and handle.names else handle


def joined(*several: States) -> States:
    states: States = {}
    for each in several:
        states |= each
    if len(states) > MOST_STATES:
        states = {State(state.handles): None for state in states}
    if len(states) > MOST_STATES:
        states = {State(tuple(dict.fromkeys(h for s in states for h in s.handles))): None}
    return states


def changed(states: States, change: Callable[[State], State]) -> States:
    return joined({change(state): None for state in states})


@dataclass(frozen=True, slots=True)
class Made:
    """A handle that a call gives its caller, and the variables of the function that it copies."""

    kind: HandleKind
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    buffer: str = ""  # of a block, as the function writes it


@dataclass(slots=True)
class Summary:
    """What a call of a function does: with its parameters, and with variables around it."""

    finished: set[str] = field(default_factory=set)  # on every path
    finished_sometimes: set[str] = field(default_factory=set)
    escaped: set[str] = field(default_factory=set)
    returned: set[str] = field(default_factory=set)  # parameters and variables
    returns_other: bool = False  # on some path none of them
    makes: set[Made] = field(default_factory=set)  # that it returns
    binds: dict[str, set[Made]] = field(default_factory=dict)  # variables around it
    is_complete: bool = False
