"""The life of a block: one transition table for all checks of it."""

from __future__ import annotations

from enum import Enum
from typing import ClassVar, Final

from ttl.diagnostics import Label, RuleBroken, codes


class State:
    """One of STATES; no Enum, because attributes of Enum members are slow, even if compiled."""

    MUST_WRITE: ClassVar[State]
    MUST_READ: ClassVar[State]
    READ_WRITE: ClassVar[State]
    READ_BY_TRANSFERS: ClassVar[State]
    WRITTEN_BY_TRANSFER: ClassVar[State]
    RELEASED: ClassVar[State]

    __slots__ = ("row", "value")

    def __init__(self, value: str):
        self.value = value  # its name in the language's table
        # The next state by event number; None if the event is illegal.
        self.row: list[State | None] = []


class Event(Enum):
    STORE = "stored into"
    ACCUMULATE = "added to"
    READ = "read by an expression"
    READ_ELEMENT = "read by ttl.raw_element_read()"
    WRITE_ELEMENT = "written by ttl.raw_element_write()"
    COPY_INTO = "written by a copy"
    COPY_INTO_DONE = "waited for as the destination of a copy"
    COPY_FROM = "read by a copy"
    COPY_FROM_DONE = "waited for as the source of a copy"
    PUSH = "pushed"
    POP = "popped"

    __hash__ = object.__hash__


# The simulator steps blocks by the million: an index is faster than a dict key.
EVENTS: Final = (
    Event.STORE,
    Event.ACCUMULATE,
    Event.READ,
    Event.READ_ELEMENT,
    Event.WRITE_ELEMENT,
    Event.COPY_INTO,
    Event.COPY_INTO_DONE,
    Event.COPY_FROM,
    Event.COPY_FROM_DONE,
    Event.PUSH,
    Event.POP,
)
STORE: Final = 0
ACCUMULATE: Final = 1
READ: Final = 2
READ_ELEMENT: Final = 3
WRITE_ELEMENT: Final = 4
COPY_INTO: Final = 5
COPY_INTO_DONE: Final = 6
COPY_FROM: Final = 7
COPY_FROM_DONE: Final = 8
PUSH: Final = 9
POP: Final = 10

MW: Final = State("MW")
MR: Final = State("MR")
RW: Final = State("RW")
ROR: Final = State("ROR")
NAW: Final = State("NAW")
OS: Final = State("OS")
STATES: Final = (MW, MR, RW, ROR, NAW, OS)
State.MUST_WRITE, State.MUST_READ, State.READ_WRITE = MW, MR, RW
State.READ_BY_TRANSFERS, State.WRITTEN_BY_TRANSFER, State.RELEASED = ROR, NAW, OS

# ACCUMULATE is `+=` on a reserved block; on a waited one it is a READ and a STORE.
# WRITE_ELEMENT may follow another write: it takes several of them to write a block.
# COPY_FROM_DONE leads to RW only when it ends the last of the transfers that read the block.
TRANSITIONS: dict[tuple[State, Event], State] = {
    (MW, Event.STORE): MR,
    (RW, Event.STORE): MR,
    (MW, Event.ACCUMULATE): MR,
    (MR, Event.ACCUMULATE): MR,
    (RW, Event.ACCUMULATE): MR,
    (MR, Event.READ): RW,
    (RW, Event.READ): RW,
    (MR, Event.READ_ELEMENT): RW,
    (RW, Event.READ_ELEMENT): RW,
    (MW, Event.WRITE_ELEMENT): MR,
    (MR, Event.WRITE_ELEMENT): MR,
    (RW, Event.WRITE_ELEMENT): MR,
    (MW, Event.COPY_INTO): NAW,
    (RW, Event.COPY_INTO): NAW,
    (NAW, Event.COPY_INTO_DONE): MR,
    (MR, Event.COPY_FROM): ROR,
    (RW, Event.COPY_FROM): ROR,
    (ROR, Event.COPY_FROM): ROR,
    (ROR, Event.COPY_FROM_DONE): RW,
    (MR, Event.PUSH): OS,
    (RW, Event.PUSH): OS,
    (RW, Event.POP): OS,
}

# The chip runs these correctly, so they are warnings.
TOLERATED: dict[tuple[State, Event], State] = {(MR, Event.POP): OS, (MR, Event.STORE): MR}

for _state in STATES:
    _state.row = [TRANSITIONS.get((_state, _event)) for _event in EVENTS]

ACQUIRED_HERE = "acquired here"
IN_WORDS = {
    MW: "must be written",
    MR: "must be read",
    RW: "may be read and written",
    ROR: "read by transfers",
    NAW: "written by a transfer",
    OS: "released",
}
REASONS = {
    MW: "nothing has been written to it since reserve()",
    MR: "its value has not been read yet",
    RW: "it may only be read, overwritten or released now",
    ROR: "a transfer that reads it has not been waited for",
    NAW: "the transfer that writes it has not been waited for",
    OS: "it was released",
}

HELPS = {
    (MW, Event.PUSH): "write the block before its release: store() into it, or ttl.copy() to it "
    "and wait",
    (MW, Event.READ): "store() into the block before reading it",
    (MR, Event.POP): "read the block before its release, or do not produce it",
    (MR, Event.STORE): "read the block before store() replaces its value, or do not write that",
    (MR, Event.COPY_INTO): "read the block first; to copy it to a tensor, write "
    "ttl.copy(block, tensor[row, column])",
    (NAW, Event.PUSH): "call wait() on the transfer before the block is released",
    (ROR, Event.POP): "call wait() on the transfer before the block is released",
    (OS, Event.PUSH): "push a block once: by push(), or by the end of its `with`",
    (OS, Event.POP): "pop a block once: by pop(), or by the end of its `with`",
}

# Used if HELPS has no entry.
HELPS_OF_STATES = {
    MW: "write the block first: store() into it, or ttl.copy() to it and wait",
    MR: "read the block first: in an expression, or by a copy that is waited for",
    ROR: "call wait() on the transfer first",
    NAW: "call wait() on the transfer first",
    OS: "use a block before its release, and acquire the next one with reserve() or wait()",
}


class Life:
    """The current state of one block."""

    __slots__ = ("state", "transfers_reading")

    def __init__(self, state: State):
        self.state = state
        self.transfers_reading = 0

    def step(self, event: Event, block: object) -> None:
        """Take `event`, or raise RuleBroken if it is illegal now; str(block) names the block."""
        following = TRANSITIONS.get((self.state, event))
        if following is None:
            raise illegal(self.state, event, block)
        if following is ROR:
            self.transfers_reading += 1
        elif self.state is ROR:
            self.transfers_reading -= 1
            if self.transfers_reading:
                return
        self.state = following


def illegal(state: State, event: Event, block: object) -> RuleBroken:
    """Describe an event that TRANSITIONS does not allow in this state."""
    if (state, event) in TOLERATED:
        return _unread(event, block)
    help_text = HELPS.get((state, event)) or HELPS_OF_STATES.get(state)
    return RuleBroken(
        codes.BLOCK_STATE,
        f"{block} cannot be {event.value} now: {REASONS[state]}",
        helps=(help_text,) if help_text else (),
        notes=(f"the block is in state {state.value}: {IN_WORDS[state]}",),
        subject=block,
        state=state.value,
        event=event.name,
    )


def _unread(event: Event, block: object) -> RuleBroken:
    is_pop = event is Event.POP
    return RuleBroken(
        codes.POPPED_UNREAD if is_pop else codes.OVERWRITTEN_UNREAD,
        f"{block} is {'popped' if is_pop else 'overwritten'}, and nothing has read it",
        helps=(HELPS[MR, event],),
        subject=block,
    )


def wrong_release(block: object, is_push: bool, secondary: tuple[Label, ...]) -> RuleBroken:
    """Describe a push of a waited block, or a pop of a reserved one."""
    action, given, right = ("wait", "push", "pop") if is_push else ("reserve", "pop", "push")
    return codes.BLOCK_STATE.broken(
        f"{block} was acquired by {action}() and cannot be released by {given}()",
        f"release it by {right}()",
        secondary=secondary,
    )


# States in which a waited block may be lost to the pop of a younger one: nothing uses it.
REPLACEABLE = (MR, RW)


def popped_for_older(buffer: str, secondary: tuple[Label, ...]) -> RuleBroken:
    return codes.POPPED_FOR_OLDER.broken(
        f"a block of `{buffer}` is popped while an older one is held, which is gone instead",
        "pop the blocks of a dataflow buffer in the order in which they were acquired",
        secondary=secondary,
    )


def nothing_held(buffer: str, is_push: bool) -> RuleBroken:
    return codes.BLOCK_STATE.broken(
        f"`{buffer}` has no block that could be {'pushed' if is_push else 'popped'} here",
        "release each block once, by push() after reserve(), pop() after wait()",
    )


def transfer_reused(
    was_waited_for: bool, is_harmless: bool, secondary: tuple[Label, ...] = ()
) -> RuleBroken:
    """Describe a second wait for a transfer, or one that is already in a group."""
    how = "was waited for already" if was_waited_for else "was added to a group"
    once = "wait once for each ttl.copy()"
    return RuleBroken(
        codes.TRANSFER_WAITED_AGAIN if is_harmless else codes.TRANSFER_REUSED,
        f"this transfer {how}",
        helps=(once if was_waited_for else "call wait_all() on the group, once",),
        secondary=secondary,
    )
