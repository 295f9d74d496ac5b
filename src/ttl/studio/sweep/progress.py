"""Shows a sweep's progress on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(text: str, total: int, done: int) -> Iterator[Callable[[], None]]:
    """Show progress; call the yielded function after each job. Prints nothing to files or pipes."""
    if not sys.stderr.isatty() or done >= total:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
    # No painting thread: the process may be forked.
    bar = Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
    with bar:
        task = bar.add_task(text, total=total, completed=done)
        bar.refresh()

        def one_more() -> None:
            bar.advance(task)
            bar.refresh()

        yield one_more
