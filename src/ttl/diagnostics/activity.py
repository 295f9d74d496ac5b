"""Progress: working code reports its activity, and a command with a terminal shows it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

Counted = Callable[[], tuple[int, int]]  # returns (done, all)


@dataclass(frozen=True, slots=True, eq=False)  # threads remove theirs from one list, by identity
class Activity:
    text: str
    counted: Counted | None = None
    since: float = field(default_factory=time.monotonic)


class Busy:
    """Context manager of an activity; a class, because it is faster and every launch needs one."""

    __slots__ = ("_activity", "_under_way")

    def __init__(self, under_way: list[Activity], activity: Activity):
        self._under_way, self._activity = under_way, activity

    def __enter__(self) -> None:
        self._under_way.append(self._activity)

    def __exit__(self, *raised: object) -> None:
        self._under_way.remove(self._activity)


class Activities:
    """The activities of this process, the innermost last; another thread reads them."""

    def __init__(self) -> None:
        self._under_way: list[Activity] = []

    def busy(self, text: str, counted: Counted | None = None) -> Busy:
        """Return a context manager for an activity."""
        return Busy(self._under_way, Activity(text, counted))

    def longest(self, seconds: float) -> Activity | None:
        """Return the innermost activity that has lasted this many seconds."""
        limit = time.monotonic() - seconds
        return next((each for each in reversed(self._under_way) if each.since <= limit), None)


ACTIVITIES = Activities()
busy = ACTIVITIES.busy
