"""Changes to the process that last while any simulation runs, in whichever thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class WhileRunning:
    """Calls `change` when the first run enters and what that returns when the last one leaves."""

    def __init__(self, change: Callable[[], Callable[[], None]]):
        self._change = change
        self._lock = threading.Lock()
        self._runs = 0
        self._undo: Callable[[], None] | None = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if not self._runs:
                self._undo = self._change()
            self._runs += 1
        try:
            yield
        finally:
            with self._lock:
                self._runs -= 1
                if not self._runs and self._undo is not None:
                    self._undo()
