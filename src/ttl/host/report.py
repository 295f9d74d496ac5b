"""What the runtime reports, in the user's terms: diagnostics and trace events."""

from __future__ import annotations

import ctypes
import re

from ttl.artifact import CompiledOperation, Kernel, ThreadKind
from ttl.diagnostics import Diagnostic, InternalError, KernelFault, Label, Span, UsageError, codes
from ttl.diagnostics.deadlock import Waiting, WaitingForNodes, deadlock_diagnostic
from ttl.diagnostics.multicasts import receiver_not_ready
from ttl.diagnostics.waiting import AnyWaiting
from ttl.trace import EventKind, Recorder
from ttl.trace.events import RawEvent

from .buffer_ends import consumers, producers
from .leftovers import leftover_diagnostics
from .marks import BY_MARK, subject_of
from .program import (
    AWAIT_AT_LEAST,
    AWAIT_SPACE,
    DEADLOCK,
    FAULT,
    NO_MEMORY,
    NOBODY,
    NOT_RESERVED,
    SPINNING,
    UNKNOWN_FORMAT,
    EventStruct,
    ReportStruct,
    WaitingStruct,
    nodes_of,
)
from .translation_unit import kernel_file

_COMPILER_ERROR = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: ", re.M)
# The order of TtlEventKind in runtime/program.h.
_EVENT_KINDS = (
    EventKind.KERNEL_START,
    EventKind.KERNEL_END,
    EventKind.KERNEL_BLOCKED,
    EventKind.KERNEL_RESUMED,
    EventKind.BUFFER_RESERVE,
    EventKind.BUFFER_PUSH,
    EventKind.BUFFER_WAIT,
    EventKind.BUFFER_POP,
    EventKind.COPY_START,
    EventKind.COPY_END,
    EventKind.SIGNPOST_BEGIN,
    EventKind.SIGNPOST_END,
    EventKind.PIPE_SEND,
    EventKind.PIPE_SEND_END,
    EventKind.PIPE_RECEIVE,
    EventKind.PIPE_RECEIVE_END,
    EventKind.SEMAPHORE_SET,
    EventKind.SEMAPHORE_INC,
    EventKind.SEMAPHORE_WAIT,
)
_COPY_EVENTS = (EventKind.COPY_START, EventKind.COPY_END)
_SIGNPOST_EVENTS = (EventKind.SIGNPOST_BEGIN, EventKind.SIGNPOST_END)
_KERNEL_EVENTS = (EventKind.KERNEL_START, EventKind.KERNEL_END)


def raise_if_failed(compiled: CompiledOperation, report: ReportStruct) -> None:
    """KernelFault for what the kernels did; UsageError for what the runtime does not know."""
    if report.status == FAULT:
        raise KernelFault(_fault(compiled, report))
    if report.status == DEADLOCK:
        raise KernelFault(_deadlock(compiled, report))
    if report.status == SPINNING:
        raise KernelFault(_spinning(compiled, report))
    if report.status == NOT_RESERVED:
        raise KernelFault(_not_reserved(compiled, report))
    if report.status == NO_MEMORY:
        raise MemoryError("the host executor could not get memory for the nodes")
    if report.status == UNKNOWN_FORMAT:
        data_format = report.message.decode()
        message = f"the host executor does not run {data_format} buffers yet"
        raise UsageError(Diagnostic(codes.NOT_COMPILED_YET, message))
    if report.leftover_count:
        raise KernelFault(*leftover_diagnostics(compiled, report))


def record_events(compiled: CompiledOperation, report: ReportStruct, recorder: Recorder) -> None:
    """Adds the run's events to the recorder; most of them are the same as one before."""
    size = ctypes.sizeof(EventStruct)
    data = ctypes.string_at(report.events, report.event_count * size) if report.event_count else b""
    nodes = nodes_of(compiled)
    known: dict[bytes, RawEvent] = {}
    for start in range(0, len(data), size):
        words = data[start : start + size]
        event = known.get(words)
        if event is None:
            event = known[words] = _event(compiled, EventStruct.from_buffer_copy(words), nodes)
        if event[0] in recorder.kinds:
            recorder.raw.append(event)


def _event(
    compiled: CompiledOperation, event: EventStruct, nodes: list[tuple[int, int]]
) -> RawEvent:
    kind, kernel, value = _EVENT_KINDS[event.kind], compiled.kernels[event.kernel], event.value
    node = nodes[event.node]
    if event.subject & BY_MARK:
        mark = kernel.marks[event.line]
        subject = subject_of(compiled, mark, event.subject, node)
        return kind, node, kernel.name, subject, value, None, mark.line, None
    if kind in _SIGNPOST_EVENTS:
        subject, value = _signpost(kernel, value), 0
    else:
        subject = _subject(compiled, kind, event.subject)
    span = kernel.span_of(event.line) if event.line else None
    line = span.line if span is not None else 0
    return kind, node, kernel.name, subject, value, None, line, None


def compiler_failure(compiled: CompiledOperation, output: str) -> InternalError:
    """The compiler's first complaint, with the Python line that the C++ came from."""
    match = _COMPILER_ERROR.search(output)
    kernels = {kernel_file(kernel): kernel for kernel in compiled.kernels}
    kernel = kernels.get(match["file"]) if match else None
    rejected = f"the kernels of `{compiled.name}`" if kernel is not None else "the host runtime"
    label, notes = None, tuple(output.strip().splitlines()[:12])
    if match is not None and kernel is not None:
        label = _label(kernel, int(match["line"]), "compiled from here")
        notes = (_cpp_note(kernel, int(match["line"])), *notes)
    return InternalError(
        Diagnostic(
            codes.COMPILER_FAILED,
            f"the C++ compiler rejected {rejected}",
            primary=label,
            notes=notes,
            facts={"compiler_output": output},
        )
    )


def _signpost(kernel: Kernel, address: int) -> str:
    """The program's name; of a kernel from elsewhere, the profiler's."""
    zone = ctypes.string_at(address).decode(errors="replace")
    return dict(kernel.signposts).get(zone, zone)


def _subject(compiled: CompiledOperation, kind: EventKind, subject: int) -> str:
    if kind in _KERNEL_EVENTS:
        return ""
    if kind in _COPY_EVENTS:
        return compiled.operands[subject].name
    return compiled.buffers[subject].name


def _fault(compiled: CompiledOperation, report: ReportStruct) -> Diagnostic:
    kernel = compiled.kernels[report.kernel]
    node = nodes_of(compiled)[report.node]
    text = report.message.decode(errors="replace")
    return Diagnostic(
        codes.EXECUTOR_FAULT,
        f"kernel `{kernel.name}` on node {node}: {text}",
        primary=_label(kernel, report.line, "while running this"),
        notes=(_cpp_note(kernel, report.line),) if report.line else (),
        facts={"kernel": kernel.name, "node": node, "cpp_line": report.line, "fault": text},
    )


def _not_reserved(compiled: CompiledOperation, report: ReportStruct) -> Diagnostic:
    nodes, kernel = nodes_of(compiled), compiled.kernels[report.kernel]
    buffer, receiver = (int(word) for word in report.message.split())
    name = compiled.buffers[buffer].name
    broken = receiver_not_ready(name, nodes[report.node], nodes[receiver])
    return broken.at(_span(kernel, report.line))


def _spinning(compiled: CompiledOperation, report: ReportStruct) -> Diagnostic:
    kernel = compiled.kernels[report.kernel]
    node = nodes_of(compiled)[report.node]
    steps = int(report.message)
    how_long = f"for {steps} steps without" if steps else "on without a call, and without"
    return Diagnostic(
        codes.SPINNING,
        f"kernel `{kernel.name}` on node {node} ran {how_long} letting others run",
        primary=_label(kernel, report.line, "still running here"),
        notes=(_cpp_note(kernel, report.line),) if report.line else (),
        helps=("wait with wait() or reserve(); a loop cannot see others change",),
        facts={"kernel": kernel.name, "node": node, "cpp_line": report.line, "steps": steps},
    )


def _label(kernel: Kernel, cpp_line: int, text: str) -> Label | None:
    span = _span(kernel, cpp_line)
    return Label(span, text) if span is not None else None


def _span(kernel: Kernel, cpp_line: int) -> Span | None:
    return kernel.span_of(cpp_line) if cpp_line else None


def _cpp_note(kernel: Kernel, cpp_line: int) -> str:
    lines = kernel.cpp_source.splitlines()
    text = lines[cpp_line - 1].strip() if 0 < cpp_line <= len(lines) else ""
    return f"in the generated C++, {kernel_file(kernel)}:{cpp_line}: {text}"


def _deadlock(compiled: CompiledOperation, report: ReportStruct) -> Diagnostic:
    waiting = [_waiting(compiled, entry) for entry in report.waiting[: report.waiting_count]]
    return deadlock_diagnostic(
        waiting,
        producers=producers(compiled),
        consumers=consumers(compiled),
        node_count=len(nodes_of(compiled)),
    )


def _waiting(compiled: CompiledOperation, entry: WaitingStruct) -> AnyWaiting:
    if entry.awaits > AWAIT_SPACE:
        return _waiting_for_word(compiled, entry)
    kernel = compiled.kernels[entry.kernel]
    buffer = compiled.buffers[entry.subject]
    return Waiting(
        kernel=kernel.name,
        node=nodes_of(compiled)[entry.node],
        span=_span(kernel, entry.line),
        action="reserve" if entry.awaits == AWAIT_SPACE else "wait",
        buffer=buffer.name,
        buffer_span=buffer.span,
        filled=entry.value // buffer.block_tiles,
        capacity=buffer.block_count,
    )


def _waiting_for_word(compiled: CompiledOperation, entry: WaitingStruct) -> WaitingForNodes:
    kernel = compiled.kernels[entry.kernel]
    nodes = nodes_of(compiled)
    name = "a word in L1" if entry.subject == NOBODY else f"semaphore {entry.subject}"
    wanted = f"at least {entry.wanted}" if entry.awaits == AWAIT_AT_LEAST else str(entry.wanted)
    movers = [item.name for item in compiled.kernels if item.thread is not ThreadKind.COMPUTE]
    here = (kernel.name, nodes[entry.node])
    others = [(mover, node) for node in nodes for mover in movers if (mover, node) != here]
    return WaitingForNodes(
        kernel=kernel.name,
        node=nodes[entry.node],
        span=_span(kernel, entry.line),
        action="semaphore",
        subject=name,
        need=f"{name} to be {wanted} (it is {entry.value})",
        partners=(tuple(others),),
    )
