"""A bounded cache for several threads."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from ttl.loading.forks import ForkLock

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """The values of the `most` keys used last; evicted entries are rebuilt."""

    def __init__(self, most: int):
        self._most = most
        # Each with its stored key: comparing an equal key that is another object may take long.
        self._values: OrderedDict[Hashable, tuple[Hashable, Value]] = OrderedDict()
        self._lock = ForkLock()

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of a key; make it the first time.

        `make` runs without the lock, since making one value may need others: two threads may make
        the same value, and both get the first thread's.
        """
        with self._lock():
            if (known := self._values.get(key)) is not None:
                self._values.move_to_end(known[0])
                return known[1]
        return self._keep(key, make())[0]

    def is_first(self, key: Hashable, value: Value) -> bool:
        """Return True the first time for each key, and keep the value."""
        return self._keep(key, value)[1]

    def _keep(self, key: Hashable, value: Value) -> tuple[Value, bool]:
        with self._lock():
            made = key, value
            known = self._values.setdefault(key, made)
            self._values.move_to_end(known[0])
            while len(self._values) > self._most:
                self._values.popitem(last=False)
            return known[1], known is made

    def clear(self) -> None:
        with self._lock():
            self._values.clear()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._values

    def __len__(self) -> int:
        return len(self._values)
