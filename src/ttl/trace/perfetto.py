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

from .events import EventKind, Lines, Node, Part, RawEvent


class _Form(NamedTuple):
    """How a kind is shown: the phase of the Trace Event Format, and words before the subject."""

    phase: str
    words: str
    before: str  # the texts around the track, the name, the tick and the subject
    middle: str
    behind: str


def _form(kind: EventKind, phase: str, words: str = "") -> _Form:
    scope = ', "s": "t"' if phase == INSTANT else ""
    return _Form(
        phase,
        words,
        f'{{"ph": "{phase}", "pid": ',
        f', "cat": "{kind.category}"{scope}, "ts": ',
        f', "args": {{"kind": "{kind.value}", "subject": ',
    )


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
FORMS = {kind: _form(kind, *shown) for kind, shown in _SHOWN.items()}
BUFFER_KINDS = (EventKind.BUFFER_PUSH, EventKind.BUFFER_POP)
OPERATIONS = 0  # the process of the operations


class Quoted(dict[Any, str]):
    """Strings and tuples of numbers in JSON."""

    def __missing__(self, value: Any) -> str:
        self[value] = text = dumps(value)
        return text


class _Texts(NamedTuple):
    """Around the tick: what is the same for all events that say the same."""

    phase: str
    before: str
    behind: str
    counter: str  # the start of the counter that changes with it, if one does
    under_way: deque[int]  # transfers, by the tick of their start


def perfetto_lines(raw: Iterable[RawEvent], first_tick: int = 0) -> Iterator[str]:
    """One object a line, tracks named before their first event."""
    named: set[Node] = set()
    tracks: dict[tuple[Node, str], str] = {}
    texts: dict[tuple[object, ...], _Texts] = {}
    under_way: dict[tuple[object, ...], deque[int]] = defaultdict(deque)
    lines, quoted = Lines(), Quoted()
    for tick, (kind, node, kernel, subject, value, code, at, part) in enumerate(raw, first_tick):
        key = (kind, node, kernel, subject, value, id(code), at)
        text = texts.get(key)
        if text is None:
            track = tracks.get((node, kernel))
            if track is None:
                yield from _names(node, kernel, named)
                track = tracks[node, kernel] = f'{_process(node)}, "tid": {_thread(kernel)}'
            words = FORMS[kind].words
            line = lines.of(code, at)
            behind = f'{FORMS[kind].behind}{quoted[subject]}, "value": {value}, "line": {line}'
            text = texts[key] = _Texts(
                FORMS[kind].phase,
                f"{FORMS[kind].before}{track}, "
                f'"name": {quoted[words + (subject or kernel)]}{FORMS[kind].middle}',
                behind,
                _counter(node, quoted[subject]) if kind in BUFFER_KINDS else "",
                under_way[node, kernel, words, subject],
            )
        phase, before, behind, counter, transfers = text
        if phase == ASYNC_BEGIN:  # rule TRANSFER
            transfers.append(tick)
            where = "" if part is None else part_text(part)
            yield f'{before}{tick}, "id": {tick}{behind}{where}}}}}'
        elif phase == ASYNC_END:
            first = transfers.popleft() if transfers else tick
            yield f'{before}{tick}, "id": {first}{behind}}}}}'
        else:
            yield f"{before}{tick}{behind}}}}}"
        if counter:  # rule COUNTER
            yield f'{counter}{tick}, "args": {{"blocks": {value}}}}}'


def part_text(part: Part) -> str:
    starts, sizes = part
    if len(starts) == 2:  # by far the most common
        return f', "part": [[{starts[0]}, {starts[1]}], [{sizes[0]}, {sizes[1]}]]'
    return f', "part": [{list(starts)}, {list(sizes)}]'


def _counter(node: Node, name: str) -> str:
    return f'{{"ph": "C", "pid": {_process(node)}, "name": {name}, "ts": '


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


def _names(node: Node, kernel: str, named: set[Node]) -> Iterator[str]:
    """Of a track, and of its process if that is not named yet."""
    process, thread = _process(node), _thread(kernel)
    if node not in named:
        named.add(node)
        name = f"node {node}" if node else "operations"
        args: dict[str, object] = {"name": name, "node": list(node)}
        yield dumps({"ph": "M", "pid": process, "name": "process_name", "args": args})
        sort = {"sort_index": process}
        yield dumps({"ph": "M", "pid": process, "name": "process_sort_index", "args": sort})
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
