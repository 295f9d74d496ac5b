"""Pipes as calls: the posted-receive protocol. docs/decisions/0018 explains each step.

post k      send the block's address to the source, wait until it got there, count the post; if
            source and receivers have the block at the same address, only count
send k      wait for post k of every receiver, write the block, wait until it got there, signal it
wait k      until k + 1 blocks have arrived
own send    a source that receives into the block it sends: the send makes its own node's post, and
            the later post does nothing

Counts only grow; a launch starts them at 0. A kernel counts the transfers of each of its pipes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, SymbolRefAttr, i1, i64
from xdsl.ir import SSAValue

from ttl.dialects import ttkernel, ttl

from ..arithmetic import add, divide, minus, times
from ..kernel.kernel_calls import call, value_call
from ..module_pass import INDEX, Maker, and_op, compare_op, constant_of
from .node_calls import Corners, NodeCalls, branch, load, store
from .own_posts import OwnPosts
from .pipe_resources import COUNTER_BYTES, WORD_BYTES, NetResources

Coordinates = tuple[SSAValue, SSAValue]  # a node's


@dataclass(frozen=True, slots=True)
class LocalPipe:
    """A pipe of the node: its place among pipes with its role, and its number in the net.

    Numbers that differ between pipes are looked up once, next to the pipe itself.
    """

    net: NetCalls
    place: SSAValue
    number: SSAValue
    make: Maker
    known: dict[tuple[int, ...], SSAValue] = field(default_factory=dict)

    def look_up(self, values: Sequence[int], name: str) -> SSAValue:
        """Return this pipe's value, from one value for each pipe."""
        key = tuple(values)
        if key not in self.known:
            self.known[key] = self.net.number(self.make, self.number, key, name)
        return self.known[key]


@dataclass(frozen=True, slots=True)
class Turn:
    """One transfer of a pipe: its number, the completed rounds over the slots, and its slot."""

    pipe: LocalPipe
    number: SSAValue
    round: SSAValue
    slot: SSAValue


@dataclass(frozen=True, slots=True)
class Receive:
    """The post with this number, from 1, by the pipe at this place."""

    net: NetCalls
    place: SSAValue
    number: SSAValue


@dataclass(slots=True)
class PipeCalls:
    """A kernel's pipes, receives and groups, by their values in it."""

    nodes: NodeCalls
    nets: dict[SymbolRefAttr, NetCalls] = field(default_factory=dict)
    pipes: dict[SSAValue, LocalPipe] = field(default_factory=dict)
    receives: dict[SSAValue, Receive] = field(default_factory=dict)
    sends: dict[SSAValue, LocalPipe] = field(default_factory=dict)
    groups: dict[tuple[SSAValue, NetCalls], SSAValue] = field(default_factory=dict)
    tables: dict[tuple[int, ...], SSAValue] = field(default_factory=dict)

    def net(self, symbol: SymbolRefAttr) -> NetCalls:
        if symbol not in self.nets:
            declaration = ttl.find_net(ttl.module_of(self.nodes.converter.kernel), symbol)
            assert declaration is not None
            self.nets[symbol] = NetCalls(self, declaration)
        return self.nets[symbol]


class NetCalls:
    """A net in one kernel."""

    def __init__(self, calls: PipeCalls, declaration: ttl.DeclarePipeNetOp):
        self.calls = calls
        self.nodes = calls.nodes
        self.start = calls.nodes.converter.start
        self.name = declaration.sym_name.data
        self.pipes = declaration.nodes
        self.declaration = declaration
        self.resources = NetResources.of(declaration)
        self.has_rectangles = all(pipe.is_rectangle for pipe in self.pipes)
        self._counts: dict[str, SSAValue] = {}
        self._places: dict[str, SSAValue] = {}
        self._counters: dict[str, SSAValue] = {}
        self.own = OwnPosts(self)

    # Numbers that differ between pipes ------------------------------------------------------------

    def number(self, make: Maker, pipe: SSAValue, values: Sequence[int], name: str) -> SSAValue:
        """Return a pipe's value: a constant if it is known or all are equal, else from a table."""
        known = constant_of(pipe)
        if len(set(values)) == 1 or known is not None:
            return make.index(values[known or 0])
        return load(make, self._table(tuple(values), name), pipe, name)

    def _table(self, values: tuple[int, ...], name: str) -> SSAValue:
        tables = self.calls.tables
        if values not in tables:
            tables[values] = self.start.new(
                ttkernel.TableOp,
                (),
                ttkernel.ArrayType(),
                table_name=StringAttr(f"{self.name}_{name}"),
                values=DenseArrayBase.from_list(i64, list(values)),
            )
        return tables[values]

    def source(self, pipe: LocalPipe) -> Coordinates:
        x, y = ([each.source[axis] for each in self.pipes] for axis in (0, 1))
        return pipe.look_up(x, "src_x"), pipe.look_up(y, "src_y")

    def first_receiver(self, pipe: LocalPipe) -> Coordinates:
        x, y = ([each.first[axis] for each in self.pipes] for axis in (0, 1))
        return pipe.look_up(x, "dst_x"), pipe.look_up(y, "dst_y")

    def corners(self, pipe: LocalPipe) -> Corners:
        first = self.first_receiver(pipe)
        x, y = ([each.last[axis] for each in self.pipes] for axis in (0, 1))
        return (*first, pipe.look_up(x, "last_x"), pipe.look_up(y, "last_y"))

    def receivers(self, pipe: LocalPipe) -> SSAValue:
        return pipe.look_up([len(each.receivers) for each in self.pipes], "receivers")

    def rows(self, pipe: LocalPipe) -> SSAValue:
        return pipe.look_up([each.rows for each in self.pipes], "rows")

    # The pipes of the node ------------------------------------------------------------------------

    def count(self, role: str) -> SSAValue:
        if role not in self._counts:
            self._find(role)
        return self._counts[role]

    def pipe_at(self, make: Maker, role: str, place: SSAValue) -> LocalPipe:
        """Return the pipe at `place` among the node's pipes."""
        self.count(role)
        if len(self.pipes) == 1:
            return LocalPipe(self, place, make.index(0), make)
        number = load(make, self._places[role], place, f"{self.name}_pipe")
        return LocalPipe(self, place, number, make)

    def _find(self, role: str) -> None:
        """Find the node's pipes, at the start of the kernel."""
        make, name = self.start, f"{self.name}_{role}"
        if len(self.pipes) == 1:
            has_role = self._has_role(make, make.index(0), role)
            one, none = make.index(1), make.index(0)
            self._counts[role] = make.value(arith.SelectOp(has_role, one, none), f"{name}_count")
            return
        most = self.declaration.most_on_a_node(role)
        places = self._places[role] = self.array(make, name, most)

        def collect(inner: Maker, pipe: SSAValue, found: SSAValue) -> list[SSAValue]:
            def keep(then: Maker) -> None:
                store(then, places, found, pipe)

            has_role = self._has_role(inner, pipe, role)
            branch(inner, has_role, keep)
            one, none = inner.index(1), inner.index(0)
            more = inner.value(arith.SelectOp(has_role, one, none))
            return [add(inner, found, more)]

        start = make.index(0)
        (count,) = make.for_each(0, make.index(len(self.pipes)), "pipe", collect, start)
        count.name_hint = f"{name}_count"
        self._counts[role] = count

    def _has_role(self, make: Maker, number: SSAValue, role: str) -> SSAValue:
        pipe = LocalPipe(self, number, number, make)
        own = [self.nodes.own_coordinate(axis) for axis in "xy"]
        if role == "dst" and self.resources.is_multicast:
            corners = self.corners(pipe)
            pairs = [("sge", corners[:2]), ("sle", corners[2:])]
        else:
            is_src = role == "src"
            node = self.source(pipe) if is_src else self.first_receiver(pipe)
            pairs = [("eq", node)]
        tests = [
            make.value(compare_op(own[axis], node[axis], sign))
            for sign, node in pairs
            for axis in (0, 1)
        ]
        if role == "dst" and not self.has_rectangles:
            place = self._own_place(make, pipe)
            tests.append(make.value(compare_op(place, make.index(0), "sge")))
            tests.append(make.value(compare_op(place, self.receivers(pipe), "slt")))
        result = reduce(lambda one, other: make.value(and_op(one, other)), tests)
        result.name_hint = f"is_{role}"
        return result

    # Counters -------------------------------------------------------------------------------------

    def array(self, make: Maker, name: str, size: int) -> SSAValue:
        properties = {"array_name": StringAttr(name), "size": IntegerAttr(size, i64)}
        return make.new(ttkernel.ArrayOp, (), ttkernel.ArrayType(), None, **properties)

    def next_number(self, make: Maker, role: str, place: SSAValue) -> SSAValue:
        """Return how many transfers of the pipe have started, and count this one."""
        shared = self.resources.sent if role == "src" else self.resources.posted
        if shared is not None:
            return self._next_shared(make, shared, place)
        name = f"{self.name}_{'sent' if role == 'src' else 'posted'}"
        if role not in self._counters:
            most = self.declaration.most_on_a_node(role)
            self._counters[role] = self.array(self.start, name, most)
        counter = self._counters[role]
        number = load(make, counter, place, "number")
        following = add(make, number, make.index(1))
        store(make, counter, place, following)
        return number

    def _next_shared(self, make: Maker, first: int, place: SSAValue) -> SSAValue:
        """Count together with the other kernel; the wait makes its write visible (rule SHARED)."""
        word = times(make, place, make.index(WORD_BYTES))
        address = add(make, self.nodes.scratch(), add(make, make.index(first), word), "count")
        pointer = self.nodes.word(make, address)
        call(make, "noc_semaphore_wait_min", pointer, make.index(0))
        number = value_call(make, ttkernel.READ_WORD, address, type=INDEX, hint="number")
        call(make, "noc_semaphore_set", pointer, add(make, number, make.index(1)))
        return number

    def ready(self, make: Maker, turn: Turn) -> SSAValue:
        """Return the address of the count of posts on the source."""
        found = self.resources
        first = turn.pipe.look_up(found.ready, "ready")
        slot = make.index(0) if found.ready_slots == 1 else turn.slot
        if found.ready_in_scratch:
            step = times(make, slot, make.index(COUNTER_BYTES))
            return add(make, self.nodes.scratch(), add(make, first, step), "ready_address")
        return self.nodes.semaphore(make, add(make, first, slot), "ready_address")

    def done(self, make: Maker, pipe: LocalPipe) -> SSAValue:
        """Return the address of the count of blocks on a receiver."""
        number = pipe.look_up(self.resources.done, "done")
        if self.resources.done_in_scratch:
            return add(make, self.nodes.scratch(), number, "done_address")
        return self.nodes.semaphore(make, number, "done_address")

    def table_entry(self, make: Maker, turn: Turn, receiver: SSAValue) -> SSAValue:
        """Return the address on the source of the word for a receiver's block."""
        first = turn.pipe.look_up(self.resources.table, "table")
        row = times(make, turn.slot, self.receivers(turn.pipe))
        word = times(make, add(make, row, receiver), make.index(WORD_BYTES))
        return add(make, self.nodes.scratch(), add(make, first, word), "entry")

    def turn(self, make: Maker, role: str, pipe: LocalPipe) -> Turn:
        number = self.next_number(make, role, pipe.place)
        return Turn(pipe, number, *divide(make, number, self.resources.depth))

    # post -----------------------------------------------------------------------------------------

    def post(self, make: Maker, pipe: LocalPipe, address: SSAValue) -> SSAValue:
        """Post a block; return the number of the post, from 1."""
        turn = self.turn(make, "dst", pipe)
        if self.resources.is_own:
            self.own.post_if_due(make, turn, address)
        else:
            self.tell_source(make, turn, address)
        return add(make, turn.number, make.index(1), "post")

    def tell_source(self, make: Maker, turn: Turn, address: SSAValue) -> None:
        source = self.source(turn.pipe)
        if not self.resources.is_in_place:
            self.publish(make, turn, source, address)
            self.publish_barrier(make)
        self.count_post(make, turn, source)

    def publish(self, make: Maker, turn: Turn, source: Coordinates, address: SSAValue) -> None:
        entry = self.table_entry(make, turn, self._own_place(make, turn.pipe))
        there = self.nodes.on_node(make, source, entry, "entry_on_source")
        relative = minus(make, address, self.nodes.scratch(), "block")
        call(make, "noc_inline_dw_write<InlineWriteDst::L1>", there, relative)

    def _own_place(self, make: Maker, pipe: LocalPipe) -> SSAValue:
        """Return this node's number among the receivers."""
        if not self.resources.is_multicast:
            return make.index(0)
        x0, y0 = self.first_receiver(pipe)
        x = minus(make, self.nodes.own_coordinate("x"), x0)
        y = minus(make, self.nodes.own_coordinate("y"), y0)
        place = add(make, times(make, x, self.rows(pipe)), y)
        return place if self.has_rectangles else minus(make, place, self._before(pipe))

    def _before(self, pipe: LocalPipe) -> SSAValue:
        """Return how many nodes of the rectangle come before the first receiver."""
        return pipe.look_up([each.before for each in self.pipes], "before")

    def publish_barrier(self, make: Maker) -> None:
        """Wait for the write: an increment could overtake it."""
        call(make, "noc_async_write_barrier")

    def count_post(self, make: Maker, turn: Turn, source: Coordinates) -> None:
        counter = self.ready(make, turn)
        there = self.nodes.on_node(make, source, counter, "ready_on_source")
        call(make, "noc_semaphore_inc", there, make.index(1))

    # send -----------------------------------------------------------------------------------------

    def send(self, make: Maker, pipe: LocalPipe, address: SSAValue, size: int) -> None:
        turn = self.turn(make, "src", pipe)
        if self.resources.is_own:
            self.own.post_by_send(make, turn, address)
        self.await_posts(make, turn)
        if self.resources.is_multicast:
            self.multicast(make, turn, address, size)
        else:
            self.unicast(make, turn, address, size)
            self.data_barrier(make)
        if not self.has_rectangles:
            self.signal_each(make, pipe)
        elif self.resources.is_multicast:
            self.signal_all(make, pipe, turn.number)
        else:
            self.signal_one(make, pipe)

    def await_posts(self, make: Maker, turn: Turn) -> None:
        """Wait for all posts; with one count, a post could replace another's (rule SLOTS)."""
        before = turn.round if self.resources.ready_slots > 1 else turn.number
        posts = times(make, add(make, before, make.index(1)), self.receivers(turn.pipe))
        ready = self.nodes.word(make, self.ready(make, turn))
        call(make, "noc_semaphore_wait_min", ready, posts)

    def block_of(self, make: Maker, turn: Turn, receiver: SSAValue) -> SSAValue:
        """Return the address of a receiver's block, relative to the scratch memory."""
        entry = self.table_entry(make, turn, receiver)
        return value_call(make, ttkernel.READ_WORD, entry, type=INDEX, hint="block")

    def unicast(self, make: Maker, turn: Turn, address: SSAValue, size: int) -> None:
        destination = self.place_of(make, turn, make.index(0), address)
        self._write(make, self.first_receiver(turn.pipe), destination, address, size)

    def place_of(self, make: Maker, turn: Turn, receiver: SSAValue, own: SSAValue) -> SSAValue:
        """Return the address of a receiver's block on its node."""
        if self.resources.is_in_place:
            return own
        block = self.block_of(make, turn, receiver)
        return add(make, self.nodes.scratch(), block, "destination")

    def _write(
        self, make: Maker, node: Coordinates, destination: SSAValue, address: SSAValue, size: int
    ) -> None:
        there = self.nodes.on_node(make, node, destination, "block_on_receiver")
        call(make, "noc_async_write", address, there, make.index(size))

    def multicast(self, make: Maker, turn: Turn, address: SSAValue, size: int) -> None:
        """Write to all receivers at once if they form a rectangle with one address."""
        pipe, receivers = turn.pipe, self.receivers(turn.pipe)

        def to_each(inner: Maker) -> None:
            inner.for_each(0, receivers, "receiver", write)
            self.data_barrier(inner)

        def write(inner: Maker, receiver: SSAValue) -> None:
            destination = self.place_of(inner, turn, receiver, address)
            self._write(inner, self._receiver(inner, pipe, receiver), destination, address, size)

        def to_all(inner: Maker, destination: SSAValue) -> None:
            corners = self.corners(pipe)
            there = self.nodes.on_nodes(inner, corners, destination, "block_on_receivers")
            name = f"noc_async_write_multicast{self.loopback}"
            call(inner, name, address, there, inner.index(size), receivers)
            self.data_flush(inner)

        if not self.has_rectangles:
            to_each(make)
            return
        if self.resources.is_in_place:
            to_all(make, address)
            return
        first = self.block_of(make, turn, make.index(0))

        def compare(inner: Maker, receiver: SSAValue, same: SSAValue) -> list[SSAValue]:
            block = self.block_of(inner, turn, receiver)
            is_same = inner.value(compare_op(block, first, "eq"))
            return [inner.value(and_op(same, is_same))]

        true = make.value(arith.ConstantOp(IntegerAttr(1, i1)))
        (is_uniform,) = make.for_each(1, receivers, "receiver", compare, true)
        is_uniform.name_hint = "is_uniform"

        def to_one_place(inner: Maker) -> None:
            to_all(inner, add(inner, self.nodes.scratch(), first, "destination"))

        branch(make, is_uniform, to_one_place, to_each)

    def _receiver(self, make: Maker, pipe: LocalPipe, number: SSAValue) -> Coordinates:
        """Return the node of a receiver."""
        x0, y0 = self.first_receiver(pipe)
        rows = self.rows(pipe)
        place = number if self.has_rectangles else add(make, number, self._before(pipe))
        across = make.value(arith.DivSIOp(place, rows))
        down = make.value(arith.RemSIOp(place, rows))
        return add(make, x0, across), add(make, y0, down)

    @property
    def loopback(self) -> str:
        """The suffix of calls that also reach the sender; needed if a source is a receiver."""
        return "_loopback_src" if any(pipe.is_loopback for pipe in self.pipes) else ""

    def data_barrier(self, make: Maker) -> None:
        """Wait until the data has arrived, before the signal; the source may be reused."""
        call(make, "noc_async_write_barrier")

    def data_flush(self, make: Maker) -> None:
        """Flush before the signal, as kernels of tt-metal do: Blackhole needs it. Multicasts stay
        in order, so the signal arrives after the data."""
        call(make, "noc_async_writes_flushed")

    def signal_one(self, make: Maker, pipe: LocalPipe) -> None:
        self._signal(make, pipe, self.first_receiver(pipe))

    def _signal(self, make: Maker, pipe: LocalPipe, receiver: Coordinates) -> None:
        there = self.nodes.on_node(make, receiver, self.done(make, pipe), "done_on_receiver")
        call(make, "noc_semaphore_inc", there, make.index(1))

    def signal_each(self, make: Maker, pipe: LocalPipe) -> None:
        def signal(inner: Maker, receiver: SSAValue) -> None:
            self._signal(inner, pipe, self._receiver(inner, pipe, receiver))

        make.for_each(0, self.receivers(pipe), "receiver", signal)

    def signal_all(self, make: Maker, pipe: LocalPipe, number: SSAValue) -> None:
        """Multicast the count itself: there is no reliable multicast of an increment."""
        staging = self.nodes.staging(make)
        count = add(make, number, make.index(1))
        call(make, "noc_semaphore_set", self.nodes.word(make, staging), count)
        corners = self.corners(pipe)
        there = self.nodes.on_nodes(make, corners, self.done(make, pipe), "done_on_receivers")
        receivers = self.receivers(pipe)
        call(make, f"noc_semaphore_set_multicast{self.loopback}", staging, there, receivers)
        self.signal_flush(make)

    def signal_flush(self, make: Maker) -> None:
        """Wait until the word may hold the next count, which must not overtake this one."""
        is_shared = self.resources.sent is not None
        call(make, "noc_async_write_barrier" if is_shared else "noc_async_writes_flushed")

    # wait -----------------------------------------------------------------------------------------

    def wait(self, make: Maker, place: SSAValue, number: SSAValue) -> None:
        pipe = self.pipe_at(make, "dst", place)
        done = self.nodes.word(make, self.done(make, pipe))
        call(make, "noc_semaphore_wait_min", done, number)
