"""Semaphores: one 32-bit value on each node, for data movement kernels to wait for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttl.diagnostics import RuleBroken, UsageError, codes
from ttl.diagnostics.frames import calling_span
from ttl.semantics.nodes import NodePlace, nodes_at, read_place
from ttl.semantics.types import Shape

from .engine import engine, running_engine, scope

if TYPE_CHECKING:
    from .types import NodeCoord, NodeRange

SEMAPHORE_VALUES = 1 << 32


class Semaphore:
    """A value on each node that starts as `initial` at every launch. Operation scope only."""

    __slots__ = ("index", "initial", "name", "span")

    def __init__(self, initial: int = 0):
        collected = scope("ttl.Semaphore()")
        self.span = calling_span()
        try:
            self.initial = semaphore_value(initial, "the initial value of a semaphore")
        except RuleBroken as broken:
            raise UsageError(broken.at(self.span)) from None
        self.index = len(collected.semaphores)
        self.name = f"semaphore_{self.index}"  # the user's name once the body has run
        collected.semaphores.append(self)

    def wait_eq(self, value: int) -> None:
        """Data movement kernels: wait until the value on this node is `value`."""
        engine("Semaphore.wait_eq()").semaphore_wait(self, value, at_least=False)

    def wait_ge(self, value: int) -> None:
        """Data movement kernels: wait until the value on this node is at least `value`."""
        engine("Semaphore.wait_ge()").semaphore_wait(self, value, at_least=True)

    def set(self, value: int) -> None:
        """Data movement kernels: change the value on this node."""
        running = engine("Semaphore.set()")
        running.semaphore_set(self, (running.node(),), value, "Semaphore.set()")

    def get_remote(self, coord: NodeCoord) -> UnicastRemoteSemaphore:
        """Return the semaphore on the node at `coord`."""
        place = read_place(coord, "coord", may_be_range=False)
        nodes = nodes_at(place, _grid("Semaphore.get_remote()"))
        return UnicastRemoteSemaphore(self, nodes)

    def get_remote_multicast(
        self, range: NodeCoord | NodeRange | None = None
    ) -> MulticastRemoteSemaphore:
        """Return the semaphore on all nodes of `range`, or of the whole grid."""
        grid = _grid("Semaphore.get_remote_multicast()")
        whole: NodePlace = (slice(None),) * len(grid)
        place = whole if range is None else read_place(range, "range", may_be_range=True)
        return MulticastRemoteSemaphore(self, nodes_at(place, grid))


@dataclass(slots=True, eq=False, repr=False)
class RemoteSemaphore:
    """A semaphore on other nodes."""

    semaphore: Semaphore
    nodes: tuple[Shape, ...]


class UnicastRemoteSemaphore(RemoteSemaphore):
    """A semaphore on one node. Changes do not wait."""

    __slots__ = ()

    def set(self, value: int) -> None:
        """Data movement kernels: change the value on that node."""
        call = "UnicastRemoteSemaphore.set()"
        engine(call).semaphore_set(self.semaphore, self.nodes, value, call)

    def inc(self, value: int) -> None:
        """Data movement kernels: add to the value on that node; it wraps at 32 bits."""
        engine("UnicastRemoteSemaphore.inc()").semaphore_inc(self.semaphore, self.nodes[0], value)


class MulticastRemoteSemaphore(RemoteSemaphore):
    """A semaphore on several nodes. It can be set, not incremented."""

    __slots__ = ()

    def set(self, value: int) -> None:
        """Data movement kernels: change the value on all of them."""
        call = "MulticastRemoteSemaphore.set()"
        engine(call).semaphore_set(self.semaphore, self.nodes, value, call)


def semaphore_value(value: object, what: str) -> int:
    """Return `value`, or raise RuleBroken if a semaphore cannot have it."""
    if isinstance(value, int) and 0 <= value < SEMAPHORE_VALUES:
        return value
    raise codes.WRONG_ARGUMENT.broken(
        f"{what} is {value!r}", "a semaphore has an integer value from 0 to 2**32 - 1"
    )


def _grid(call: str) -> Shape:
    running = running_engine(None)
    grid: Shape = running.grid if running is not None else scope(call).grid
    return grid
