"""Events in Perfetto's Trace Event Format.

rule TRACK     a node is a process, a kernel on it a thread; operations have their own process
rule SLICE     kernels, operations, signposts and blocked times are slices of their track
rule TRANSFER  copies are asynchronous slices: they continue while their kernel does other work
rule COUNTER   a counter shows how full a dataflow buffer is on a node
rule TICK      a tick is a microsecond: the axis shows the order of the events, not their duration;
               stamped.py has estimated times instead
rule WHOLE     `args` has all other fields of the event, so that reader.py can read the trace back
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from json import dumps
from zlib import crc32

from .events import EventKind, Node
from .texts import Piece, Template, TextSlot, TransferText

SLICE_BEGIN, SLICE_END, ASYNC_BEGIN, ASYNC_END, INSTANT = "B", "E", "b", "e", "i"
_SHOWN = {
    EventKind.OPERATION_START: (SLICE_BEGIN, ""),
    EventKind.OPERATION_END: (SLICE_END, ""),
    EventKind.KERNEL_START: (SLICE_BEGIN, ""),
    EventKind.KERNEL_END: (SLICE_END, ""),
    EventKind.KERNEL_BLOCKED: (SLICE_BEGIN, "blocked on "),
    EventKind.KERNEL_RESUMED: (SLICE_END, "blocked on "),
    EventKind.SIGNPOST_BEGIN: (SLICE_BEGIN, ""),
    EventKind.SIGNPOST_END: (SLICE_END, ""),
    EventKind.BUFFER_RESERVE: (INSTANT, "reserve "),
    EventKind.BUFFER_PUSH: (INSTANT, "push "),
    EventKind.BUFFER_WAIT: (INSTANT, "wait "),
    EventKind.BUFFER_POP: (INSTANT, "pop "),
    EventKind.COPY_START: (ASYNC_BEGIN, "copy "),
    EventKind.COPY_END: (ASYNC_END, "copy "),
    EventKind.PIPE_SEND: (ASYNC_BEGIN, "send "),
    EventKind.PIPE_SEND_END: (ASYNC_END, "send "),
    EventKind.PIPE_RECEIVE: (ASYNC_BEGIN, "receive "),
    EventKind.PIPE_RECEIVE_END: (ASYNC_END, "receive "),
    EventKind.SEMAPHORE_SET: (INSTANT, "set "),
    EventKind.SEMAPHORE_INC: (INSTANT, "inc "),
    EventKind.SEMAPHORE_WAIT: (INSTANT, "passed "),
}
BUFFER_KINDS = (EventKind.BUFFER_PUSH, EventKind.BUFFER_POP)
OPERATIONS = 0  # the process of the operations
TRANSFERS = {ASYNC_BEGIN: TransferText.BEGIN, ASYNC_END: TransferText.END}


class PerfettoForm:
    """One object per line; names of tracks come before their first event."""

    separator = ",\n"

    def template(self, kind: EventKind, kernel: str, subject: str, line: int) -> Template:
        phase, words = _SHOWN[kind]
        scope = ', "s": "t"' if phase == INSTANT else ""
        name = dumps(words + (subject or kernel))
        pieces: list[Piece] = [
            (f'{{"ph": "{phase}", "pid": ', TextSlot.TRACK),
            (f', "name": {name}, "cat": "{kind.category}"{scope}, "ts": ', TextSlot.TICK),
        ]
        transfer = TRANSFERS.get(phase, TransferText.NONE)
        if transfer is not TransferText.NONE:  # rule TRANSFER
            pieces.append((', "id": ', TextSlot.TRANSFER))
        said = f'"kind": "{kind.text}", "subject": {dumps(subject)}'
        pieces.append((f', "args": {{{said}, "value": ', TextSlot.VALUE))
        is_start = transfer is TransferText.BEGIN
        pieces.append((f', "line": {line}', TextSlot.PART if is_start else TextSlot.NOTHING))
        pieces.append(("}}" + self.separator, TextSlot.NOTHING))
        if kind in BUFFER_KINDS:
            pieces += self._counter(dumps(subject))
        return Template(transfer, tuple(pieces))

    def _counter(self, name: str) -> list[Piece]:  # rule COUNTER
        return [
            ('{"ph": "C", "pid": ', TextSlot.PROCESS),
            (f', "name": {name}, "ts": ', TextSlot.TICK),
            (', "args": {"blocks": ', TextSlot.VALUE),
            ("}}" + self.separator, TextSlot.NOTHING),
        ]

    def track(self, node: Node, kernel: str) -> str:
        return f'{process_of(node)}, "tid": {thread_of(kernel)}'

    def process(self, node: Node) -> str:
        return str(process_of(node))

    def names(self, tracks: Iterable[tuple[Node, str]]) -> Iterator[str]:
        named: set[Node] = set()
        for node, kernel in tracks:
            yield from _names(node, kernel, named)


def shown(kind: EventKind) -> tuple[str, str]:
    """Return the phase of an event, and the words before its subject."""
    return _SHOWN[kind]


def thread_of(kernel: str) -> int:
    return crc32(kernel.encode()) & 0x7FFFFFFF


def process_of(node: Node) -> int:
    """Return a node's number, which is equal in all traces."""
    if not node:
        return OPERATIONS
    number = 1
    for place, entry in enumerate(node):
        number += entry * int(1000**place)
    return number


def _names(node: Node, kernel: str, named: set[Node]) -> Iterator[str]:
    """Yield the name of a track, and of its process if `named` does not have it."""
    process, thread = process_of(node), thread_of(kernel)
    if node not in named:
        named.add(node)
        name = f"node {node}" if node else "operations"
        head = f'{{"ph": "M", "pid": {process}, "name": '
        yield f'{head}"process_name", "args": {{"name": "{name}", "node": {list(node)}}}}}'
        yield f'{head}"process_sort_index", "args": {{"sort_index": {process}}}}}'
    head = f'{{"ph": "M", "pid": {process}, "tid": {thread}, "name": "thread_name", "args": '
    yield f'{head}{{"name": "{kernel or "operations"}", "kernel": "{kernel}"}}}}'
