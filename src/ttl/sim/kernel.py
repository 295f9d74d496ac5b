"""One kernel on one node: the engine its calls reach."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from sys import _getframe, getrefcount
from typing import TYPE_CHECKING, Any, NamedTuple

from ttl.diagnostics import KernelFault, RuleBroken, Severity, TTLError, codes
from ttl.diagnostics.frames import user_frame
from ttl.language.buffer import BufferState, DataflowBuffer
from ttl.language.operation import KernelFunction
from ttl.language.pipes import PipeNet
from ttl.language.semaphores import Semaphore
from ttl.semantics.block_protocol import State
from ttl.semantics.current_engine import ENGINE
from ttl.semantics.dtypes import DType, can_hold
from ttl.semantics.kernel_kinds import KernelKind, wrong_kind
from ttl.semantics.tensors import TensorSlice
from ttl.semantics.types import Shape
from ttl.trace import EventKind, Recorder

from . import expressions
from .block import SimBlock, SimExpression
from .buffer import BufferEnd, NodeBuffer
from .copies import start_copy
from .faults import exception_fault, fault_at, rule_fault, spinning_fault
from .multicast import start_multicast
from .pipes import PipeTransfer, Roles, call_for_each
from .place import Place, labels
from .semaphores import SemaphoreWait, increment, set_value, wait_for
from .transfers import SimTransfer
from .watchdog import Spinning

if TYPE_CHECKING:
    from greenlet import greenlet as Greenlet

    from .simulation import Simulation


MUST_WRITE, MUST_READ = State.MUST_WRITE, State.MUST_READ


def _unshared() -> int:
    """References to a block that only its buffer has: the list, a local variable and what
    getrefcount() adds. Counted as in reserve(), because versions of Python differ.
    """
    blocks = [object()]
    block = blocks[0]
    return getrefcount(block)


# A block with no more can be used again for the next acquire; one that the user still has is left
# to him, so that using it after its release is noticed.
UNSHARED = _unshared()
NOTHING: dict[Any, Any] = {}


class KernelPlan(NamedTuple):
    """What is the same for a kernel on all nodes, or on all that its body was run for."""

    name: str
    function: Callable[[], None]
    kind: KernelKind
    is_compute: bool
    dest: DType  # the format of float values in expressions
    inexact: tuple[DType, ...]  # floats of buffers that reading rounds, because DST is narrower

    @classmethod
    def of(cls, kernel: KernelFunction, dest: DType, held: Sequence[DType]) -> KernelPlan:
        inexact = tuple([each for each in held if each.is_float and not can_hold(dest, each)])
        is_compute = kernel.kind is KernelKind.COMPUTE
        return cls(kernel.name, kernel.function, kernel.kind, is_compute, dest, inexact)


class KernelRun:
    """Runs a kernel function on a node and is its engine (ttl.language.engine.Engine)."""

    __slots__ = (
        "broken",
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
        "name",
        "net_roles",
        "ready",
        "recorder",
        "reserving",
        "shapeless",
        "simulation",
        "steps",
        "times_ended",
        "transfers",
        "types",
        "waiting",
        "waiting_for",
    )

    def __init__(self, simulation: Simulation, plan: KernelPlan, coordinate: Shape):
        self.simulation = simulation
        self.grid = simulation.program.grid
        self.recorder: Recorder | None = simulation.recorder
        self.ready = simulation.ready
        self.types = simulation.types
        self.is_shuffled = simulation.random is not None
        self.is_observed = self.recorder is not None or simulation.padding is not None
        self.name = plan.name
        self.function = plan.function
        self.kind = plan.kind
        self.is_compute = plan.is_compute
        self.dest = plan.dest
        self.inexact = plan.inexact
        self.coordinate = coordinate
        # The one empty dict until there is something to keep: a launch makes hundreds of kernels,
        # and the garbage collector counts their dicts.
        self.reserving: dict[DataflowBuffer, BufferEnd] = NOTHING  # the ends it has used
        self.waiting: dict[DataflowBuffer, BufferEnd] = NOTHING
        self.transfers: dict[SimTransfer, None] = NOTHING  # not waited for yet, oldest first
        self.shapeless: dict[SimExpression, Place | None] = NOTHING  # values that need a shape yet
        self.net_roles: dict[PipeNet, Roles] = NOTHING  # of the nets it has used
        self.broken: RuleBroken | None = None  # the first rule that it broke
        self.exiting: tuple[SimBlock, ...] = ()  # left by their `with` before an older one
        self.copies = 0  # started
        self.steps = 0  # block expressions computed
        self.greenlet: Greenlet | None = None  # from its start on
        self.waiting_for: BufferEnd | PipeTransfer | SemaphoreWait | None = None
        self.is_polling = False
        self.is_finished = False
        self.times_ended = 0

    def main(self) -> None:
        """The body of the greenlet. What it raises comes out of the scheduler's switch."""
        if self.recorder is not None:
            self.recorder.record(EventKind.KERNEL_START, self.coordinate, self.name)
        try:
            if self.function() is not None:
                raise self._returned()
            if self.broken is not None:  # a bare `except` or a `finally` has kept it
                raise self.broken
            self._check_end()
        except RuleBroken as broken:
            if isinstance(broken.subject, SimBlock):
                broken.secondary += broken.subject.history()
            raise rule_fault(self, broken) from None
        except TTLError:
            raise
        except Spinning as spinning:
            raise spinning_fault(self, spinning) from None
        except Exception as error:
            raise exception_fault(self, error) from error
        finally:
            self.is_finished = True
        if self.recorder is not None:
            self.recorder.record(EventKind.KERNEL_END, self.coordinate, self.name)

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
        index = end.acquired % end.count
        block = end.blocks[index]
        if block is None or getrefcount(block) > UNSHARED:
            block = end.blocks[index] = SimBlock(end, self, index)
        frame = _getframe(2)  # the user's: above it is DataflowBuffer.reserve()
        block.place = (frame.f_code, frame.f_lasti)
        block.state = MUST_WRITE
        block.sequence = end.acquired
        block.values = None
        block.words.fill(end.buffer.poison)  # so that data nobody wrote shows
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
        index = end.acquired % end.count
        block = end.blocks[index]
        if block is None or getrefcount(block) > UNSHARED:
            block = end.blocks[index] = SimBlock(end, self, index)
        frame = _getframe(2)
        block.place = (frame.f_code, frame.f_lasti)
        block.state = MUST_READ
        block.sequence = end.acquired
        block.array = end.buffer.slots[index]  # a store may have given it others
        block.words = end.buffer.words[index]
        block.values = None
        end.acquired += 1
        if self.recorder is not None:
            self.record_buffer(EventKind.BUFFER_WAIT, end)
        return block

    def _observe_reserve(self, end: BufferEnd, block: SimBlock) -> None:
        if self.simulation.padding is not None:
            self.simulation.padding.reserved(block)
        if self.recorder is not None:
            self.record_buffer(EventKind.BUFFER_RESERVE, end)

    def _claim(self, buffer: DataflowBuffer, end: BufferEnd) -> BufferEnd:
        """From its first use on, this end is this kernel's alone."""
        if self.transfers is NOTHING:
            self.reserving, self.waiting, self.transfers, self.shapeless = {}, {}, {}, {}
        frame = _getframe(3)
        if end.kernel is not None and end.kernel is not self:
            raise _second_kernel(end)
        end.kernel, end.place = self, (frame.f_code, frame.f_lasti)
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
                self.sleep(end, end.buffer.declared.name, end.buffer.filled)
            else:  # the same, for the most common case
                self.waiting_for = end
                simulation.switch_to_next()
                self.waiting_for = None

    def _on_node(self, buffer: DataflowBuffer) -> NodeBuffer:
        buffers = self.simulation.nodes[self.coordinate]
        if buffer.index < len(buffers):
            found = buffers[buffer.index]
            # A body that is run for every node declares its buffers anew each time.
            if found.declared is buffer or self.simulation.program.kernels_by_node:
                return found
        raise RuleBroken(
            codes.WRONG_ARGUMENT,
            f"`{buffer.name}` is a dataflow buffer of another call",
            helps=("make dataflow buffers in the body of the operation that uses them",),
        )

    def can_reserve(self, buffer: DataflowBuffer) -> bool:
        end = self._on_node(buffer).producer
        self.poll(end)
        return end.credits > 0

    def can_wait(self, buffer: DataflowBuffer) -> bool:
        end = self._on_node(buffer).consumer
        self.poll(end)
        return end.credits > 0

    def buffer_state(self, buffer: DataflowBuffer) -> BufferState:
        found = self._on_node(buffer)
        taken = found.producer.acquired - found.consumer.released
        return BufferState(
            head=found.consumer.released % buffer.block_count,
            visible=found.filled,
            reserved=taken - found.filled,
            free=buffer.block_count - taken,
        )

    def poll(self, what: BufferEnd | PipeTransfer) -> None:
        """Let others run, because this kernel asks whether it need wait."""
        self.waiting_for = what
        self.is_polling = True
        self.simulation.poll(self)
        self.waiting_for = None
        self.is_polling = False

    def sleep(
        self, what: BufferEnd | PipeTransfer | SemaphoreWait, subject: str, value: int
    ) -> None:
        """Let others run until one of them wakes this kernel."""
        if self.recorder is not None:
            self._record(EventKind.KERNEL_BLOCKED, subject, value)
        self.waiting_for = what
        self.simulation.switch_to_next()
        self.waiting_for = None
        if self.recorder is not None:
            value = what.buffer.filled if isinstance(what, BufferEnd) else value
            self._record(EventKind.KERNEL_RESUMED, subject, value)

    def refuse_nested_exit(self) -> None:
        """A `with` inside the `with` of an older block of its buffer has ended before it."""
        raise self.exiting[0].left_too_early()

    # Copies

    def slice(self, tensor: Any, index: Any) -> TensorSlice:
        if self.is_compute:
            raise wrong_kind("a tensor slice", self.kind)
        part: TensorSlice = tensor.storage.part(tensor, index)
        return part

    copy = start_copy
    multicast = start_multicast

    def require_data_movement(self, call: str) -> None:
        if self.is_compute:
            raise wrong_kind(call, self.kind)

    def if_src(self, net: PipeNet, function: Callable[[Any], object]) -> None:
        if self.is_compute:
            raise wrong_kind("PipeNet.if_src()", self.kind)
        if roles := self._roles(net)[0]:
            call_for_each(roles, function, "if_src")

    def if_dst(self, net: PipeNet, function: Callable[[Any], object]) -> None:
        if self.is_compute:
            raise wrong_kind("PipeNet.if_dst()", self.kind)
        if roles := self._roles(net)[1]:
            call_for_each(roles, function, "if_dst")

    def _roles(self, net: PipeNet) -> Roles:
        if self.is_shuffled:
            self.simulation.perhaps_switch(self)
        roles = self.net_roles.get(net)
        if roles is None:
            self.net_roles = self.net_roles or {}
            roles = self.net_roles[net] = self.simulation.nets.find(net).roles(self)
        return roles

    # Semaphores

    def semaphore_wait(self, semaphore: Semaphore, value: int, *, at_least: bool) -> None:
        call = "wait_ge" if at_least else "wait_eq"
        self.require_data_movement(f"Semaphore.{call}()")
        self.simulation.perhaps_switch(self)
        wait_for(self, semaphore, value, at_least)
        self._record_semaphore(EventKind.SEMAPHORE_WAIT, semaphore, value)

    def semaphore_set(
        self, semaphore: Semaphore, nodes: tuple[Shape, ...], value: int, call: str
    ) -> None:
        self.require_data_movement(call)
        self.simulation.perhaps_switch(self)
        set_value(self, semaphore, nodes, value)
        self._record_semaphore(EventKind.SEMAPHORE_SET, semaphore, value)

    def semaphore_inc(self, semaphore: Semaphore, node: Shape, value: int) -> None:
        self.require_data_movement("UnicastRemoteSemaphore.inc()")
        self.simulation.perhaps_switch(self)
        increment(self, semaphore, node, value)
        self._record_semaphore(EventKind.SEMAPHORE_INC, semaphore, value)

    # Expressions

    apply = expressions.apply
    store = expressions.store
    accumulate = expressions.accumulate

    # The end

    def _returned(self) -> KernelFault:
        broken = RuleBroken(
            codes.WRONG_ARGUMENT,
            f"kernel `{self.name}` returns a value",
            helps=("kernels return nothing: store results into blocks",),
        )
        return fault_at(self, broken, (self.function.__code__, 0))

    def _check_end(self) -> None:
        if self.exiting:
            self.refuse_nested_exit()
        if self.transfers:
            self._refuse_open_transfers()
        if self.reserving or self.waiting:
            for end in (*self.reserving.values(), *self.waiting.values()):
                if end.acquired != end.released:
                    self._refuse_held_block(end)
        for place in self.shapeless.values():
            raise fault_at(self, expressions.shapeless_value(), place)

    def _refuse_open_transfers(self) -> None:
        first, *others = self.transfers
        broken = RuleBroken(
            codes.TRANSFER_NOT_WAITED,
            f"`{self.name}` ended while a transfer was under way",
            helps=("call wait() on what ttl.copy() returns",),
            secondary=labels((other.place, "also not waited for") for other in others),
        )
        raise fault_at(self, broken, first.place, "this transfer is never waited for")

    def _refuse_held_block(self, end: BufferEnd) -> None:
        block = end.oldest_held
        assert block is not None
        broken = RuleBroken(
            codes.BLOCK_NOT_RELEASED,
            f"`{self.name}` ended while it held a block of `{end.buffer.declared.name}`",
            helps=(f"call {end.release_call}() on it, or acquire it in a `with`",),
        )
        raise fault_at(self, broken, block.place, "acquired here and never released")

    # Trace

    def signpost(self, name: str, is_end: bool) -> None:
        if self.recorder is not None:
            self._record(EventKind.SIGNPOST_END if is_end else EventKind.SIGNPOST_BEGIN, name, 0)

    def record_buffer(self, kind: EventKind, end: BufferEnd) -> None:
        buffer = end.buffer
        self._record(kind, buffer.declared.name, buffer.filled)

    def record_copy(self, kind: EventKind, transfer: SimTransfer) -> None:
        declared = transfer.block.end.buffer.declared
        self._record(kind, transfer.subject, declared.block_bytes)

    def _record_semaphore(self, kind: EventKind, semaphore: Semaphore, value: int) -> None:
        self.simulation.activity += 1
        if self.recorder is not None:
            self._record(kind, semaphore.name, value)

    def _record(self, kind: EventKind, subject: str, value: int) -> None:
        assert self.recorder is not None
        frame = user_frame(_getframe(2))
        line = frame.f_lineno if frame is not None else 0
        self.recorder.record(kind, self.coordinate, self.name, subject, value, line)


def _notice(broken: RuleBroken) -> None:
    """Remember the first error of the running kernel; hasattr() may ask for any name."""
    kernel = ENGINE.get(None)
    is_error = broken.code.severity is Severity.ERROR and broken.code is not codes.UNKNOWN_NAME
    if is_error and isinstance(kernel, KernelRun) and kernel.broken is None:
        kernel.broken = broken


RuleBroken.observer = staticmethod(_notice)


def _second_kernel(end: BufferEnd) -> RuleBroken:
    assert end.kernel is not None and end.place is not None
    name, first = end.buffer.declared.name, end.kernel.name
    return RuleBroken(
        codes.BUFFER_ENDS,
        f"two kernels call {end.action}() on `{name}`; the other one is `{first}`",
        helps=("give each of the kernels a dataflow buffer of its own",),
        secondary=labels([(end.place, f"`{first}` calls {end.action}() here")]),
    )
