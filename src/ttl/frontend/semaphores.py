"""Semaphores in a kernel: waits, and changes of this node's value and of other nodes'."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, StringAttr, SymbolRefAttr, UnitAttr, i64
from xdsl.ir import Attribute, Operation

from ttl.diagnostics import wrong_argument
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

from .builder import KernelBuilder
from .hir import Scalar, StandIn, Value, is_run_time, kind_of
from .node_values import NodeObjects
from .problems import describe, not_yet
from .scalars import as_kind, calculated

IN_TWO = "write (x, y): the grid of a compiled operation has two dimensions"


def declaration_of(semaphore: Semaphore) -> Operation:
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
class RemotePlace(StandIn):
    """A semaphore on other nodes: each place is x and y, or the corners of a rectangle.

    The places are run-time values; there are several if a range is no rectangle.
    """

    semaphore: Semaphore
    places: tuple[tuple[Value, ...], ...]
    is_range: bool

    @property
    def python_class(self) -> type:
        return MulticastRemoteSemaphore if self.is_range else UnicastRemoteSemaphore


def change(
    kind: type[ttl.SemaphoreOp],
    call: str,
    flags: dict[str, Attribute],
    builder: KernelBuilder,
    target: Semaphore | RemotePlace,
    value: Value,
) -> None:
    """Change the semaphore of this node or of others, or wait for it."""
    builder.require(KernelKind.DATAMOVEMENT, call)
    remote = target if isinstance(target, RemotePlace) else RemotePlace(target, ((),), False)
    named = {"semaphore": SymbolRefAttr(remote.semaphore.name), **flags}
    for place in remote.places:
        is_node = len(place) == 2 and remote.is_range
        operands = [semaphore_number(builder, value, call), *map(builder.index, place)]
        builder.emit(ttl.SemaphoreSetRemoteOp if is_node else kind, operands, named)


def semaphore_number(builder: KernelBuilder, value: Value, call: str) -> Scalar:
    """Fit an unsigned 32-bit number into a signed int."""
    if kind_of(value) not in (int, bool) or not is_run_time(value):
        number = semaphore_value(value, f"the value given to {call}")
        return builder.index(number if number < 1 << 31 else number - (1 << 32))
    return as_kind(builder, value, int)


# On other nodes -----------------------------------------------------------------------------------


def get_remote(builder: KernelBuilder, semaphore: Semaphore, coord: Value) -> Value:
    return RemotePlace(semaphore, (_node(builder, coord),), is_range=False)


def get_remote_multicast(
    builder: KernelBuilder, semaphore: Semaphore, range: Value = None
) -> Value:
    columns, rows = builder.grid
    if range is None:
        return RemotePlace(semaphore, ((0, 0, columns - 1, rows - 1),), is_range=True)
    if not is_run_time(range):
        place = read_place(range, "range", may_be_range=True)
        return RemotePlace(semaphore, _rectangles(nodes_at(place, builder.grid)), is_range=True)
    if not isinstance(range, tuple) or len(range) != 2:
        raise not_yet("a range of nodes that is calculated in other than two dimensions", IN_TWO)
    ends = [_ends(builder, item, size) for item, size in zip(range, builder.grid, strict=True)]
    corners = (ends[0][0], ends[1][0], ends[0][1], ends[1][1])
    return RemotePlace(semaphore, (corners,), is_range=True)


def _ends(builder: KernelBuilder, item: Value, size: int) -> tuple[Value, Value]:
    if not isinstance(item, slice):
        return item, item
    start = 0 if item.start is None else item.start
    stop = size if item.stop is None else item.stop
    if isinstance(stop, Scalar):
        return start, calculated(builder, arith.SubiOp, stop, builder.index(1))
    return start, stop - 1


def _rectangles(nodes: Iterable[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """Return the corners of few rectangles that cover the nodes, which come column by column."""
    columns: dict[int, list[int]] = {}
    for x, y in nodes:
        columns.setdefault(x, []).append(y)
    found: list[list[int]] = []
    for x, rows in columns.items():
        if found and (found[-1][1], found[-1][3]) == (rows[0], rows[-1]):
            found[-1][2] = x
        else:
            found.append([x, rows[0], x, rows[-1]])
    return tuple([tuple(corners) for corners in found])


def _node(builder: KernelBuilder, coord: Value) -> tuple[Value, ...]:
    if not is_run_time(coord):
        (node,) = nodes_at(read_place(coord, "coord", may_be_range=False), builder.grid)
        return node
    items = coord if isinstance(coord, tuple) else (coord,)
    if any(kind_of(item) is not int for item in items):
        raise wrong_argument(f"coord is {describe(coord)}", "write (x, y)")
    if len(items) == 2:
        return items
    if len(items) > 2:
        raise not_yet("a node that is calculated in more than two dimensions", IN_TWO)
    number, rows = builder.index(items[0]), builder.index(builder.grid[1])
    parts = [calculated(builder, op, number, rows) for op in (arith.DivSIOp, arith.RemSIOp)]
    for part in parts:
        part.is_natural = True
    return tuple(parts)


def as_place(builder: KernelBuilder, remote: Value) -> RemotePlace | None:
    """Return a remote semaphore made in the kernel or in the operation's body."""
    if isinstance(remote, RemotePlace):
        return remote
    objects = remote.objects if isinstance(remote, NodeObjects) else (remote,)
    first = objects[0]
    if not isinstance(first, RemoteSemaphore):
        return None
    nodes = first.nodes
    if isinstance(remote, NodeObjects):
        nodes = remote.attribute("nodes")
    if isinstance(first, UnicastRemoteSemaphore):
        return RemotePlace(first.semaphore, (tuple(nodes[0]),), is_range=False)
    if not is_run_time(nodes):
        return RemotePlace(first.semaphore, _rectangles(nodes), is_range=True)
    if all(len(_rectangles(each.nodes)) == 1 for each in objects):
        return RemotePlace(first.semaphore, ((*nodes[0], *nodes[-1]),), is_range=True)
    return RemotePlace(first.semaphore, tuple([tuple(node) for node in nodes]), is_range=True)


SEMAPHORE_METHODS: dict[str, Callable[..., Value]] = {
    "wait_eq": partial(change, ttl.SemaphoreWaitOp, "Semaphore.wait_eq()", {}),
    "wait_ge": partial(
        change, ttl.SemaphoreWaitOp, "Semaphore.wait_ge()", {"at_least": UnitAttr()}
    ),
    "set": partial(change, ttl.SemaphoreSetOp, "Semaphore.set()", {}),
    "get_remote": get_remote,
    "get_remote_multicast": get_remote_multicast,
}
UNICAST_METHODS = {
    "set": partial(change, ttl.SemaphoreSetRemoteOp, "UnicastRemoteSemaphore.set()", {}),
    "inc": partial(change, ttl.SemaphoreIncRemoteOp, "UnicastRemoteSemaphore.inc()", {}),
}
MULTICAST_METHODS = {
    "set": partial(change, ttl.SemaphoreSetMulticastOp, "MulticastRemoteSemaphore.set()", {}),
}
