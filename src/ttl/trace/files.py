"""Writes traces as JSON lines, or for Perfetto and chrome://tracing, by the file's suffix.

Either file is complete after every operation; the next operation appends to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from json import dumps
from pathlib import Path

from .events import EventKind, Node, Recorder
from .perfetto import PerfettoForm
from .texts import Template, TextSlot, TransferText, write_events

PERFETTO_SUFFIX = ".json"
# In both forms, but not in traces of 0.1. A later version of JSON lines names it in the first line.
TRACE_VERSION = 1
HEAD = (
    f'{{"displayTimeUnit": "ns", "otherData": {{"trace_version": {TRACE_VERSION}}}, '
    '"traceEvents": [\n'
)
TAIL = "\n]}\n"


def append_events(file: Path, recorder: Recorder, first_tick: int = 0) -> None:
    """Append an operation's events, or raise OSError and append none if the disk is full.

    Ticks continue from `first_tick`, where the previous operation stopped.
    """
    size = file.stat().st_size if file.exists() else 0
    try:
        _append(file, recorder, first_tick)
    except OSError:
        with suppress(OSError):
            _cut_off(file, size)
        raise


def _cut_off(file: Path, size: int) -> None:
    """Restore the file to its first `size` bytes."""
    is_ended = size and file.suffix == PERFETTO_SUFFIX
    with file.open("r+b") as out:
        out.truncate(size - len(TAIL) if is_ended else size)
        out.seek(0, 2)
        out.write(TAIL.encode() if is_ended else b"")


def _append(file: Path, recorder: Recorder, first_tick: int) -> None:
    if file.suffix != PERFETTO_SUFFIX:
        with file.open("ab") as out:
            write_events(out, recorder, JsonLines(), first_tick)
        return
    form = PerfettoForm()
    is_new = not file.exists() or not file.stat().st_size
    with file.open("wb" if is_new else "r+b") as out:
        if is_new:
            out.write(HEAD.encode())
        else:
            out.seek(-len(TAIL), 2)
            out.write(form.separator.encode())
        start = out.tell()
        write_events(out, recorder, form, first_tick)
        if not is_new or out.tell() > start:  # the last separator
            out.seek(-len(form.separator), 1)
        out.write(TAIL.encode())


class JsonLines:
    """One JSON object per line, with tick, kind, node, kernel, subject, value and line.

    The start of a copy also has its part of the tensor, if known.
    """

    separator = "\n"

    def template(self, kind: EventKind, kernel: str, subject: str, line: int) -> Template:
        pieces = (
            ('{"tick": ', TextSlot.TICK),
            (f', "kind": "{kind.text}", "node": ', TextSlot.PROCESS),
            (
                f', "kernel": {dumps(kernel)}, "subject": {dumps(subject)}, "value": ',
                TextSlot.VALUE,
            ),
            (
                f', "line": {line}',
                TextSlot.PART if kind is EventKind.COPY_START else TextSlot.NOTHING,
            ),
            ("}" + self.separator, TextSlot.NOTHING),
        )
        return Template(TransferText.NONE, pieces)

    def track(self, node: Node, kernel: str) -> str:
        return ""

    def process(self, node: Node) -> str:
        return dumps(node)

    def names(self, tracks: Iterable[tuple[Node, str]]) -> Iterator[str]:
        return iter(())
