"""Shows a line on the terminal for work of over two seconds; nothing without a terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from ttl.diagnostics.activity import ACTIVITIES, Activities, Activity

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

Streams = tuple[TextIO, TextIO]
PATIENCE_SECONDS = 2.0
LOOKS_EVERY_SECONDS = 0.25


@contextmanager
def show_progress(
    activities: Activities = ACTIVITIES, patience: float = PATIENCE_SECONDS
) -> Iterator[None]:
    if not sys.stderr.isatty():
        yield
        return
    over = threading.Event()
    # A command may redirect the streams while it runs a program.
    given = over, activities, patience, (sys.stdout, sys.stderr)
    watcher = threading.Thread(target=_watch, args=given, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        if watcher.is_alive():  # not in a forked child
            over.set()
            watcher.join()


def _watch(
    over: threading.Event, activities: Activities, patience: float, streams: Streams
) -> None:
    line: Line | None = None
    while not over.wait(min(LOOKS_EVERY_SECONDS, patience)):
        found = activities.longest(patience)
        if line is not None and line.activity is not found:
            line.remove()
            line = None
        if found is not None:
            line = line or Line(found, streams)
            line.update()
    if line is not None:
        line.remove()


class Line:
    """Line of one activity, below the program's output."""

    def __init__(self, activity: Activity, streams: Streams):
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns: list[Any] = [TextColumn("{task.description}")]
        if activity.counted is not None:
            columns += [BarColumn(), TextColumn("{task.completed} of {task.total}")]
            columns.append(TimeRemainingColumn(compact=True))
        self.activity = activity
        self._bar: Progress = Progress(
            *columns,
            console=Console(file=streams[1]),
            transient=True,
            redirect_stdout=sys.stdout is streams[0] and sys.stdout.isatty(),
            redirect_stderr=sys.stderr is streams[1],
        )
        self._task: TaskID = self._bar.add_task(activity.text, total=None)
        self._bar.start()

    def update(self) -> None:
        if self.activity.counted is not None:
            done, of = self.activity.counted()
            self._bar.update(self._task, completed=done, total=of)

    def remove(self) -> None:
        self._bar.stop()
