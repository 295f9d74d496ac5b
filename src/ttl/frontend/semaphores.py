"""Semaphores in a kernel: waits, and changes of the own value and of those on other nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, StringAttr, SymbolRefAttr, UnitAttr, i64
from xdsl.ir import Operation, SSAValue

from ttl.diagnostics import RuleBroken, codes
from ttl.dialects import ttl
from ttl.dialects.locations import location_of
from ttl.language import Semaphore
from ttl.language.semaphores import (
    MulticastRemoteSemaphore,
    RemoteSemaphore,
    UnicastRemoteSemaphore,
    semaphore_value,
)
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.nodes import nodes_at, read_place

from . import scalars
from .builder import KernelBuilder, Value, describe, not_yet
from .environment import NodeObjects
from .scalars import is_run_time, kind_of


def declare_semaphores(semaphores: Iterable[Semaphore]) -> list[Operation]:
    return [_declare(semaphore) for semaphore in semaphores]


def _declare(semaphore: Semaphore) -> Operation:
    declaration = ttl.DeclareSemaphoreOp.create(
        properties={
            "sym_name": StringAttr(semaphore.name),
            "initial": IntegerAttr(semaphore.initial, i64),
        }
    )
    if semaphore.span is not None:
        declaration.location = location_of(semaphore.span)
    return declaration


@dataclass(frozen=True, slots=True)
class RemotePlace:
    """A semaphore on other nodes: x and y, or the corners of a rectangle, known at run time."""

    semaphore: Semaphore
    coordinates: tuple[Value, ...]

    @property
    def is_range(self) -> bool:
        return len(self.coordinates) == 4


# The node's own -----------------------------------------------------------------------------------


def wait(call: str, at_least: bool) -> Callable[..., Value]:
    def made(builder: KernelBuilder, semaphore: Semaphore, value: Value) -> Value:
        flag: dict[str, Any] = {"at_least": UnitAttr()} if at_least else {}
        _emit(builder, ttl.SemaphoreWaitOp, call, semaphore, value, flag)

    return made


def set_own(builder: KernelBuilder, semaphore: Semaphore, value: Value) -> Value:
    _emit(builder, ttl.SemaphoreSetOp, "Semaphore.set()", semaphore, value)


def _emit(
    builder: KernelBuilder,
    kind: type[ttl.SemaphoreOp],
    call: str,
    semaphore: Semaphore,
    value: Value,
    flags: dict[str, Any] | None = None,
    place: Iterable[Value] = (),
) -> None:
    builder.require(KernelKind.DATAMOVEMENT, call)
    operands = [semaphore_number(builder, value, call), *(builder.index(each) for each in place)]
    named = {"semaphore": SymbolRefAttr(semaphore.name), **(flags or {})}
    builder.emit(kind.create(operands=operands, properties=named))


def semaphore_number(builder: KernelBuilder, value: Value, call: str) -> Any:
    """32 bits without sign, in an int that has one."""
    if kind_of(value) not in (int, bool) or not is_run_time(value):
        number = semaphore_value(value, f"the value given to {call}")
        return builder.index(number if number < 1 << 31 else number - (1 << 32))
    return scalars.as_kind(builder, value, int)


# On other nodes -----------------------------------------------------------------------------------


def get_remote(builder: KernelBuilder, semaphore: Semaphore, coord: Value) -> Value:
    return RemotePlace(semaphore, _node(builder, coord, "coord"))


def get_remote_multicast(
    builder: KernelBuilder, semaphore: Semaphore, range: Value = None
) -> Value:
    columns, rows = builder.grid
    if range is None:
        return RemotePlace(semaphore, (0, 0, columns - 1, rows - 1))
    if not is_run_time(range):
        place = read_place(range, "range", may_be_range=True)
        return RemotePlace(semaphore, _corners(nodes_at(place, builder.grid)))
    if not isinstance(range, tuple) or len(range) != 2:
        raise not_yet("a range of nodes that is calculated in other than two dimensions")
    ends = [_ends(builder, item, size) for item, size in zip(range, builder.grid, strict=True)]
    return RemotePlace(semaphore, (ends[0][0], ends[1][0], ends[0][1], ends[1][1]))


def _ends(builder: KernelBuilder, item: Value, size: int) -> tuple[Value, Value]:
    if not isinstance(item, slice):
        return item, item
    start = 0 if item.start is None else item.start
    stop = size if item.stop is None else item.stop
    if isinstance(stop, SSAValue):
        return start, builder.value(arith.SubiOp(stop, builder.index(1)))
    return start, stop - 1


def _corners(nodes: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    (x0, y0), (x1, y1) = nodes[0], nodes[-1]
    if len(nodes) != (x1 - x0 + 1) * (y1 - y0 + 1):
        raise not_yet("a range of nodes that is no rectangle")
    return (x0, y0, x1, y1)


def _node(builder: KernelBuilder, coord: Value, what: str) -> tuple[Value, ...]:
    if not is_run_time(coord):
        (node,) = nodes_at(read_place(coord, what, may_be_range=False), builder.grid)
        return node
    items = coord if isinstance(coord, tuple) else (coord,)
    if any(kind_of(item) is not int for item in items):
        raise RuleBroken(
            codes.WRONG_ARGUMENT, f"{what} is {describe(coord)}", helps=("write (x, y)",)
        )
    if len(items) == 2:
        return items
    if len(items) > 2:
        raise not_yet("a node that is calculated in more than two dimensions")
    number, columns = builder.index(items[0]), builder.index(builder.grid[0])
    parts = [builder.value(op(number, columns)) for op in (arith.RemSIOp, arith.DivSIOp)]
    builder.naturals |= set(parts)
    return tuple(parts)


def change(kind: type[ttl.SemaphoreOp], call: str) -> Callable[..., Value]:
    def made(builder: KernelBuilder, remote: RemotePlace, value: Value) -> Value:
        place = remote.coordinates
        _emit(builder, kind, call, remote.semaphore, value, place=place)

    return made


def as_place(builder: KernelBuilder, remote: Value) -> RemotePlace | None:
    """A remote semaphore, from the kernel or from the operation's body."""
    if isinstance(remote, RemotePlace):
        return remote
    is_of_nodes = isinstance(remote, NodeObjects)
    first = remote.objects[0] if is_of_nodes else remote
    if not isinstance(first, RemoteSemaphore):
        return None
    if not is_of_nodes:
        nodes: Any = remote.nodes
    else:
        nodes = remote.attribute("nodes", builder.runtime_argument)
    if isinstance(first, UnicastRemoteSemaphore):
        return RemotePlace(first.semaphore, tuple(nodes[0]))
    if is_run_time(nodes):
        return RemotePlace(first.semaphore, (*nodes[0], *nodes[-1]))
    return RemotePlace(first.semaphore, _corners(nodes))


SEMAPHORE_METHODS: dict[str, Callable[..., Value]] = {
    "wait_eq": wait("Semaphore.wait_eq()", at_least=False),
    "wait_ge": wait("Semaphore.wait_ge()", at_least=True),
    "set": set_own,
    "get_remote": get_remote,
    "get_remote_multicast": get_remote_multicast,
}
UNICAST_METHODS = {
    "set": change(ttl.SemaphoreSetRemoteOp, "UnicastRemoteSemaphore.set()"),
    "inc": change(ttl.SemaphoreIncRemoteOp, "UnicastRemoteSemaphore.inc()"),
}
MULTICAST_METHODS = {
    "set": change(ttl.SemaphoreSetMulticastOp, "MulticastRemoteSemaphore.set()"),
}
LANGUAGE_CLASSES = {False: UnicastRemoteSemaphore, True: MulticastRemoteSemaphore}


def remote_method(builder: KernelBuilder, remote: RemotePlace, name: str) -> Callable[..., Value]:
    methods = MULTICAST_METHODS if remote.is_range else UNICAST_METHODS
    if name not in methods:
        owner = LANGUAGE_CLASSES[remote.is_range].__name__
        raise RuleBroken(
            codes.UNKNOWN_NAME,
            f"{owner} has no method `{name}`",
            helps=(f"it has {', '.join(methods)}",),
        )
    return methods[name]
