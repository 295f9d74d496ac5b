"""The events of a run: kept as the runtime has them, and made text by it (runtime/texts.cpp)."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_uint32, c_uint64, c_void_p
from typing import BinaryIO

import numpy as np

from ttl.artifact import CompiledOperation, Kernel
from ttl.trace import EventKind
from ttl.trace.events import Recorder
from ttl.trace.texts import Template, TextForm, TextSlot, channel

from .marks import BY_MARK, Subjects
from .program import EventStruct, ReportStruct, nodes_of, words

_EVENT_KINDS = tuple(EventKind)  # TtlEventKind (runtime/program.h) begins in this order
_COPY_EVENTS = (EventKind.COPY_START, EventKind.COPY_END)
_SIGNPOST_EVENTS = (EventKind.SIGNPOST_BEGIN, EventKind.SIGNPOST_END)
_KERNEL_EVENTS = (EventKind.KERNEL_START, EventKind.KERNEL_END)
_NUMBER_BYTES = 20  # of the largest
_NO_MEMORY = 2**32 - 1


class PieceStruct(ctypes.Structure):
    _fields_ = [("text", c_char_p), *words("bytes slot")]


class TemplateStruct(ctypes.Structure):
    _fields_ = words("first_piece piece_count bytes transfer channel has_value")


class TextsStruct(ctypes.Structure):
    _fields_ = [
        ("templates", POINTER(TemplateStruct)),
        ("pieces", POINTER(PieceStruct)),
        ("tracks", POINTER(PieceStruct)),
        ("processes", POINTER(PieceStruct)),
        *words("kernel_count track_count channel_count track_bytes"),
    ]


def declare(library: ctypes.CDLL) -> None:
    words = POINTER(c_uint32)
    library.ttl_keep_events.argtypes = [POINTER(EventStruct), c_uint32, c_uint32]
    library.ttl_keep_events.restype = c_uint32
    library.ttl_number_events.argtypes = [c_void_p, c_uint32, words, words]
    library.ttl_number_events.restype = c_uint32
    library.ttl_event_texts.argtypes = [
        POINTER(TextsStruct),
        c_void_p,
        words,
        c_uint32,
        c_uint64,
        POINTER(c_uint64),
    ]
    library.ttl_event_texts.restype = c_void_p
    library.ttl_free_text.argtypes = [c_void_p]
    library.ttl_free_text.restype = None


def check_events(compiled: CompiledOperation, report: ReportStruct) -> None:
    """ValueError for events of what there is not, which kernels may have made up."""
    limits = {"kind": _EVENT_KINDS, "node": nodes_of(compiled), "kernel": compiled.kernels}
    events = np.ctypeslib.as_array(report.events, (report.event_count,))
    for field, there in limits.items():
        if (events[field] >= len(there)).any():
            raise ValueError(field)


def record_events(
    runtime: ctypes.CDLL, compiled: CompiledOperation, report: ReportStruct, recorder: Recorder
) -> None:
    """Add the events of a run."""
    kinds = sum(1 << n for n, kind in enumerate(_EVENT_KINDS) if kind in recorder.kinds)
    count = runtime.ttl_keep_events(report.events, report.event_count, kinds)
    if not count:
        return
    for node in nodes_of(compiled):
        for kernel in compiled.kernels:
            recorder.track(node, kernel.name)
    data = ctypes.string_at(report.events, count * ctypes.sizeof(EventStruct))
    recorder.bulks.append((len(recorder.raw), CompiledEvents(runtime, compiled, data)))


class CompiledEvents:
    """The events of one run; the first of each template tells what the others say too."""

    def __init__(self, runtime: ctypes.CDLL, compiled: CompiledOperation, data: bytes):
        self.runtime, self.compiled, self.data = runtime, compiled, data
        self.nodes = nodes_of(compiled)
        self.subjects = Subjects(compiled)
        self.count = len(data) // ctypes.sizeof(EventStruct)
        self.numbers = (c_uint32 * self.count)()
        firsts = (c_uint32 * self.count)()
        found = runtime.ttl_number_events(data, self.count, self.numbers, firsts)
        if found == _NO_MEMORY:
            raise MemoryError("the host has no memory left for the trace")
        size = ctypes.sizeof(EventStruct)
        starts = (position * size for position in firsts[:found])
        self.said = [self._said(EventStruct.from_buffer_copy(data, start)) for start in starts]

    def __len__(self) -> int:
        return self.count

    def _said(self, event: EventStruct) -> tuple[EventKind, str, str, int]:
        """Kind, kernel, subject and line."""
        kind, kernel = _EVENT_KINDS[event.kind], self.compiled.kernels[event.kernel]
        if event.subject & BY_MARK:
            mark = kernel.marks[event.line]
            subject = self.subjects.of(mark, event.subject, self.nodes[event.node])
            return kind, kernel.name, subject, mark.line
        span = kernel.span_of(event.line) if event.line else None
        subject = _subject(self.compiled, kernel, kind, event)
        return kind, kernel.name, subject, span.line if span is not None else 0

    def write(self, out: BinaryIO, form: TextForm, first_tick: int) -> None:
        texts, kept = self._texts(form)
        size = c_uint64()
        text = self.runtime.ttl_event_texts(
            ctypes.byref(texts), self.data, self.numbers, self.count, first_tick, ctypes.byref(size)
        )
        del kept
        if not text:
            raise MemoryError("the host has no memory left for the trace")
        try:
            out.write((ctypes.c_char * size.value).from_address(text))
        finally:
            self.runtime.ttl_free_text(text)

    def _texts(self, form: TextForm) -> tuple[TextsStruct, object]:
        """Make the texts that the runtime joins, and the objects that must live as long."""
        channels: dict[tuple[str, str], int] = {}
        known: dict[object, TemplateStruct] = {}
        pieces: list[PieceStruct] = []
        for said in self.said:
            if said in known:  # on several nodes
                continue
            kind, kernel, subject, line = said
            template = form.template(kind, kernel, subject, line)
            number = channels.setdefault((channel(kind), subject), len(channels))
            known[said] = _template(template, kind, len(pieces), number)
            pieces += [_piece(text, slot) for text, slot in template.pieces]
        structs = [known[said] for said in self.said]
        kernels = [kernel.name for kernel in self.compiled.kernels]
        tracks = [_piece(form.track(node, name)) for node in self.nodes for name in kernels]
        processes = [_piece(form.process(node)) for node in self.nodes]
        longest = max(piece.bytes for piece in (*tracks, *processes))
        kept = (
            (TemplateStruct * len(structs))(*structs),
            (PieceStruct * len(pieces))(*pieces),
            (PieceStruct * len(tracks))(*tracks),
            (PieceStruct * len(processes))(*processes),
        )
        most = max(struct.piece_count for struct in structs)
        texts = TextsStruct(*kept, len(kernels), len(tracks), len(channels), most * longest)
        return texts, (kept, pieces, tracks, processes)


def _piece(text: str, slot: TextSlot = TextSlot.NOTHING) -> PieceStruct:
    data = text.encode()
    return PieceStruct(data, len(data), slot)


def _template(template: Template, kind: EventKind, first: int, number: int) -> TemplateStruct:
    size = sum(len(text.encode()) + _NUMBER_BYTES for text, _ in template.pieces)
    count, has_value = len(template.pieces), kind not in _SIGNPOST_EVENTS
    return TemplateStruct(first, count, size, template.transfer, number, has_value)


def _subject(
    compiled: CompiledOperation, kernel: Kernel, kind: EventKind, event: EventStruct
) -> str:
    if kind in _KERNEL_EVENTS:
        return ""
    if kind in _SIGNPOST_EVENTS:  # the program's name; of a kernel from elsewhere, the profiler's
        zone = ctypes.string_at(event.value).decode(errors="replace")
        return dict(kernel.signposts).get(zone, zone)
    if kind in _COPY_EVENTS:
        return compiled.operands[int(event.subject)].name
    return compiled.buffers[int(event.subject)].name
