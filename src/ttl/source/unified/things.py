"""Abstract values of expressions in a unified body, as far as its text and names tell."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum
from functools import reduce
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ttl.language.arguments import is_tensor
from ttl.language.buffer import DataflowBuffer
from ttl.language.pipes import Pipe, PipeNet
from ttl.language.semaphores import RemoteSemaphore, Semaphore

from ..bindings import Scope, Variable
from ..functions import MISSING
from ..tree import Function

if TYPE_CHECKING:
    from .units import CallPlace, Site, Unit

MOST_ITEMS = 256  # told apart
DEEPEST = 4


class Kind(IntEnum):
    """The kind of a value; the larger one wins where paths join."""

    SCALAR = 0  # numbers, strings, shapes, and every other value of Python
    TENSOR = 1
    SLICE = 2
    SEMAPHORE = 3
    NET = 4
    PIPE = 5
    BUFFER = 6
    FUNCTION = 7  # defined in the body
    METHOD = 8  # of a value that is not plain Python
    CONTAINER = 9
    ELEMENT = 10  # a number read from a block
    TRANSFER = 11  # or a group of them
    VALUE = 12  # a block expression
    BLOCK = 13


# Those that only the language itself, or a function whose definition is known, may be given.
OF_KERNELS = (
    Kind.SEMAPHORE,
    Kind.NET,
    Kind.PIPE,
    Kind.BUFFER,
    Kind.SLICE,
    Kind.TRANSFER,
    Kind.VALUE,
    Kind.BLOCK,
)
OF_TILES = (Kind.VALUE, Kind.BLOCK)


class Side(Enum):
    """The two ends of a dataflow buffer, by the call that acquires a block there."""

    RESERVE = "reserve"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class Activation:
    """A call of a function at one place, which has its own variables."""

    place: CallPlace | None
    scope: Scope
    function: FunctionType  # the outer names are this function's
    outer: Activation | None = None

    def home(self, variable: Variable) -> Activation | None:
        """Return the activation that has the variable: this one, or one around it."""
        found: Activation | None = self
        while found is not None and not variable.scope.is_in(found.scope):
            found = found.outer
        return found


@dataclass(frozen=True, slots=True)
class Thing:
    kind: Kind = Kind.SCALAR
    value: Any = field(default=MISSING, compare=False)  # the Python value, if known
    key: Hashable = None  # identifies the buffer, net or semaphore
    block_bytes: int = field(default=2048, compare=False)  # of a buffer: a tile of bf16 if unknown
    sites: frozenset[Site] = frozenset()  # of the block it is, or of held blocks
    origins: frozenset[Unit] = frozenset()  # the statements that assigned it
    items: Mapping[Hashable, Thing] | None = None  # of a known container, by place or key
    is_table: bool = False  # a dict
    item: Thing | None = None  # the common value of a container's items
    owner: Thing | None = None  # of a method
    name: str = ""
    function: Function | None = None
    around: Activation | None = None  # where a function was defined

    @property
    def listed(self) -> list[Thing] | None:
        """Return the items of a list or tuple of known length."""
        return None if self.items is None or self.is_table else [*self.items.values()]

    def at(self, key: Hashable) -> Thing:
        """Return an item, possibly one of several buffers made in a loop; None means any."""
        inside = self.any_item()
        if self.items is not None:
            if isinstance(key, int) and key < 0 and not self.is_table:
                key += len(self.items)
            return self.items.get(key, inside)
        if inside.kind in (Kind.BUFFER, Kind.NET, Kind.SEMAPHORE):
            return replace(inside, key=(inside.key, key))
        return inside

    def any_item(self) -> Thing:
        if self.items is not None:
            return join_things(self.items.values())
        return self.item or replace(SCALAR, origins=self.origins)

    @property
    def inside(self) -> Thing:
        """Return the common value of a container's items; other things return themselves."""
        return self.any_item() if self.kind is Kind.CONTAINER else self

    @property
    def is_empty(self) -> bool:
        return not self.items and self.item is None

    def without_items(self) -> Thing:
        is_held = self.kind is Kind.CONTAINER
        return replace(self, items=None, is_table=False, item=None) if is_held else self

    @property
    def known(self) -> Any:
        """Return the value, which may be a tuple of known values."""
        if self.value is not MISSING or self.listed is None:
            return self.value
        values = tuple(each.known for each in self.listed)
        return MISSING if any(each is MISSING for each in values) else values

    def with_item(self, key: Hashable, thing: Thing) -> Thing:
        """Return a dict after `[key] = thing`."""
        return replace(table({**(self.items or {}), key: thing}), origins=self.origins)


SCALAR = Thing()


def table(items: Mapping[Any, Thing], is_table: bool = True) -> Thing:
    sites: frozenset[Site] = frozenset().union(*(thing.sites for thing in items.values()))
    return Thing(Kind.CONTAINER, items=items, is_table=is_table, sites=sites)


def container(items: Iterable[Thing]) -> Thing:
    return table(dict(enumerate(items)), is_table=False)


def container_of(item: Thing) -> Thing:
    return Thing(Kind.CONTAINER, item=item, sites=item.sites)


def join_things(things: Iterable[Thing]) -> Thing:
    found = [*things]
    return reduce(_join, found) if found else SCALAR


def _join(one: Thing, other: Thing) -> Thing:
    if one is other or (one == other and one.value is other.value):
        return one
    first, second = sorted((one, other), key=lambda thing: -thing.kind)
    here, there = first.items, second.items
    is_alike = here is not None and there is not None and [*here] == [*there]
    items = {key: join_things((here[key], there[key])) for key in here} if is_alike else None  # type: ignore[index, union-attr]
    is_container = items is None and first.kind is Kind.CONTAINER
    containers = (each for each in (first, second) if each.kind is Kind.CONTAINER)
    held = [each.any_item() for each in containers if not each.is_empty]
    return replace(
        first,
        value=first.value if first.value is second.value else MISSING,
        key=first.key if second.kind is not first.kind or first.key == second.key else None,
        sites=first.sites | second.sites,
        origins=first.origins | second.origins,
        items=items,
        is_table=first.is_table and items is not None,
        item=join_things(held) if is_container and held else None,
    )


def item_of(thing: Thing, position: int | None = None) -> Thing:
    """Return an item for a loop variable, or for one name of `a, b = ...`."""
    if thing.kind is Kind.METHOD and thing.owner is not None and thing.name == "pipes":
        return replace(thing.owner, kind=Kind.PIPE, value=MISSING)
    if thing.kind is Kind.CONTAINER:
        return thing.at(position)
    return Thing(Kind.ELEMENT) if thing.kind is Kind.ELEMENT else SCALAR


KINDS: tuple[tuple[type | tuple[type, ...], Kind], ...] = (
    (DataflowBuffer, Kind.BUFFER),
    (PipeNet, Kind.NET),
    (Pipe, Kind.PIPE),
    ((Semaphore, RemoteSemaphore), Kind.SEMAPHORE),
)


def thing_of(value: Any, depth: int = 0) -> Thing:
    """Describe a Python value: an argument, or the value of an outer name."""
    for kinds, kind in KINDS:
        if isinstance(value, kinds):
            return Thing(kind, value, id(value))
    if type(value) in (list, tuple, dict) and depth < DEEPEST and len(value) <= MOST_ITEMS:
        held = value if isinstance(value, dict) else dict(enumerate(value))
        things = {key: thing_of(each, depth + 1) for key, each in held.items()}
        return replace(table(things, isinstance(value, dict)), value=value)
    return Thing(Kind.TENSOR if is_tensor(value) else Kind.SCALAR, value)


def memory_of(tensor: Any) -> Hashable:
    """Identify the memory of a tensor, which two names may share; None for other objects."""
    if not is_tensor(tensor):
        return None
    storage = getattr(tensor, "storage", None)
    if storage is not None:
        return id(storage)
    with suppress(Exception):  # a tensor that is on the host
        return "address", tensor.buffer_address()
    return id(tensor)
