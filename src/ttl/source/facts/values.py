"""Possible values of an expression of a kernel, for supplying releases and waits.

A value is a set of holders (handles.py) of its blocks and transfers, and a set of known things:
functions, buffers, containers of these, and True, False and None. Nothing is known of other objects
around a kernel, so findings hold for all kernels whose names have values of the same types.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from inspect import Parameter
from types import FunctionType, ModuleType
from typing import Any

from ttl.diagnostics.frames import is_pyttlang_file, is_user_file
from ttl.language.buffer import DataflowBuffer
from ttl.language.copies import GroupTransfer, copy
from ttl.loading.packages import is_ours

from .. import tree
from ..bindings import Variable
from ..functions import (
    CONTAINERS,
    MISSING,
    find_called,
    find_member,
    find_value,
    items_of,
    own_code,
)
from ..walking import walk

# Builtins that may get a block: HARMLESS ones do not keep it, PASSING ones may return it.
HARMLESS = (
    abs,
    bool,
    getattr,
    hasattr,
    id,
    isinstance,
    len,
    print,
    range,
    repr,
    str,
    type,
    GroupTransfer,
)
PASSING = (dict, enumerate, iter, list, max, min, next, reversed, set, sorted, tuple, zip)
GIVING = ("get", "items", "values", "copy", "pop")  # methods of containers that return items
POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
NAMED = (Parameter.KEYWORD_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
DULL = (bool, int, float, complex, str, bytes, type(None))


class Sort(Enum):
    """The sort of a value that is not itself known."""

    UNKNOWN = "anything"
    OUTSIDE = "an object that somebody else has as well"
    BLOCK = "a block"
    TRANSFER = "a transfer"
    PLAIN = "a number, say"


@dataclass(frozen=True, slots=True, eq=False)
class KnownObject:
    """An object, known by its identity."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KnownObject) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


@dataclass(frozen=True, slots=True)
class Closure:
    """A function in the tree, whose outer names are those of `around`."""

    function: tree.Function
    around: FunctionType


@dataclass(frozen=True, slots=True)
class Partial:
    """A function with some of its arguments bound."""

    function: KnownObject | Closure | Partial
    count: int


@dataclass(frozen=True, slots=True)
class ArgumentUse:
    """Every other callable, by its effect on its arguments."""

    name: str


COPY, KEEPS, LEAVES, PASSES, BINDS = map(
    ArgumentUse, ("copy", "keeps", "leaves", "passes", "binds")
)

Known = Sort | KnownObject | Closure | Partial
Holder = Variable | tree.Call  # a transfer under way, known by its call, holds its blocks
NOTHING_KNOWN: frozenset[Known] = frozenset()
ANYTHING: frozenset[Known] = frozenset({Sort.UNKNOWN})
SORTS = frozenset(Sort) - {Sort.OUTSIDE, Sort.PLAIN}

MAYBE_NONE = frozenset({Sort.UNKNOWN, Sort.PLAIN, KnownObject(None)})


@dataclass(frozen=True, slots=True)
class Value:
    holders: frozenset[Holder] = frozenset()
    known: frozenset[Known] = NOTHING_KNOWN
    is_item: bool = False  # which item of the holders' containers it is is unknown

    def or_other(self, other: Value) -> Value:
        """Merge two possible values."""
        is_item = self.is_item or other.is_item or self.holders != other.holders
        return replace(unite((self, other)), is_item=is_item)

    @property
    def item(self) -> Value:
        known = frozenset(each for known in self.known for each in inside(known))
        return replace(self, known=known, is_item=True)

    @property
    def is_unknown(self) -> bool:
        return Sort.UNKNOWN in self.known

    @property
    def has_items(self) -> bool:
        """Is it a container of known things?"""
        return not self.is_unknown and any(
            isinstance(one, Closure)
            or (isinstance(one, KnownObject) and type(one.value) in CONTAINERS)
            for one in self.known
        )

    @property
    def buffers(self) -> set[Known]:
        things = (each for each in self.known if isinstance(each, KnownObject))
        return {each for each in things if isinstance(each.value, DataflowBuffer)}

    @property
    def truth(self) -> bool | None:
        """Return the truth of True, False, None, blocks and transfers."""
        if self.known and self.known <= {KnownObject(True), Sort.BLOCK, Sort.TRANSFER}:
            return True
        return (
            False if self.known and self.known <= {KnownObject(False), KnownObject(None)} else None
        )

    @property
    def is_none(self) -> bool | None:
        if self.known == {KnownObject(None)}:
            return True
        return None if not self.known or self.known & MAYBE_NONE else False


NOTHING = Value()
UNKNOWN = Value(known=ANYTHING)


def unite(values: Iterable[Value]) -> Value:
    values = tuple(values)
    holders = frozenset().union(*(each.holders for each in values))
    known = frozenset().union(*(each.known for each in values))
    if known and not all(each.known for each in values):
        known |= {Sort.PLAIN}
    return Value(holders, known, any(each.is_item for each in values))


def find_captured(known: Iterable[Known]) -> frozenset[Holder]:
    """Return the variables that functions take along wherever they are called."""
    return frozenset(
        node.binding
        for each in known
        if isinstance(each, Closure)
        for node in walk(each.function)
        if isinstance(node, tree.Name)
        if isinstance(node.binding, Variable)
    )


def add_captured(value: Value) -> Value:
    holders = find_captured(value.known)
    return unite((value, Value(holders, is_item=True))) if holders else value


# Objects ------------------------------------------------------------------------------------------


def known_of(value: object) -> frozenset[Known]:
    if value is MISSING:
        return ANYTHING
    return NOTHING_KNOWN if type(value) in DULL else frozenset({KnownObject(value)})


def around(name: str, function: FunctionType) -> frozenset[Known]:
    return known_of(find_value(name, function))


def attributes(several: Iterable[Known], name: str) -> frozenset[Known]:
    return frozenset(found for known in several for found in _attribute(known, name))


def _attribute(known: Known, name: str) -> frozenset[Known]:
    """Return an attribute of a module, of an object of the language, or a function of others."""
    if not isinstance(known, KnownObject):
        return ANYTHING
    owner = known.value
    if isinstance(owner, ModuleType):
        return known_of(vars(owner).get(name, MISSING))
    if is_ours(type(owner).__module__):
        with suppress(Exception):
            return known_of(getattr(owner, name))
        return ANYTHING
    found = find_member(owner, name)
    return known_of(found) if find_called(found)[0] else ANYTHING


def inside(known: Known) -> Iterable[Known]:
    """Return known items; containers made by the kernel are known by their items."""
    if not isinstance(known, KnownObject):
        return {known} | ({Sort.UNKNOWN} if known is Sort.OUTSIDE else set())
    if type(known.value) not in CONTAINERS:
        return {known}
    return {found for item in items_of(known.value) for found in known_of(item)}


def item_at(known: Known, key: object) -> Iterable[Known]:
    if isinstance(known, KnownObject) and type(known.value) in CONTAINERS:
        with suppress(Exception):
            return known_of(known.value[key])
    return inside(known)


# Calls --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Callee:
    """A known function of the user's, or an effect on the arguments."""

    function: FunctionType | Closure | ArgumentUse
    bound: int = 0


def callees(known: Iterable[Known]) -> list[Callee]:
    """Return an empty list if the value may be anything, or if nothing of it is known."""
    known = {*known} - {Sort.OUTSIDE, Sort.PLAIN}
    return [] if known & SORTS else sorted({_callee(each) for each in known}, key=_order)


def _order(callee: Callee) -> tuple[object, ...]:
    function = callee.function
    if isinstance(function, ArgumentUse):
        return 0, function.name
    if isinstance(function, Closure):
        return 1, function.function.place, callee.bound
    return 2, own_code(function).co_filename, own_code(function).co_firstlineno, callee.bound


def _callee(known: Known) -> Callee:
    if isinstance(known, Partial):
        inner = _callee(known.function)
        return replace(inner, bound=inner.bound + known.count)
    if isinstance(known, Closure):
        return Callee(known)
    assert isinstance(known, KnownObject)
    value = known.value
    function, bound = find_called(value)
    if function is copy:
        return Callee(COPY)
    if function is not None and is_pyttlang_file(own_code(function).co_filename):
        return Callee(LEAVES)
    if function is not None and is_user_file(own_code(function).co_filename):
        return Callee(function, bound)
    if any(value is each for each in HARMLESS):
        return Callee(LEAVES)
    if any(value is each for each in PASSING):
        return Callee(PASSES)
    return Callee(BINDS if value is partial else KEEPS)


def match_arguments(
    call: tree.Call, function: tree.Function, bound: int
) -> Iterator[tuple[tree.Expression, Variable | None]]:
    """Yield each argument with its parameter; None if it cannot be told, or for `*rest`."""
    places = [each.variable for each in function.parameters if each.kind in POSITIONAL][bound:]
    named = {
        each.variable.name: each.variable for each in function.parameters if each.kind in NAMED
    }
    is_known = not any(isinstance(each, tree.Starred) for each in call.arguments)
    for number, argument in enumerate(call.arguments):
        is_given = is_known and number < len(places)
        yield argument, places[number] if is_given else None
    for keyword in call.keywords:
        yield keyword.value, named.get(keyword.name or "") if is_known else None
