"""Logs that tt-metal appends to while a program runs."""

from __future__ import annotations

import time
from pathlib import Path

SETTLED_SECONDS = 0.05  # without a new line
LONGEST_SECONDS = 2.0


class GrowingLog:
    """Gives each line of a file once, when it is complete."""

    def __init__(self, file: Path):
        self.file = file
        self._position = 0

    def lines(self) -> list[str]:
        """Those that were completed since the last question."""
        try:
            with self.file.open("rb") as opened:
                opened.seek(self._position)
                data = opened.read()
        except OSError:  # nothing is written yet
            return []
        complete = data[: data.rfind(b"\n") + 1]
        self._position += len(complete)
        return complete.decode(errors="replace").splitlines()

    def settled_lines(self) -> list[str]:
        """The same, after a short while in which none has come: a server writes them."""
        found = self.lines()
        start = last = time.monotonic()
        while (now := time.monotonic()) - last < SETTLED_SECONDS and now - start < LONGEST_SECONDS:
            time.sleep(SETTLED_SECONDS / 5)
            if more := self.lines():
                found += more
                last = time.monotonic()
        return found
