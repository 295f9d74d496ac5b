"""Messages about tiles that several kernels access or none writes, for runs and checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from . import catalogue as codes
from .diagnostic import Label, RuleBroken


class Access(NamedTuple):
    """A kernel on a node reads or writes a tile, or an element of a row-major tensor."""

    kernel: str
    node: tuple[int, ...]
    is_write: bool
    is_one_of_several: bool = False  # it is not known which source position of the node it is

    @property
    def label(self) -> str:
        verb = "writes" if self.is_write else "reads"
        if self.is_one_of_several:
            return f"node {self.node} {verb} it here or in another place"
        return f"`{self.kernel}` on node {self.node} {verb} it here"


def race(
    one: Access,
    other: Access,
    unit: tuple[int, ...],
    name: str,
    what: str = "tile",
    secondary: tuple[Label, ...] = (),
) -> RuleBroken:
    """Describe two unordered accesses; the caller places the message at `one`."""
    first, second = (other, one) if other.is_write else (one, other)
    where = "there" if first.node == second.node else f"on node {second.node}"
    return codes.RACE.broken(
        f"race: {what} {unit} of `{name or 'a tensor'}` is {_done(first)} on node {first.node} and "
        f"{_done(second)} {where}, in no order",
        _race_help(one, other),
        secondary=secondary,
        tensor=name,
        unit=unit,
        nodes=(other.node, one.node),
    )


# Notes: why two writes of a tile may be no race.
PERHAPS_ORDERED = "what pipes and semaphores order is followed by ttl run --strict only"
BYTES_UNKNOWN = "if the nodes write different bytes it is a race; the simulator compares them"
SAME_BYTES = "the nodes wrote the same bytes, so the result does not depend on their order"


def written_twice(
    one: Access,
    other: Access,
    unit: tuple[int, ...],
    name: str,
    what: str = "tile",
    secondary: tuple[Label, ...] = (),
    why: str = PERHAPS_ORDERED,
) -> RuleBroken:
    """Describe an access to a tile that another node writes, if it may be no race.

    The caller places the message at `one`.
    """
    return codes.RACE.mild.broken(
        f"{what} {unit} of `{name or 'a tensor'}` is written on node {other.node} and "
        f"{_done(one)} on node {one.node}",
        _race_help(one, other),
        notes=(why,),
        secondary=secondary,
        tile=unit,
        nodes=(other.node, one.node),
    )


def order_not_proven(
    one: Access,
    other: Access,
    unit: tuple[int, ...],
    name: str,
    secondary: tuple[Label, ...] = (),
) -> RuleBroken:
    """Describe two accesses that pipes and semaphores may order; place the message at `one`."""
    return codes.NOT_PROVEN.broken(
        f"it is not proven that the nodes touch tile {unit} of `{name}` in order: it is "
        f"{_done(other)} on node {other.node} and {_done(one)} on node {one.node}",
        "follow the order in a run: ttl run --strict FILE",
        secondary=secondary,
        tile=unit,
        nodes=(other.node, one.node),
    )


def _done(access: Access) -> str:
    return "written" if access.is_write else "read"


def _race_help(one: Access, other: Access) -> str:
    if one.node == other.node:
        if one.kernel == other.kernel:
            return "wait() for the first transfer before the second starts"
        return "order the two kernels: pass a block through a dataflow buffer in between"
    if one.is_write and other.is_write:
        return APART
    return "write to another tensor than the one read, or order the nodes by a pipe or a semaphore"


APART = "let each node write tiles of its own, or order the nodes by a pipe or a semaphore"


def not_covered(
    name: str,
    shape: Sequence[int],
    left: tuple[int, int],
    first: tuple[int, ...],
    nodes: tuple[int, int],
    what: str = "tiles",
) -> RuleBroken:
    """Describe unwritten tiles: `left` is (unwritten, all), `nodes` is (writing, all)."""
    were = "was" if left[0] == 1 else "were"
    return codes.OUTPUT_NOT_COVERED.broken(
        f"{left[0]} of {left[1]} {what} of `{name}` {were} never written",
        _not_covered_help(nodes[1], left[1], what),
        notes=(
            f"the first is {first}; `{name}` is {tuple(shape)} in {what}",
            f"{nodes[0]} of {nodes[1]} nodes wrote to it",
        ),
        left=left[0],
    )


def _not_covered_help(nodes: int, units: int, what: str) -> str:
    if nodes > 1 and units % nodes == 0:
        return f"let each node write {what} of its own; coordinates of nodes are columns first"
    if nodes > 1:
        return f"if {what} do not divide by nodes, round up and skip what lies past the end"
    return f"let the loops reach all {what}, or pass a tensor that has no more of them"


def waits_for_some(name: str, wanted: int, total: int) -> str:
    """Return the help for a wait that ends before all increments that order an access."""
    return (
        f"`{name}.wait_ge({wanted})` is over after any {wanted} of its {total} increments: write "
        f"`{name}.wait_ge({total})` to wait for all of them"
    )


class SemaphoreUse(NamedTuple):
    """A kernel on a node sets, increments or waits for a semaphore."""

    kernel: str
    node: tuple[int, ...]
    call: str  # set, inc, wait_eq or wait_ge
    value: int

    @property
    def label(self) -> str:
        return f"`{self.kernel}` on node {self.node} {_VERBS[self.call]} it here"

    @property
    def done(self) -> str:
        return f"{_DONE[self.call]} on node {self.node}"


_VERBS = {"set": "sets", "inc": "increments", "wait_eq": "waits for", "wait_ge": "waits for"}
_DONE = {"set": "set", "inc": "incremented", "wait_eq": "waited for", "wait_ge": "waited for"}
SET_HELP = (
    "leave this set() out, with ttl.Semaphore(initial=...) for the first value, or let its kernel "
    "wait for the other change first"
)


def semaphore_race(
    name: str,
    node: tuple[int, ...],
    one: SemaphoreUse,
    other: SemaphoreUse,
    secondary: tuple[Label, ...] = (),
) -> RuleBroken:
    """Describe `one` setting or awaiting a value while `other` changes it, in no order.

    The caller places the message at `one`.
    """
    is_set = one.call == "set"
    lost = "whichever comes first is lost" if is_set else "the value may be passed over"
    return codes.RACE.broken(
        f"race: `{name}` of node {node} is {one.done} and {other.done}, in no order: {lost}",
        SET_HELP if is_set else _wait_help(name, one, other),
        secondary=secondary,
        semaphore=name,
        nodes=(one.node, other.node),
    )


def _wait_help(name: str, one: SemaphoreUse, other: SemaphoreUse) -> str:
    if other.call == "inc" or (one.call == "wait_eq" and other.value > one.value):
        return f"wait for at least that value: write `{name}.wait_ge({one.value})`"
    return f"let the kernel that sets `{name}` wait first until this wait is over"
