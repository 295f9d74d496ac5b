"""What was read once, by what it depends on."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Read = TypeVar("Read")
MOST_KEPT = 1024


class Memo(Generic[Read]):
    """No lru_cache: with the function itself as a key, the tensors and buffers of its operation
    would be kept alive.
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, Read] = {}

    def get(self, key: Hashable, read: Callable[[], Read]) -> Read:
        found = self._kept.get(key)
        if found is None:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            found = self._kept[key] = read()
        return found

    def clear(self) -> None:
        self._kept.clear()
