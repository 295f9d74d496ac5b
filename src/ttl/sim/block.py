"""Blocks and block expressions of the simulator."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Final

import numpy as np

from ttl.diagnostics import Label, RuleBroken, codes
from ttl.language.block import Block, BlockExpression
from ttl.semantics import block_math
from ttl.semantics.block_protocol import (
    ACQUIRED_HERE,
    COPY_FROM,
    COPY_FROM_DONE,
    EVENTS,
    POP,
    PUSH,
    REPLACEABLE,
    TOLERATED,
    Event,
    State,
    illegal,
    popped_for_older,
    wrong_release,
)
from ttl.semantics.current_engine import running_engine
from ttl.semantics.dtypes import Array, float32, round_into
from ttl.semantics.memory import empty
from ttl.semantics.padding import Held, Sizes
from ttl.semantics.types import BlockType

from .buffer import BufferEnd
from .place import (
    CALLER,
    DIRECT_CALLER,
    Place,
    is_of_other_with,
    labels,
    place_at,
    with_statement,
)
from .recording import record_buffer

if TYPE_CHECKING:
    from .kernel import KernelRun
    from .transfers import SimTransfer


MUST_READ: Final = State.MUST_READ
RELEASED: Final = State.RELEASED
widened: Final = block_math.widened
filled: Final = block_math.filled
_ZERO: Final = np.zeros((), np.float32)  # made once: blocks are read often


class SimExpression(BlockExpression):
    """A computed value, rounded to the DST format. Its array broadcasts to the block's extent."""

    __slots__ = ("array", "kernel", "padding", "sizes")

    padding: Held  # set by sim/padding.py, if at all
    sizes: Sizes  # likewise

    def __init__(self, type: BlockType, array: Array, kernel: KernelRun):
        self.type = type
        self.array = array
        self.kernel = kernel  # a value is in the registers of one core

    def __repr__(self) -> str:
        from .showing import expression_text

        return expression_text(self)


class SimBlock(Block):
    """One slot of a dataflow buffer, from acquire to release: every acquire makes one."""

    # All attributes are slots and are set here: a class's default takes longer to read.
    __slots__ = (
        "carried",
        "end",
        "entered",
        "exit_place",
        "is_bare",
        "kernel",
        "place",
        "running_sum",
        "sequence",
        "slot",
        "slot_words",
        "state",
        "transfer",
        "transfers_reading",
        "values",
    )

    place: Place

    def __init__(self, end: BufferEnd, kernel: KernelRun, index: int, state: State):
        self.type = end.buffer.block_type
        self.state = state
        self.sequence = end.acquired  # how many were acquired before
        self.end = end
        self.kernel = kernel
        # For code that writes the whole block; other code uses `array` and `words`.
        self.slot = end.buffer.slots[index]
        self.slot_words = end.buffer.words[index]
        self.is_bare = False  # reserved, not written yet, and not poisoned either
        self.values: Array | None = None  # in the carrier type, once an expression has asked
        self.carried: Array | None = None  # memory for `values`
        self.transfers_reading = 0
        self.entered = False
        self.exit_place: Place | None = None  # where a `with` ended that waits for older blocks
        self.running_sum: Array | None = None  # sum of `+=`, not rounded yet
        self.transfer: SimTransfer | None = None  # the latest, for messages

    @property
    def array(self) -> Array:
        """The elements in the block's type."""
        if self.is_bare:
            self._poison()
        return self.slot

    @property
    def words(self) -> Array:
        """The elements as unsigned integers."""
        if self.is_bare:
            self._poison()
        return self.slot_words

    def _poison(self) -> None:
        """Fill the block, so that unwritten data shows.

        reserve() does not do this: the program usually writes the whole block next.
        """
        self.is_bare = False
        poison = self.end.buffer.poison
        if not filled(self.slot_words, poison):
            self.slot_words.fill(poison)

    def step(self, event: int, place: Place | None = None) -> None:
        """Take the event of this number; raise RuleBroken if it is illegal in the block's state. A
        warning is reported at `place`, or where the block was acquired.

        Besides this, only filled() and the release of a younger block change a block's state.
        """
        following = self.state.row[event]
        if following is None:
            following = self.find_tolerated_state(EVENTS[event], place)
        if event == COPY_FROM:
            self.transfers_reading += 1
        elif event == COPY_FROM_DONE:
            self.transfers_reading -= 1
            if self.transfers_reading:
                return
        self.state = following

    def note_written(self) -> None:
        """Note that another node, or the tensor that holds the block, has written it."""
        self.state = MUST_READ

    def find_tolerated_state(self, event: Event, place: Place | None = None) -> State:
        """Return the next state and warn; raise RuleBroken if the chip misbehaves."""
        following = TOLERATED.get((self.state, event))
        broken = illegal(self.state, event, self)
        if following is None:
            raise broken
        if event is Event.POP and self.end.buffer.shard is not None:
            return following  # the tensor keeps the popped data
        if place is not None:
            self.kernel.simulation.tolerate(self.kernel, broken.with_labels(*self.history()), place)
        else:
            self.kernel.simulation.tolerate(self.kernel, broken, self.place, ACQUIRED_HERE)
        return following

    def __str__(self) -> str:
        return self.end.buffer.block_name

    def __repr__(self) -> str:
        from .showing import block_text

        return block_text(self)

    def _repr_html_(self) -> str:
        """Show the block in notebooks."""
        from .showing import block_html

        return block_html(self)

    @property
    def name(self) -> str:
        return self.end.buffer.declared.name

    def history(self) -> tuple[Label, ...]:
        """Return labels for the events that led to the block's state."""
        history = [(self.place, ACQUIRED_HERE)]
        if self.exit_place is not None and self._is_owed:
            history.append((self.exit_place, "a younger one is popped here, and this is gone"))
        transfers = (State.READ_BY_TRANSFERS, State.WRITTEN_BY_TRANSFER)
        if self.transfer is not None and self.state in transfers:
            history.append((self.transfer.place, "the transfer started here"))
        return labels(history)

    def carry(self) -> Array:
        """Return the elements in the type that expressions compute in.

        Always a view, so that callers notice when an operation returns its operand and not a new
        array. After release, another block of the buffer on any node reuses the memory, which is
        then usually still in the processor's cache.
        """
        if self.values is not None:
            return self.values
        buffer = self.end.buffer
        if buffer.is_carrier:
            self.values = self.array
        else:
            carried = self.carried
            if carried is None:
                spare, shape = buffer.spare, self.slot.shape
                carried = spare.pop() if spare else empty(shape, buffer.held.carrier)
                self.carried = carried
            is_wide = buffer.is_float and self.kernel.dest is float32
            array = self.array
            if not widened(array, carried, is_wide):
                carried[...] = array
                if is_wide:  # 16 bits come there without a -0
                    np.add(carried, _ZERO, carried)
            self.values = carried
        return self.values

    def take(self, source: SimBlock) -> None:
        """Copy the elements of another block, at the end of a transfer."""
        self.slot_words[...] = source.words
        self.is_bare = False
        self.values = None
        if self.kernel.simulation.padding is not None:
            self.kernel.simulation.padding.note_copy(source, self)

    def store(self, value: object, *, acc: bool = False) -> None:
        running = running_engine(None)
        if running is not self.kernel:
            raise self.wrong_user(running)
        if acc:
            self.kernel.accumulate(self, value)
        else:
            self.kernel.store(value, self)

    def settle(self) -> None:
        """Round the sum of `+=`, before another operation reads the block or it is pushed."""
        if self.running_sum is not None:
            buffer = self.end.buffer
            round_into(self.slot, self.running_sum, buffer.held, buffer.way)
            self.is_bare = False
            self.running_sum = self.values = None

    def push(self) -> None:
        self._release_by_hand(PUSH)

    def pop(self) -> None:
        self._release_by_hand(POP)

    def __enter__(self) -> SimBlock:
        running = running_engine(None)
        if running is not self.kernel:
            raise self.wrong_user(running)
        self.entered = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Release the block. Python ends items youngest first, the language oldest first."""
        if error is not None:
            return
        end = self.end
        if self.state is RELEASED:  # the program has released it itself
            if end.owed and self._is_owed:
                self._release_owed()
            return
        self.step(PUSH if end.is_producer else POP)
        kernel = self.kernel
        self.entered = False
        if self.sequence != end.released:
            self._release_after_older()
        elif kernel.exiting:
            self._release_with_younger()
        elif kernel.recorder is not None:
            self._release_slot(place_at(DIRECT_CALLER))
        elif self.running_sum is not None:
            self._release_slot()
        else:  # same as _release_slot(), inlined: by far the most common end of a block
            if self.carried is not None:
                end.buffer.spare.append(self.carried)
                self.carried = self.values = None
            end.released += 1
            other = end.other
            other.credits += 1
            if other.sleeper is not None:
                kernel.wake(other.sleeper)
                other.sleeper = None

    def release(self) -> None:
        self._release_by_hand(self.end.release_event)

    def _release_by_hand(self, event: int) -> None:
        end = self.end
        running = running_engine(None)
        if running is not self.kernel:
            raise self.wrong_user(running)
        if event != end.release_event:
            raise self._wrong_release()
        if end.owed and self._is_owed:
            self._release_owed()
            return
        self.step(event)
        if self.sequence != end.released:
            self._pop_for_older(place_at(CALLER))
            return
        if self.kernel.exiting:
            self.kernel.refuse_nested_exit()
        self._release_slot()

    def _release_slot(self, place: Place | None = None) -> None:
        if self.running_sum is not None:
            self.settle()
        end = self.end
        if self.carried is not None:
            end.buffer.spare.append(self.carried)
            self.carried = self.values = None
        end.released += 1
        other = end.other
        other.credits += 1
        if other.sleeper is not None:
            self.kernel.wake(other.sleeper)
            other.sleeper = None
        if self.kernel.recorder is not None:
            record_buffer(self.kernel, end.release_kind, end, place)

    def _release_after_older(self) -> None:
        """Allow it if the older blocks are items of the same `with`: their ends check the order."""
        place: Place = place_at(CALLER)  # the user's, whose `with` called __exit__
        oldest = self.end.oldest_held
        if oldest is None or not oldest.entered or is_of_other_with(place, oldest.place):
            self._pop_for_older(place)
            return
        self.exit_place = place
        self.kernel.exiting += (self,)

    def _pop_for_older(self, place: Place) -> None:
        """Pop the oldest block, as any pop on the chip does; older blocks are lost from now on."""
        end = self.end
        older = [
            block
            for block in end.blocks
            if block is not None
            and end.released <= block.sequence < self.sequence
            and block.state is not RELEASED
        ]
        if end.is_producer or not all(block.state in REPLACEABLE for block in older):
            raise self.out_of_order()
        for block in sorted(older, key=lambda block: block.sequence):
            broken = popped_for_older(end.buffer.declared.name, block.history())
            block.state, block.exit_place = RELEASED, place
            end.owed += (block,)
            self.kernel.simulation.tolerate(self.kernel, broken, place)
        self._release_slot(place)

    @property
    def _is_owed(self) -> bool:
        return any([block is self for block in self.end.owed])

    def _release_owed(self) -> None:
        """Release a block that the chip popped before; now a younger one is freed."""
        self.end.owed = tuple([block for block in self.end.owed if block is not self])
        self.exit_place = None
        self._release_slot()

    def _release_with_younger(self) -> None:
        """Release the oldest block, then the younger blocks of the same `with` and buffer."""
        place: Place = place_at(CALLER)
        statement = with_statement(place[0], place[1])
        exiting = [block for block in self.kernel.exiting if block.end is self.end]
        for block in exiting:
            assert block.exit_place is not None
            if with_statement(*block.exit_place) != statement:
                raise block.left_too_early()
        self._release_slot()
        for block in sorted(exiting, key=lambda block: block.sequence):
            if block.sequence == self.end.released:
                self.kernel.exiting = tuple([b for b in self.kernel.exiting if b is not block])
                block.exit_place = None
                block._release_slot()

    def _wrong_release(self) -> RuleBroken:
        is_push = self.end.other.release_call == "push"
        return wrong_release(self.end.buffer.block_name, is_push, self.history())

    def left_too_early(self) -> RuleBroken:
        """Report that the block's `with` is inside the `with` of an older block of its buffer."""
        return self.out_of_order().with_place(self.exit_place)

    def wrong_user(self, other: KernelRun | None) -> RuleBroken:
        """Report that a kernel other than the owner uses the block, through a shared variable."""
        name, owner = self.end.buffer.declared.name, self.kernel.name
        user = "the program" if other is None else f"`{other.name}`"
        return RuleBroken(
            codes.BUFFER_ENDS,
            f"{user} uses a block of `{name}` that `{owner}` acquired",
            helps=(f"hand it over through `{name}`: push() in one kernel, wait() in the other",),
            secondary=labels([(self.place, f"`{owner}` acquired it here")]),
        )

    def out_of_order(self) -> RuleBroken:
        oldest = self.end.oldest_held
        name = self.end.buffer.declared.name
        places = [(oldest.place, "the older block was acquired here")] if oldest is not None else []
        return RuleBroken(
            codes.RELEASE_ORDER,
            f"a block of `{name}` is released while an older one is held",
            helps=("release the blocks of a dataflow buffer in the order they were acquired",),
            secondary=labels([*places, (self.place, "this block was acquired here")]),
        )
