"""One kernel on one node: the engine its calls reach."""

from __future__ import annotations

from sys import _getframe
from typing import TYPE_CHECKING, Any

import numpy as np
from greenlet import greenlet

from ttl.diagnostics import RuleBroken, TTLError, codes
from ttl.diagnostics.frames import user_frame
from ttl.language.buffer import DataflowBuffer
from ttl.language.operation import KernelFunction
from ttl.semantics.block_protocol import Event
from ttl.semantics.dtypes import Array, DType, round_to
from ttl.semantics.kernel_kinds import KernelKind, wrong_kind
from ttl.semantics.ops import BlockOp, store_type
from ttl.semantics.tensors import TensorSlice, slice_tensor
from ttl.semantics.types import Shape, element_shape
from ttl.trace import EventKind, Recorder

from .block import SimBlock, SimExpression
from .buffer import BufferEnd, NodeBuffer, ProducerEnd
from .copies import SimTransfer, start_copy
from .faults import exception_fault, fault_at, rule_fault
from .place import labels

if TYPE_CHECKING:
    from .simulation import Simulation


READ, STORE = Event.READ, Event.STORE
NAN = np.nan


class KernelRun:
    """Runs a kernel function on a node and is its engine (ttl.language.engine.Engine)."""

    __slots__ = (
        "buffers",
        "coordinate",
        "dest",
        "exiting",
        "function",
        "greenlet",
        "grid",
        "is_compute",
        "is_finished",
        "kind",
        "name",
        "recorder",
        "simulation",
        "transfers",
        "waiting_for",
    )

    def __init__(
        self,
        simulation: Simulation,
        kernel: KernelFunction,
        coordinate: Shape,
        buffers: list[NodeBuffer],
        dest: DType,
    ):
        self.simulation = simulation
        self.grid = simulation.program.grid
        self.recorder: Recorder | None = simulation.recorder
        self.name = kernel.name
        self.function = kernel.function
        self.kind = kernel.kind
        self.is_compute = kernel.kind is KernelKind.COMPUTE
        self.coordinate = coordinate
        self.buffers = buffers
        self.dest = dest  # the format of expression values
        self.transfers: dict[SimTransfer, None] = {}  # not waited for yet, oldest first
        self.exiting: list[SimBlock] = []  # left by their `with` before an older one
        self.waiting_for: BufferEnd | None = None
        self.is_finished = False
        self.greenlet = greenlet(self.main)

    def main(self) -> None:
        """The body of the greenlet. What it raises comes out of the scheduler's switch."""
        if self.recorder is not None:
            self.recorder.record(EventKind.KERNEL_START, self.coordinate, self.name)
        try:
            self.function()
            self._check_end()
        except RuleBroken as broken:
            if isinstance(broken.subject, SimBlock):
                broken.secondary += broken.subject.history()
            raise rule_fault(self, broken) from None
        except TTLError:
            raise
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
        return self._acquire(self.buffers[buffer.index].producer)

    def wait(self, buffer: DataflowBuffer) -> SimBlock:
        return self._acquire(self.buffers[buffer.index].consumer)

    def _acquire(self, end: BufferEnd) -> SimBlock:
        frame = _getframe(3)  # the user's: above are DataflowBuffer.reserve() and ours
        place = (frame.f_code, frame.f_lasti)
        if end.kernel is not self:
            if end.kernel is not None:
                raise _second_kernel(end)
            end.kernel, end.place = self, place
        if self.exiting:
            self.refuse_nested_exit()
        self.simulation.perhaps_switch(self)
        while not end.credits:
            self._sleep(end)
        end.credits -= 1
        slots = end.buffer.slots
        index = end.acquired % len(slots)
        array = slots[index]
        if type(end) is ProducerEnd:
            array.fill(NAN)  # so that data nobody wrote shows
        block = end.blocks[index] = SimBlock(end, self, array, place)
        end.acquired += 1
        if self.recorder is not None:
            self.record_buffer(end.acquire_kind, end)
        return block

    def _sleep(self, end: BufferEnd) -> None:
        """Let others run until the other end releases a block."""
        if self.recorder is not None:
            self.record_buffer(EventKind.KERNEL_BLOCKED, end)
        end.sleeper = self
        self.waiting_for = end
        self.simulation.switch_to_next()
        self.waiting_for = None
        if self.recorder is not None:
            self.record_buffer(EventKind.KERNEL_RESUMED, end)

    def refuse_nested_exit(self) -> None:
        """A `with` inside the `with` of an older block of its buffer has ended before it."""
        block = self.exiting[0]
        raise fault_at(self, block.out_of_order(), block.exit_place)

    # Copies

    def slice(self, tensor: Any, index: Any) -> TensorSlice:
        if self.is_compute:
            raise wrong_kind("a tensor slice", self.kind)
        return slice_tensor(tensor, index)

    def copy(self, source: Any, destination: Any) -> SimTransfer:
        if self.is_compute:
            raise wrong_kind("ttl.copy()", self.kind)
        frame = _getframe(2)
        transfer = start_copy(self, source, destination, (frame.f_code, frame.f_lasti))
        self.transfers[transfer] = None
        if self.recorder is not None:
            self.record_copy(EventKind.COPY_START, transfer)
        return transfer

    # Expressions

    def fill(self, value: float, shape: Shape | None) -> SimExpression:
        if not self.is_compute:
            raise wrong_kind("ttl.math.fill()", self.kind)
        type_ = self.simulation.types.fill(value, shape)
        extent = () if type_.shape is None else element_shape(type_.shape)
        return SimExpression(type_, round_to(np.full(extent, value, np.float32), self.dest))

    def apply(self, op: BlockOp, *operands: Any) -> SimExpression:
        if not self.is_compute:
            raise wrong_kind(_spelling(op), self.kind)
        arrays = []
        for operand in operands:
            kind = type(operand)
            if kind is SimBlock:
                operand.life.step(READ, operand)
            elif kind is not SimExpression:
                raise _not_a_value(op, operand)
            arrays.append(operand.array)
        result_type = self.simulation.types.result(op, operands)
        rounded = round_to(op.meaning(*arrays), self.dest)
        if rounded.base is not None:  # a slot or a view of one, which changes with its block
            rounded = rounded.copy()
        return SimExpression(result_type, rounded)

    def store(self, value: Any, block: SimBlock) -> None:
        if not self.is_compute:
            raise wrong_kind("Block.store()", self.kind)
        stored = self._stored_value(value)
        if value.type is not block.type:
            store_type(value.type, block.type)
        block.life.step(STORE, block)
        dtype = block.type.dtype
        assert dtype is not None
        block.array[...] = stored if dtype is self.dest else round_to(stored, dtype)

    def _stored_value(self, value: Any) -> Array:
        if type(value) is SimExpression:
            return value.array
        if type(value) is not SimBlock:
            raise _not_a_value(None, value)
        value.life.step(READ, value)
        return round_to(value.array, self.dest)  # without an operator, it passes DST all the same

    # The end

    def _check_end(self) -> None:
        if self.exiting:
            self.refuse_nested_exit()
        if self.transfers:
            self._refuse_open_transfers()
        for buffer in self.buffers:
            for end in (buffer.producer, buffer.consumer):
                if end.kernel is self and end.acquired != end.released:
                    self._refuse_held_block(end)

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
        subject = self.simulation.tensor_names.get(id(transfer.part.tensor), "")
        self._record(kind, subject, declared.block_tiles * declared.dtype.tile_bytes)

    def _record(self, kind: EventKind, subject: str, value: int) -> None:
        assert self.recorder is not None
        frame = user_frame(_getframe(2))
        line = frame.f_lineno if frame is not None else 0
        self.recorder.record(kind, self.coordinate, self.name, subject, value, line)


def _spelling(op: BlockOp) -> str:
    return f"operator {op.operator}" if op.operator else f"ttl.math.{op.name}()"


def _not_a_value(op: BlockOp | None, value: object) -> RuleBroken:
    user = "Block.store()" if op is None else _spelling(op)
    return RuleBroken(
        codes.WRONG_ARGUMENT,
        f"{user} works on blocks and block expressions, not on {value!r}",
        helps=(f"write ttl.math.fill({value})",) if isinstance(value, (int, float)) else (),
    )


def _second_kernel(end: BufferEnd) -> RuleBroken:
    assert end.kernel is not None and end.place is not None
    name, first = end.buffer.declared.name, end.kernel.name
    return RuleBroken(
        codes.BUFFER_ENDS,
        f"two kernels call {end.action}() on `{name}`; the other one is `{first}`",
        helps=("give each of the kernels a dataflow buffer of its own",),
        secondary=labels([(end.place, f"`{first}` calls {end.action}() here")]),
    )
