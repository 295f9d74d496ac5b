"""Allocate the words that the nodes of a pipe signal each other with.

A counter is one word on each of some nodes: a pipe's `ready` on its source, `done` on its
receivers. Counters may share a word if no node has both.

rule FIRST    hardware semaphores that the program does not use are used first
rule OVERFLOW if a net's counters do not fit there, they are in scratch memory, 16 bytes each
rule SLOTS    a multicast with several posts under way has a ready counter for each
rule SHARED   a node's kernels that both post, or both send, through a net count together
rule TABLE    the source has a word for each receiver and each post that may be under way: the
              block's address, relative to the scratch memory. There is none if the addresses are
              equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, IntegerAttr, UnitAttr, i64
from xdsl.ir import Attribute

from ttl.dialects import ttl
from ttl.dialects.ttl.pipe_nets import Node

SCRATCH_BYTES = "ttl.pipe_sram_scratch_bytes"  # on the module
COUNTER_BYTES = 16  # a multicast needs source and destination congruent modulo 16
WORD_BYTES = 4
STAGING_BYTES = 2 * COUNTER_BYTES  # one word for each data movement kernel, at the start


@dataclass(frozen=True, slots=True)
class NetResources:
    """Semaphore ids, or bytes in the scratch memory, for each pipe of a net."""

    depth: int
    ready: tuple[int, ...]
    done: tuple[int, ...]
    table: tuple[int, ...]
    ready_in_scratch: bool = False
    done_in_scratch: bool = False
    is_multicast: bool = False
    is_in_place: bool = False  # rule EQUAL of ttl-assign-pipe-resources
    is_own: bool = False  # a source may receive its data into the block it sends
    sent: int | None = None  # rule SHARED: bytes in the scratch memory
    posted: int | None = None

    @property
    def ready_slots(self) -> int:  # rule SLOTS
        return self.depth if self.is_multicast else 1

    def attribute(self) -> DictionaryAttr:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        given = {name: v for name, v in values.items() if v is not None and v is not False}
        return DictionaryAttr({name: _attribute(v) for name, v in given.items()})

    @classmethod
    def of(cls, net: ttl.DeclarePipeNetOp) -> NetResources:
        assert net.resources is not None, "ttl-assign-pipe-resources has run"
        return cls(**{name: _value(found) for name, found in net.resources.data.items()})


def _attribute(value: Any) -> Attribute:
    if isinstance(value, tuple):
        return DenseArrayBase.from_list(i64, list(value))
    return UnitAttr() if value is True else IntegerAttr(value, i64)


def _value(attribute: Attribute) -> Any:
    """Return the value of an attribute made by _attribute()."""
    if isinstance(attribute, DenseArrayBase):
        return tuple(int(number) for number in attribute.get_values())
    return attribute.value.data if isinstance(attribute, IntegerAttr) else True


@dataclass(slots=True)
class WordRow:
    """A row of words, each on every node, and the words taken on each node."""

    limit: int | None = None
    taken: dict[Node, set[int]] = field(default_factory=dict)
    count: int = 0  # one more than the last one taken on any node

    def take(self, nodes: Sequence[Node], width: int) -> int | None:
        """Take the first of `width` words that are free on all of these nodes; None without any."""
        used: set[int] = set().union(*(self.taken.get(node, ()) for node in nodes))
        first = 0
        while not used.isdisjoint(range(first, first + width)):
            first += 1
        if self.limit is not None and first + width > self.limit:
            return None
        for node in nodes:
            self.taken.setdefault(node, set()).update(range(first, first + width))
        self.count = max(self.count, first + width)
        return first

    def take_all(self, counters: Iterable[tuple[Sequence[Node], int]]) -> list[int] | None:
        """Take words for all counters, or for none."""
        before = {node: set(words) for node, words in self.taken.items()}, self.count
        found = []
        for nodes, width in counters:
            first = self.take(nodes, width)
            if first is None:
                self.taken, self.count = before
                return None
            found.append(first)
        return found


@dataclass(slots=True)
class WordAllocation:
    """Allocates words for nets; the first `first_id` semaphores are the program's."""

    first_id: int
    limit: int
    semaphores: WordRow = field(init=False)
    counters: WordRow = field(default_factory=WordRow)
    tables: WordRow = field(default_factory=WordRow)
    nets: list[tuple[ttl.DeclarePipeNetOp, NetResources]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.semaphores = WordRow(max(self.limit - self.first_id, 0))

    def add(
        self,
        net: ttl.DeclarePipeNetOp,
        depth: int,
        shared: Iterable[str] = (),
        is_in_place: bool = False,
        is_own: bool = False,
    ) -> None:
        """Allocate a net's words; in the roles `shared`, kernels count together."""
        pipes = net.nodes
        is_multicast = any(len(pipe.receivers) > 1 for pipe in pipes)
        slots = depth if is_multicast else 1
        ready, ready_in_scratch = self._counters([((pipe.source,), slots) for pipe in pipes])
        done, done_in_scratch = self._counters([(pipe.receivers, 1) for pipe in pipes])
        words = 0 if is_in_place else depth
        table = self.tables.take_all(
            [((pipe.source,), words * len(pipe.receivers)) for pipe in pipes]
        )
        assert table is not None
        resources = NetResources(
            depth,
            ready,
            done,
            tuple(table),
            ready_in_scratch,
            done_in_scratch,
            is_multicast,
            is_in_place,
            is_own,
        )
        nodes = {node for pipe in pipes for node in (pipe.source, *pipe.receivers)}
        for role in shared:
            first = self.tables.take(list(nodes), net.most_on_a_node(role))
            name = "sent" if role == "src" else "posted"
            resources = replace(resources, **{name: first})  # type: ignore[arg-type]
        self.nets.append((net, resources))

    def _counters(self, wanted: list[tuple[Sequence[Node], int]]) -> tuple[tuple[int, ...], bool]:
        found = self.semaphores.take_all(wanted)  # rule FIRST
        if found is not None:
            return tuple(first + self.first_id for first in found), False
        found = self.counters.take_all(wanted)  # rule OVERFLOW
        assert found is not None
        return tuple(STAGING_BYTES + first * COUNTER_BYTES for first in found), True

    @property
    def semaphore_count(self) -> int:
        return self.first_id + self.semaphores.count

    @property
    def scratch_bytes(self) -> int:
        """Return the size of the staging words, the counters and the tables."""
        words = self._tables_start + self.tables.count * WORD_BYTES
        return -(-words // COUNTER_BYTES) * COUNTER_BYTES

    @property
    def _tables_start(self) -> int:
        return STAGING_BYTES + self.counters.count * COUNTER_BYTES

    def _bytes(self, word: int) -> int:
        return self._tables_start + word * WORD_BYTES

    def finish(self) -> None:
        """Write the places into the declarations; tables are in bytes from here on."""
        for net, found in self.nets:
            placed = replace(
                found,
                table=tuple(self._bytes(first) for first in found.table),
                sent=None if found.sent is None else self._bytes(found.sent),
                posted=None if found.posted is None else self._bytes(found.posted),
            )
            net.properties["resources"] = placed.attribute()
