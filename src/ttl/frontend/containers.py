"""Lists, dicts and sets that a kernel makes: they exist while it is translated.

Their items may be run-time values; how many there are and where is known. A kernel may change what
it made itself, where the change happens once on each path: a loop that changes a list made before
it is unrolled. Every change can be taken back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Container = list[Any] | dict[Any, Any] | set[Any]
Contents = dict[int, list[Any]]  # of containers, by id

CHANGING: dict[type, tuple[str, ...]] = {
    list: ("append", "clear", "extend", "insert", "pop", "remove", "reverse"),
    dict: ("clear", "pop", "popitem", "setdefault", "update"),
    set: ("add", "clear", "discard", "pop", "remove", "update"),
}


class Containers:
    """The containers that a kernel made, and how they were before each change."""

    def __init__(self) -> None:
        # The containers are kept too: an id is one object's only as long as it lives.
        self._made: dict[int, tuple[Container, Any]] = {}
        self._changes: list[tuple[Container, Container | None]] = []  # None: it was made

    def made(self, value: Any, loop: Any) -> Any:
        """`value` is new, made inside `loop`."""
        self._changes.append((value, None))
        self._made[id(value)] = (value, loop)
        return value

    def with_id(self, key: int) -> Container:
        return self._made[key][0]

    def loop_of(self, value: Any, default: Any) -> Any:
        """The loop inside which it was made; the default if it is not a kernel's own."""
        return self._made.get(id(value), (value, default))[1]

    def change(self, value: Container, how: Callable[[], Any]) -> Any:
        before = value.copy()
        result = how()
        self._changes.append((value, before))
        return result

    def mark(self) -> int:
        return len(self._changes)

    def contents(self, mark: int) -> Contents:
        """What the containers hold that were changed since, and made before."""
        new = self._new(mark)
        return {id(v): _plain(v) for v, _ in self._changes[mark:] if id(v) not in new}

    def _new(self, mark: int) -> set[int]:
        """Made since."""
        return {id(value) for value, before in self._changes[mark:] if before is None}

    def contents_at(self, key: int, mark: int) -> list[Any]:
        """What a container held then."""
        value = self._made[key][0]
        changes = (before for each, before in self._changes[mark:] if each is value)
        return _plain(next((before for before in changes if before is not None), value))

    def replace(self, key: int, items: list[Any]) -> None:
        value = self._made[key][0]
        self.change(value, lambda: _restore(value, items))

    def go_back(self, mark: int) -> None:
        """Those made since stay as they are: a branch that was translated may end with them."""
        new = self._new(mark)
        while len(self._changes) > mark:
            value, before = self._changes.pop()
            if before is not None and id(value) not in new:
                _restore(value, before)


def _plain(value: Any) -> list[Any]:
    return [list(item) for item in value.items()] if isinstance(value, dict) else list(value)


def _restore(value: Any, before: Any) -> None:
    if isinstance(value, list):
        value[:] = before
        return
    value.clear()
    value.update(before)
