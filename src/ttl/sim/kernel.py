"""One kernel on one node: the engine its calls reach."""

from __future__ import annotations

from collections.abc import Mapping
from types import CodeType
from typing import TYPE_CHECKING, Any, Final

from ttl.diagnostics import RuleBroken, Severity, codes
from ttl.diagnostics.buffer_ends import second_kernel
from ttl.language.block import Block
from ttl.language.buffer import BufferState, DataflowBuffer
from ttl.language.engine import Engine
from ttl.language.pipes import PipeNet
from ttl.language.semaphores import Semaphore
from ttl.semantics.block_protocol import COPY_FROM, COPY_INTO, State, nothing_held
from ttl.semantics.current_engine import running_engine
from ttl.semantics.kernel_kinds import wrong_kind
from ttl.semantics.ops import BlockOp
from ttl.semantics.tensors import TensorSlice
from ttl.semantics.types import Shape
from ttl.trace import EventKind, Recorder

from . import elements, expressions, shards
from .block import SimBlock, SimExpression
from .buffer import BufferEnd, NodeBuffer
from .copies import Load, Save, TensorTransfer, start_between_blocks
from .marks import Marks
from .nets import ReceiverRole, SourceRole, receiver_of, source_of
from .pipes import PipeTransfer, start_receive, start_send
from .place import (
    BEHIND_LANGUAGE,
    FURTHER_BEHIND,
    Place,
    place_at,
    span_of,
    user_place,
)
from .plan import KernelPlan
from .recording import COPY_START, append, number_place, record, record_buffer, record_copy
from .semaphores import SemaphoreWait, increment, set_value, wait_for
from .transfers import SimTransfer

if TYPE_CHECKING:
    from greenlet import greenlet as Greenlet

    from .simulation import Simulation


MUST_WRITE: Final = State.MUST_WRITE
MUST_READ: Final = State.MUST_READ
# Enum members are slow to look up.
RESERVED: Final = EventKind.BUFFER_RESERVE
WAITED: Final = EventKind.BUFFER_WAIT
BLOCKED: Final = EventKind.KERNEL_BLOCKED
RESUMED: Final = EventKind.KERNEL_RESUMED


NOTHING: Final[dict[Any, Any]] = {}
NO_EVENTS: Final[list[object]] = []


class KernelRun(Engine):
    """A kernel function running on a node; the engine of its calls."""

    __slots__ = (
        "broken",
        "code",
        "code_number",
        "coordinate",
        "copies",
        "dest",
        "exiting",
        "function",
        "greenlet",
        "grid",
        "inexact",
        "is_compute",
        "is_finished",
        "is_observed",
        "is_polling",
        "is_shuffled",
        "kind",
        "kinds",
        "name",
        "node_number",
        "overwrites",
        "races",
        "raw",
        "read",
        "read_back",
        "ready",
        "receiver_roles",
        "recorder",
        "records_all",
        "register_bits",
        "reserving",
        "shapeless",
        "signposts",
        "simulation",
        "source_roles",
        "steps",
        "times_ended",
        "track",
        "transfers",
        "types",
        "waiting",
        "waiting_for",
        "waiting_place",
        "written",
    )

    def __init__(self, simulation: Simulation, plan: KernelPlan, coordinate: Shape):
        self.simulation = simulation
        self.grid = simulation.program.grid
        self.recorder: Recorder | None = simulation.recorder
        self.ready = simulation.ready
        self.types = simulation.types
        self.is_shuffled = simulation.random is not None
        self.races = simulation.races
        self.overwrites = simulation.overwrites
        self.node_number = len(simulation.nodes)  # from 1
        self.written: Marks | None = None  # none until there is something to mark
        self.read: Marks | None = None
        self.read_back: Marks | None = None  # parts that the node itself wrote before
        is_followed = simulation.padding is not None or simulation.marks_reads
        self.is_observed = self.recorder is not None or is_followed
        self.name = plan.name
        self.waiting_place: Place | None = None  # of a transfer's wait(), for the recorder
        self.track: object = 0  # shared by all events, like code_number
        self.kinds: Any = ()  # kinds of events to record
        self.records_all = False
        self.raw: list[object] = NO_EVENTS
        if self.recorder is not None:
            self.track = self.recorder.track(coordinate, plan.name)
            self.kinds, self.raw = self.recorder.kinds, self.recorder.raw
            self.records_all = self.recorder.records_all
        self.code: CodeType | None = None  # the latest code of the program that an event came from
        self.code_number: object = 0
        self.function = plan.function
        self.kind = plan.kind
        self.is_compute = plan.is_compute
        self.dest = plan.dest
        self.inexact = plan.inexact
        self.register_bits = plan.register_bits
        self.coordinate = coordinate
        # Shared and empty until needed: a launch makes hundreds of kernels, and the garbage
        # collector counts their dicts.
        self.reserving: dict[DataflowBuffer, BufferEnd] = NOTHING  # ends this kernel has used
        self.waiting: dict[DataflowBuffer, BufferEnd] = NOTHING
        self.transfers: dict[SimTransfer, None] = NOTHING  # not waited for yet, oldest first
        self.shapeless: dict[SimExpression, Place | None] = NOTHING  # shape still unknown
        self.signposts: dict[Any, Place | None] = NOTHING  # created but not entered yet
        self.source_roles: dict[PipeNet, list[SourceRole]] = NOTHING  # of nets it has used
        self.receiver_roles: dict[PipeNet, list[ReceiverRole]] = NOTHING
        self.broken: RuleBroken | None = None  # the first rule that it broke
        self.exiting: tuple[SimBlock, ...] = ()  # left by their `with` before an older one
        self.copies = 0  # copies started
        self.steps = 0  # block expressions computed
        self.greenlet: Greenlet | None = None  # set when it starts
        self.waiting_for: BufferEnd | PipeTransfer | SemaphoreWait | None = None
        self.is_polling = False
        self.is_finished = False
        self.times_ended = 0

    # Buffers

    def node(self) -> Shape:
        return self.coordinate

    def reserve(self, buffer: DataflowBuffer) -> SimBlock:
        end = self.reserving.get(buffer)
        if end is None:
            end = self._claim(buffer, self._on_node(buffer).producer)
        if not end.credits or self.is_shuffled or self.exiting:
            self._wait_for_credit(end)
        end.credits -= 1
        index: int = end.acquired % end.count
        block = end.blocks[index] = SimBlock(end, self, index, MUST_WRITE)
        block.place = place_at(BEHIND_LANGUAGE)
        block.is_bare = end.buffer.poison is not None
        end.acquired += 1
        if self.is_observed:
            self._observe_reserve(end, block)
        return block

    def wait(self, buffer: DataflowBuffer) -> SimBlock:
        end = self.waiting.get(buffer)
        if end is None:
            end = self._claim(buffer, self._on_node(buffer).consumer)
        if not end.credits or self.is_shuffled or self.exiting:
            self._wait_for_credit(end)
        end.credits -= 1
        index: int = end.acquired % end.count
        block = end.blocks[index] = SimBlock(end, self, index, MUST_READ)
        block.place = place_at(BEHIND_LANGUAGE)
        end.acquired += 1
        if self.recorder is not None:
            record_buffer(self, WAITED, end, block.place)
        return block

    def _observe_reserve(self, end: BufferEnd, block: SimBlock) -> None:
        if self.simulation.padding is not None:
            self.simulation.padding.note_reserve(block)
        if self.recorder is not None:
            record_buffer(self, RESERVED, end, block.place)

    def _claim(self, buffer: DataflowBuffer, end: BufferEnd) -> BufferEnd:
        """Make this end the kernel's on its first use, unless another kernel has it."""
        if self.transfers is NOTHING:
            self.reserving, self.waiting, self.transfers, self.shapeless = {}, {}, {}, {}
        if end.kernel is not None and end.kernel is not self:
            assert end.place is not None
            name, place = end.buffer.declared.name, span_of(end.place)
            raise second_kernel(end.action, name, end.kernel.name, place)
        end.kernel, end.place = self, place_at(FURTHER_BEHIND)
        end.buffer.allocate()
        (self.reserving if end.is_producer else self.waiting)[buffer] = end
        return end

    def _wait_for_credit(self, end: BufferEnd) -> None:
        if self.exiting:
            self.refuse_nested_exit()
        simulation = self.simulation
        if self.is_shuffled:
            simulation.perhaps_switch(self)
        while not end.credits:
            end.sleeper = self
            if self.recorder is not None:
                place: Place = place_at(FURTHER_BEHIND)
                self.sleep(end, end.buffer.declared.name, end.buffer.filled, place)
            else:  # inlined sleep(), for the most common case
                self.waiting_for = end
                simulation.switch_to_next()
                self.waiting_for = None

    def _on_node(self, buffer: DataflowBuffer) -> NodeBuffer:
        buffers = self.simulation.nodes[self.coordinate]
        if buffer.index < len(buffers):
            found = buffers[buffer.index]
            # A body that runs once per node declares its buffers anew each time.
            if found.declared is buffer or self.simulation.program.kernels_by_node:
                return found
        raise RuleBroken(
            codes.WRONG_ARGUMENT,
            f"`{buffer.name}` is a dataflow buffer of another call",
            helps=("make dataflow buffers in the body of the operation that uses them",),
        )

    def release_oldest(self, buffer: DataflowBuffer, *, is_push: bool) -> None:
        oldest = self._on_node(buffer).end(is_push).oldest_held
        if oldest is None or oldest.kernel is not self:
            raise nothing_held(buffer.name, is_push)
        oldest.release()

    def can_reserve(self, buffer: DataflowBuffer) -> bool:
        return self._has_credit(self._on_node(buffer).producer)

    def can_wait(self, buffer: DataflowBuffer) -> bool:
        return self._has_credit(self._on_node(buffer).consumer)

    def _has_credit(self, end: BufferEnd) -> bool:
        self.poll(end)
        return end.credits > 0

    def buffer_state(self, buffer: DataflowBuffer) -> BufferState:
        return self._on_node(buffer).state()

    def begin_publish(self, buffer: DataflowBuffer) -> None:
        shards.begin_publish(self, self._on_node(buffer))

    def publish_block(self, block: Block) -> None:
        assert isinstance(block, SimBlock)
        block.note_written()
        block.release()

    def poll(self, what: BufferEnd | PipeTransfer) -> None:
        """Let others run, because this kernel asks whether it must wait."""
        self.waiting_for, self.is_polling = what, True
        self.simulation.poll(self)
        self.waiting_for, self.is_polling = None, False

    def sleep(
        self,
        what: BufferEnd | PipeTransfer | SemaphoreWait,
        subject: str,
        value: int,
        caller: Place | None = None,
    ) -> None:
        """Let others run until one of them wakes this kernel; `caller` is its place, if known."""
        place = None
        if self.recorder is not None and (self.records_all or BLOCKED in self.kinds):
            place = number_place(self, caller)
            append(self.raw, BLOCKED, self.track, subject, value, place[0], place[1], None)
        self.waiting_for = what
        self.simulation.switch_to_next()
        self.waiting_for = None
        if place is not None:
            value = what.buffer.filled if isinstance(what, BufferEnd) else value
            append(self.raw, RESUMED, self.track, subject, value, place[0], place[1], None)

    def wake(self, sleeper: KernelRun) -> None:
        """Make the sleeper ready; it runs next, while the block is in the processor's cache.

        If this kernel uses pipes, the sleeper runs last: others can use data that is on its way to
        them, and the sleeper then finds more than one block.
        """
        if self.source_roles or self.receiver_roles:
            self.ready.append(sleeper)
        else:
            self.ready.appendleft(sleeper)

    def refuse_nested_exit(self) -> None:
        """Report a `with` that ended before that of an older block of its buffer around it."""
        raise self.exiting[0].left_too_early()

    # Copies

    def slice(self, tensor: Any, index: object) -> TensorSlice:
        if self.is_compute:
            raise wrong_kind("a tensor slice", self.kind)
        part: TensorSlice = tensor.storage.part(tensor, index)
        return part

    def copy(self, source: object, destination: object) -> SimTransfer:
        """Check both ends and step the blocks; the data moves later."""
        if self.is_compute:
            raise wrong_kind("ttl.copy()", self.kind)
        place: Place = place_at(BEHIND_LANGUAGE)  # the user's place: the frame above is ttl.copy()
        transfer: SimTransfer
        if isinstance(source, TensorSlice) and isinstance(destination, SimBlock):
            transfer = Load(self, source, destination, place)
            if destination.kernel is not self:
                raise destination.wrong_user(self)
            destination.step(COPY_INTO)
        elif isinstance(source, SimBlock) and isinstance(destination, TensorSlice):
            if source.kernel is not self:
                raise source.wrong_user(self)
            transfer = Save(self, destination, source, place)
            source.step(COPY_FROM)
        elif isinstance(source, ReceiverRole) and isinstance(destination, SimBlock):
            transfer = start_receive(self, source, destination, place)
        elif isinstance(source, SimBlock) and isinstance(destination, SourceRole):
            transfer = start_send(self, source, destination, place)
        elif isinstance(destination, SimBlock) and (own := receiver_of(self, source)):
            transfer = start_receive(self, own, destination, place)
        elif isinstance(source, SimBlock) and (role := source_of(self, destination)):
            transfer = start_send(self, source, role, place)
        else:
            transfer = start_between_blocks(self, source, destination, place)
        transfer.block.transfer = transfer
        self.transfers[transfer] = None
        self.copies += 1
        if self.recorder is not None:
            is_plain = isinstance(transfer, TensorTransfer)
            record_copy(self, COPY_START if is_plain else transfer.start_kind, transfer)
        if self.is_shuffled and isinstance(transfer, TensorTransfer):
            self.simulation.perhaps_move_early(transfer)
        return transfer

    def require_data_movement(self, call: str) -> None:
        if self.is_compute:
            raise wrong_kind(call, self.kind)

    def sources(self, net: PipeNet) -> list[SourceRole]:
        if self.is_compute:
            raise wrong_kind("PipeNet.if_src()", self.kind)
        if self.is_shuffled:
            self.simulation.perhaps_switch(self)
        roles = self.source_roles.get(net)
        if roles is None:
            roles = self.simulation.nets.find(net).sources(self)
            self.source_roles = {**self.source_roles, net: roles}
        return roles

    def receivers(self, net: PipeNet) -> list[ReceiverRole]:
        if self.is_compute:
            raise wrong_kind("PipeNet.if_dst()", self.kind)
        if self.is_shuffled:
            self.simulation.perhaps_switch(self)
        roles = self.receiver_roles.get(net)
        if roles is None:
            roles = self.simulation.nets.find(net).receivers(self)
            self.receiver_roles = {**self.receiver_roles, net: roles}
        return roles

    # Semaphores

    def semaphore_wait(self, semaphore: Semaphore, value: Any, *, at_least: bool) -> None:
        call = "wait_ge" if at_least else "wait_eq"
        self.require_data_movement(f"Semaphore.{call}()")
        self.simulation.perhaps_switch(self)
        wait_for(self, semaphore, value, at_least)
        self._record_semaphore(EventKind.SEMAPHORE_WAIT, semaphore, value)

    def semaphore_set(
        self, semaphore: Semaphore, nodes: tuple[Shape, ...], value: Any, call: str
    ) -> None:
        self.require_data_movement(call)
        self.simulation.perhaps_switch(self)
        set_value(self, semaphore, nodes, value)
        self._record_semaphore(EventKind.SEMAPHORE_SET, semaphore, value)

    def semaphore_inc(self, semaphore: Semaphore, node: Shape, value: Any) -> None:
        self.require_data_movement("UnicastRemoteSemaphore.inc()")
        self.simulation.perhaps_switch(self)
        increment(self, semaphore, node, value)
        self._record_semaphore(EventKind.SEMAPHORE_INC, semaphore, value)

    # Expressions

    def apply(
        self, op: BlockOp, operands: tuple[object, ...], parameters: Mapping[str, object]
    ) -> SimExpression:
        return expressions.apply(self, op, operands, parameters)

    def binary(self, op: BlockOp, left: object, right: object) -> SimExpression:
        return expressions.binary(self, op, left, right)

    def store(self, value: object, block: SimBlock) -> None:
        expressions.store(self, value, block)

    def accumulate(self, block: Block, value: object) -> None:
        assert isinstance(block, SimBlock)
        expressions.accumulate(self, block, value)

    def read_element(self, block: Block, coordinates: Shape) -> float:
        return elements.read(self, block, coordinates)

    def write_element(self, block: Block, coordinates: Shape, value: float) -> None:
        elements.write(self, block, coordinates, value)

    # Trace

    def record_signpost(self, made: object) -> None:
        if self.signposts is NOTHING:
            self.signposts = {}
        self.signposts[made] = user_place()

    def signpost(self, signpost: Any, is_end: bool) -> None:
        if not is_end:
            self.signposts.pop(signpost, None)
        if self.recorder is not None:
            kind = EventKind.SIGNPOST_END if is_end else EventKind.SIGNPOST_BEGIN
            record(self, kind, signpost.name, 0)

    def _record_semaphore(self, kind: EventKind, semaphore: Semaphore, value: int) -> None:
        self.simulation.activity += 1
        if self.recorder is not None:
            record(self, kind, semaphore.name, value)


def notice(broken: RuleBroken) -> None:
    """Remember the running kernel's first error; hasattr() may ask for unknown names."""
    kernel = running_engine(None)
    is_error = broken.code.severity is Severity.ERROR and broken.code is not codes.UNKNOWN_NAME
    if is_error and isinstance(kernel, KernelRun) and kernel.broken in (None, broken.origin):
        kernel.broken = broken
