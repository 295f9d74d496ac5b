"""What the expressions of a unified body stand for, as far as its text and its names tell."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum
from functools import reduce
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from ttl.language.arguments import is_tensor
from ttl.language.buffer import DataflowBuffer
from ttl.language.pipes import Pipe, PipeNet
from ttl.language.semaphores import RemoteSemaphore, Semaphore

from ..functions import MISSING

if TYPE_CHECKING:
    from .scopes import Scope
    from .units import Site, Unit


class Kind(IntEnum):
    """Of two that meet where paths join, the later one counts."""

    SCALAR = 0  # numbers, strings, shapes, and every other value of Python
    TENSOR = 1
    SLICE = 2
    SEMAPHORE = 3
    NET = 4
    PIPE = 5
    BUFFER = 6
    FUNCTION = 7  # defined in the body
    METHOD = 8  # of a thing that is not a plain value
    CONTAINER = 9
    ELEMENT = 10  # a number that was read from a block
    TRANSFER = 11  # or a group of them
    VALUE = 12  # a block expression
    BLOCK = 13


# Those that only the language itself, or a function whose definition is known, may be given.
OF_KERNELS = (
    Kind.SEMAPHORE, Kind.NET, Kind.PIPE, Kind.BUFFER, Kind.SLICE, Kind.TRANSFER, Kind.VALUE,
    Kind.BLOCK,
)  # fmt: skip
OF_TILES = (Kind.VALUE, Kind.BLOCK)


class End(Enum):
    """The two ends of a dataflow buffer, by the call that acquires a block there."""

    RESERVE = "reserve"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class Thing:
    kind: Kind = Kind.SCALAR
    value: Any = field(default=MISSING, compare=False)  # the Python value, where it is known
    key: Hashable = None  # which buffer, net or semaphore it is
    sites: frozenset[Site] = frozenset()  # the blocks that it is, or holds
    origins: frozenset[Unit] = frozenset()  # the statements that gave it its value
    items: tuple[Thing, ...] | None = None  # of a container of a known length
    keys: tuple[Hashable, ...] | None = None  # of these, in a dict
    item: Thing | None = None  # what any item of a container is
    owner: Thing | None = None  # of a method
    name: str = ""
    tree: ast.FunctionDef | ast.Lambda | None = None
    scope: Scope | None = field(default=None, compare=False)  # where a function was defined

    def given_by(self, unit: Unit) -> Thing:
        """After an assignment."""
        return replace(self, origins=frozenset({unit}))

    def at(self, position: int | None) -> Thing:
        """An item, also of several buffers that one call in a loop makes."""
        if self.keys is not None:
            return self.any_item()
        if self.items is not None and position is not None:
            if -len(self.items) <= position < len(self.items):
                return self.items[position]
            return SCALAR
        inside = self.any_item()
        if inside.kind in (Kind.BUFFER, Kind.NET, Kind.SEMAPHORE) and self.items is None:
            return replace(inside, key=(inside.key, position))
        return inside

    def any_item(self) -> Thing:
        if self.items is not None:
            return joined(self.items)
        return self.item or replace(SCALAR, origins=self.origins)

    @property
    def inside(self) -> Thing:
        """What any item of a container is; the thing itself if it is none."""
        return self.any_item() if self.kind is Kind.CONTAINER else self

    def under(self, key: Hashable) -> Thing:
        """An item of a dict."""
        if self.keys is None or self.items is None or key not in self.keys:
            return self.any_item()
        return self.items[self.keys.index(key)]

    def with_item(self, key: Hashable, thing: Thing) -> Thing:
        """A dict after `[key] = thing`."""
        held = dict(zip(self.keys or (), self.items or (), strict=True)) | {key: thing}
        return replace(container(held.values()), keys=tuple(held), origins=self.origins)


SCALAR = Thing()


def container(items: Iterable[Thing]) -> Thing:
    held = tuple(items)
    sites: frozenset[Site] = frozenset().union(*(thing.sites for thing in held))
    return Thing(Kind.CONTAINER, items=held, sites=sites)


def container_of(item: Thing) -> Thing:
    return Thing(Kind.CONTAINER, item=item, sites=item.sites)


def joined(things: Iterable[Thing]) -> Thing:
    found = [*things]
    return reduce(_join, found) if found else SCALAR


def _join(one: Thing, other: Thing) -> Thing:
    if one == other and (one.value is other.value):
        return one
    first, second = sorted((one, other), key=lambda thing: -thing.kind)
    same_length = (
        first.items is not None
        and second.items is not None
        and first.keys == second.keys
        and len(first.items) == len(second.items)
    )
    return replace(
        first,
        value=first.value if first.value is second.value else MISSING,
        key=first.key if second.kind is not first.kind or first.key == second.key else None,
        sites=first.sites | second.sites,
        origins=first.origins | second.origins,
        items=tuple(map(_join, first.items, second.items)) if same_length else None,  # type: ignore[arg-type]
        keys=first.keys if same_length else None,
        item=None if same_length or first.kind is not Kind.CONTAINER else _joined_item(one, other),
    )


def _joined_item(one: Thing, other: Thing) -> Thing | None:
    parts = [
        thing.any_item()
        for thing in (one, other)
        if thing.kind is Kind.CONTAINER and (thing.items or thing.item is not None)
    ]
    return joined(parts) if parts else None


def thing_of(value: Any, depth: int = 0) -> Thing:
    """What a value of Python is: an argument, or what a name around the operation stands for."""
    if isinstance(value, (ModuleType, FunctionType, int, float, str)):
        return Thing(Kind.SCALAR, value)
    if isinstance(value, DataflowBuffer):
        return Thing(Kind.BUFFER, value, id(value))
    if isinstance(value, PipeNet):
        return Thing(Kind.NET, value, id(value))
    if isinstance(value, Pipe):
        return Thing(Kind.PIPE, value, id(value))
    if isinstance(value, (Semaphore, RemoteSemaphore)):
        return Thing(Kind.SEMAPHORE, value, id(value))
    if type(value) in (list, tuple) and depth < 4 and len(value) <= 256:
        return replace(container(thing_of(each, depth + 1) for each in value), value=value)
    if type(value) is dict and depth < 4 and len(value) <= 256:
        inside = joined(thing_of(each, depth + 1) for each in value.values())
        return replace(container_of(inside), value=value)
    if is_tensor(value):
        return Thing(Kind.TENSOR, value)
    return Thing(Kind.SCALAR, value)
