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
from itertools import count
from json import dumps
from typing import Any, NamedTuple
from zlib import crc32

from .events import Event, EventKind, Node


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


def perfetto_lines(events: Iterable[Event]) -> Iterator[str]:
    """One object a line, tracks named before their first event."""
    named: set[object] = set()
    under_way: dict[tuple[object, ...], deque[int]] = defaultdict(deque)
    for event in events:
        process, thread = _process(event.node), crc32(event.kernel.encode())
        if (process, thread) not in named:
            yield from _names(event, process, thread, named)
        form = FORMS[event.kind]
        more = ""
        if form.phase in (ASYNC_BEGIN, ASYNC_END):  # rule TRANSFER
            queue = under_way[event.node, event.kernel, form.words, event.subject]
            if form.phase == ASYNC_BEGIN:
                queue.append(event.tick)
            number = event.tick if form.phase == ASYNC_BEGIN or not queue else queue.popleft()
            more = f', "id": {number}'
        elif form.phase == INSTANT:
            more = ', "s": "t"'
        yield _line(event, form, process, thread, more)
        if event.kind in BUFFER_KINDS:  # rule COUNTER
            yield (
                f'{{"ph": "C", "pid": {process}, "ts": {event.tick}, '
                f'"name": {dumps(event.subject)}, "args": {{"blocks": {event.value}}}}}'
            )


def _line(event: Event, form: _Form, process: int, thread: int, more: str) -> str:
    name = dumps(form.words + (event.subject or event.kernel))
    args = (
        f'"kind": "{event.kind.value}", "subject": {dumps(event.subject)}, '
        f'"value": {event.value}, "line": {event.line}'
    )
    return (
        f'{{"ph": "{form.phase}", "pid": {process}, "tid": {thread}, "ts": {event.tick}, '
        f'"name": {name}, "cat": "{event.kind.category}"{more}, "args": {{{args}}}}}'
    )


def _process(node: Node) -> int:
    """A number for a node that does not depend on what else is in the trace."""
    if not node:
        return OPERATIONS
    return 1 + sum(entry * 1000**place for place, entry in zip(node, count(), strict=False))


def _names(event: Event, process: int, thread: int, named: set[object]) -> Iterator[str]:
    if process not in named:
        named.add(process)
        name = f"node {event.node}" if event.node else "operations"
        args = {"name": name, "node": list(event.node)}
        yield dumps({"ph": "M", "pid": process, "name": "process_name", "args": args})
        sort = {"sort_index": process}
        yield dumps({"ph": "M", "pid": process, "name": "process_sort_index", "args": sort})
    named.add((process, thread))
    args = {"name": event.kernel or "operations", "kernel": event.kernel}
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
