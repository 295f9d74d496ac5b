"""What pyttlang is busy with: said by whoever works, shown by a command that has a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

Counted = Callable[[], tuple[int, int]]  # how much is done, and of how much


@dataclass(frozen=True, slots=True, eq=False)  # threads take theirs out of one list
class Activity:
    text: str
    counted: Counted | None = None
    since: float = field(default_factory=time.monotonic)


class Busy:
    """While an activity is under way. Written out, because every launch is one."""

    __slots__ = ("_activity", "_under_way")

    def __init__(self, under_way: list[Activity], activity: Activity):
        self._under_way, self._activity = under_way, activity

    def __enter__(self) -> None:
        self._under_way.append(self._activity)

    def __exit__(self, *raised: object) -> None:
        self._under_way.remove(self._activity)


class Activities:
    """Those of this process, the innermost last; another thread looks at them now and then."""

    def __init__(self) -> None:
        self._under_way: list[Activity] = []

    def busy(self, text: str, counted: Counted | None = None) -> Busy:
        """Inside it, that is under way."""
        return Busy(self._under_way, Activity(text, counted))

    def longest(self, seconds: float) -> Activity | None:
        """The innermost that has lasted so long."""
        limit = time.monotonic() - seconds
        return next((each for each in reversed(self._under_way) if each.since <= limit), None)


ACTIVITIES = Activities()
busy = ACTIVITIES.busy
