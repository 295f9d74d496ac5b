"""Record a kernel's events for the recorder of a traced run and for the clocks of races.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ttl.trace import EventKind
from ttl.trace.events import Part

from .place import Place, calling_place

if TYPE_CHECKING:
    from .buffer import BufferEnd
    from .kernel import KernelRun
    from .transfers import SimTransfer

# Enum members are slow to look up.
COPY_START: Final = EventKind.COPY_START
COPY_END: Final = EventKind.COPY_END


def record_buffer(
    kernel: KernelRun, kind: EventKind, end: BufferEnd, place: Place | None = None
) -> None:
    """Record an event at a buffer's end; `place` is the program's call, if known."""
    if kernel.races is not None:
        kernel.races.at_buffer(kernel, kind, end)
    if kernel.records_all or kind in kernel.kinds:
        buffer = end.buffer
        filled = buffer.producer.released - buffer.consumer.released
        code, at = number_place(kernel, place)
        append(kernel.raw, kind, kernel.track, buffer.name, filled, code, at, None)


def record_copy(kernel: KernelRun, kind: EventKind, transfer: SimTransfer) -> None:
    if kernel.races is not None:
        transfer.tell(kernel.races, is_end=kind is transfer.end_kind)
    size = transfer.block.end.buffer.block_bytes
    if kind is COPY_START:
        record(kernel, kind, transfer.subject, size, transfer.tensor_part, transfer.place)
    elif kind is not COPY_END and kind is transfer.start_kind:
        record(kernel, kind, transfer.subject, size, None, transfer.place)
    else:
        record(kernel, kind, transfer.subject, size, None, kernel.waiting_place)
        kernel.waiting_place = None


def record(
    kernel: KernelRun,
    kind: EventKind,
    subject: str,
    value: int,
    part: Part | None = None,
    place: Place | None = None,
) -> None:
    if kernel.records_all or kind in kernel.kinds:
        code, at = number_place(kernel, place)
        append(kernel.raw, kind, kernel.track, subject, value, code, at, part)


def append(
    raw: list[object],
    kind: EventKind,
    track: object,
    subject: str,
    value: object,
    code: object,
    at: object,
    part: Part | None,
) -> None:
    """Append one event to Recorder.raw, without making a tuple."""
    raw.append(kind)
    raw.append(track)
    raw.append(subject)
    raw.append(value)
    raw.append(code)
    raw.append(at)
    raw.append(part)


def number_place(kernel: KernelRun, place: Place | None) -> tuple[object, object]:
    """Return the program's code, as a number, and the instruction of the call at `place`.

    Both are objects: compiled code would convert ints back to objects for the event.
    """
    if place is not None and place[0] is kernel.code:
        return kernel.code_number, place[1]
    assert kernel.recorder is not None
    number, at = calling_place(kernel.recorder, place)
    if place is not None and number == id(place[0]):
        kernel.code, kernel.code_number = place[0], number
    return number, at
