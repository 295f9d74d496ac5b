"""What pyttl is busy with: said by whoever works, shown by a command that has a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

Counted = Callable[[], tuple[int, int]]  # how much is done, and of how much


@dataclass(frozen=True, slots=True)
class Activity:
    text: str
    counted: Counted | None = None
    since: float = field(default_factory=time.monotonic)


class Activities:
    """Those of this process, the innermost last; another thread looks at them now and then."""

    def __init__(self) -> None:
        self._under_way: list[Activity] = []

    @contextmanager
    def busy(self, text: str, counted: Counted | None = None) -> Iterator[None]:
        activity = Activity(text, counted)
        self._under_way.append(activity)
        try:
            yield
        finally:
            self._under_way.remove(activity)

    def longest(self, seconds: float) -> Activity | None:
        """The innermost that has lasted so long."""
        limit = time.monotonic() - seconds
        return next((each for each in reversed(self._under_way) if each.since <= limit), None)


ACTIVITIES = Activities()
busy = ACTIVITIES.busy
