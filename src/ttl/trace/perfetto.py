"""Events as Perfetto loads them: the Trace Event Format.

rule TRACK     a node is a process, a kernel on it a thread; operations have a process of their own
rule SLICE     kernels, operations, signposts and times of being blocked are slices of their track
rule TRANSFER  copies are asynchronous slices: they go on while their kernel does something else
rule COUNTER   how full a dataflow buffer is on a node is a counter
rule TICK      a tick is a microsecond: the axis shows the order of the events, not their duration
rule WHOLE     `args` has what else the event says, so that the trace can be read back
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from json import dumps
from typing import Any, NamedTuple
from zlib import crc32

from .events import Event, EventKind, Node, Part


class _Form(NamedTuple):
    """How a kind is shown: the phase of the Trace Event Format, and words before the subject."""

    phase: str
    words: str = ""


SLICE_BEGIN, SLICE_END, ASYNC_BEGIN, ASYNC_END, INSTANT = "B", "E", "b", "e", "i"
FORMS = {
    EventKind.OPERATION_START: _Form(SLICE_BEGIN),
    EventKind.OPERATION_END: _Form(SLICE_END),
    EventKind.KERNEL_START: _Form(SLICE_BEGIN),
    EventKind.KERNEL_END: _Form(SLICE_END),
    EventKind.KERNEL_BLOCKED: _Form(SLICE_BEGIN, "blocked on "),
    EventKind.KERNEL_RESUMED: _Form(SLICE_END, "blocked on "),
    EventKind.SIGNPOST_BEGIN: _Form(SLICE_BEGIN),
    EventKind.SIGNPOST_END: _Form(SLICE_END),
    EventKind.BUFFER_RESERVE: _Form(INSTANT, "reserve "),
    EventKind.BUFFER_PUSH: _Form(INSTANT, "push "),
    EventKind.BUFFER_WAIT: _Form(INSTANT, "wait "),
    EventKind.BUFFER_POP: _Form(INSTANT, "pop "),
    EventKind.COPY_START: _Form(ASYNC_BEGIN, "copy "),
    EventKind.COPY_END: _Form(ASYNC_END, "copy "),
    EventKind.PIPE_SEND: _Form(ASYNC_BEGIN, "send "),
    EventKind.PIPE_SEND_END: _Form(ASYNC_END, "send "),
    EventKind.PIPE_RECEIVE: _Form(ASYNC_BEGIN, "receive "),
    EventKind.PIPE_RECEIVE_END: _Form(ASYNC_END, "receive "),
    EventKind.SEMAPHORE_SET: _Form(INSTANT, "set "),
    EventKind.SEMAPHORE_INC: _Form(INSTANT, "inc "),
    EventKind.SEMAPHORE_WAIT: _Form(INSTANT, "passed "),
}
BUFFER_KINDS = (EventKind.BUFFER_PUSH, EventKind.BUFFER_POP)
OPERATIONS = 0  # the process of the operations


class _Track(NamedTuple):
    """What is the same for all events of one kind, kernel and subject."""

    phase: str
    head: str
    args: str
    counter: str  # the head of the counter that changes with it, if one does
    under_way: deque[int]  # transfers, by the tick of their start


def perfetto_lines(events: Iterable[Event]) -> Iterator[str]:
    """One object a line, tracks named before their first event."""
    named: set[object] = set()
    tracks: dict[tuple[object, ...], _Track] = {}
    under_way: dict[tuple[object, ...], deque[int]] = defaultdict(deque)
    for tick, kind, node, kernel, subject, value, line, part in events:
        track = tracks.get((kind, node, kernel, subject))
        if track is None:
            yield from _names(node, kernel, named)
            track = tracks[kind, node, kernel, subject] = _track(
                kind, node, kernel, subject, under_way
            )
        phase, head, args, counter, transfers = track
        more = ""
        if phase == ASYNC_BEGIN:  # rule TRANSFER
            transfers.append(tick)
            more = f', "id": {tick}'
        elif phase == ASYNC_END:
            more = f', "id": {transfers.popleft() if transfers else tick}'
        where = "" if part is None else part_text(part)
        yield f'{head}, "ts": {tick}{more}, {args}, "value": {value}, "line": {line}{where}}}}}'
        if counter:  # rule COUNTER
            yield f'{counter}, "ts": {tick}, "args": {{"blocks": {value}}}}}'


def part_text(part: Part) -> str:
    starts, sizes = part
    if len(starts) == 2:  # by far the most common
        return f', "part": [[{starts[0]}, {starts[1]}], [{sizes[0]}, {sizes[1]}]]'
    return f', "part": [{list(starts)}, {list(sizes)}]'


def _track(
    kind: EventKind,
    node: Node,
    kernel: str,
    subject: str,
    under_way: dict[tuple[object, ...], deque[int]],
) -> _Track:
    form, process = FORMS[kind], _process(node)
    head = (
        f'{{"ph": "{form.phase}", "pid": {process}, "tid": {_thread(kernel)}, '
        f'"name": {dumps(form.words + (subject or kernel))}, "cat": "{kind.category}"'
    )
    if form.phase == INSTANT:
        head += ', "s": "t"'
    args = f'"args": {{"kind": "{kind.value}", "subject": {dumps(subject)}'
    counter = f'{{"ph": "C", "pid": {process}, "name": {dumps(subject)}'
    queue = under_way[node, kernel, form.words, subject]
    return _Track(form.phase, head, args, counter if kind in BUFFER_KINDS else "", queue)


def _thread(kernel: str) -> int:
    return crc32(kernel.encode()) & 0x7FFFFFFF


def _process(node: Node) -> int:
    """A number for a node that does not depend on what else is in the trace."""
    if not node:
        return OPERATIONS
    number = 1
    for place, entry in enumerate(node):
        number += entry * int(1000**place)
    return number


def _names(node: Node, kernel: str, named: set[object]) -> Iterator[str]:
    process, thread = _process(node), _thread(kernel)
    if process not in named:
        named.add(process)
        name = f"node {node}" if node else "operations"
        args: dict[str, object] = {"name": name, "node": list(node)}
        yield dumps({"ph": "M", "pid": process, "name": "process_name", "args": args})
        sort = {"sort_index": process}
        yield dumps({"ph": "M", "pid": process, "name": "process_sort_index", "args": sort})
    if (process, thread) not in named:
        named.add((process, thread))
        args = {"name": kernel or "operations", "kernel": kernel}
        yield dumps({"ph": "M", "pid": process, "tid": thread, "name": "thread_name", "args": args})


def records_of(trace: Any) -> list[dict[str, Any]]:
    """The events back from what perfetto_lines() made of them; ValueError if it did not."""
    nodes: dict[int, list[int]] = {}
    kernels: dict[tuple[int, int], str] = {}
    records = []
    try:
        for entry in trace["traceEvents"]:
            args = entry["args"]
            if entry["name"] == "process_name":
                nodes[entry["pid"]] = args["node"]
            elif entry["name"] == "thread_name":
                kernels[entry["pid"], entry["tid"]] = args["kernel"]
            elif "kind" in args:
                process = entry["pid"]
                where = {"node": nodes[process], "kernel": kernels[process, entry["tid"]]}
                records.append({"tick": entry["ts"], **where, **args})
    except (KeyError, TypeError):
        raise ValueError("it is a trace of something else") from None
    return records
