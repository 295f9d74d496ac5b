"""Logs that tt-metal appends to while a program runs."""

from __future__ import annotations

import time
from pathlib import Path

SETTLED_SECONDS = 0.05  # without a new line
LONGEST_SECONDS = 2.0


class GrowingLog:
    """Returns each line of a file once, when it is complete."""

    def __init__(self, file: Path):
        self.file = file
        self._position = 0

    def lines(self) -> list[str]:
        """Return the lines completed since the last call."""
        try:
            with self.file.open("rb") as opened:
                opened.seek(self._position)
                data = opened.read()
        except OSError:  # not written yet
            return []
        complete = data[: data.rfind(b"\n") + 1]
        self._position += len(complete)
        return complete.decode(errors="replace").splitlines()

    def settled_lines(self) -> list[str]:
        """Return new lines, after a short time without any: a server writes them."""
        found = self.lines()
        start = last = time.monotonic()
        while (now := time.monotonic()) - last < SETTLED_SECONDS and now - start < LONGEST_SECONDS:
            time.sleep(SETTLED_SECONDS / 5)
            if more := self.lines():
                found += more
                last = time.monotonic()
        return found
