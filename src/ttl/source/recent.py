"""A store that has a bound and may be used by several threads."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from ttl.loading.forks import ForkLock

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """The values of at most `most` keys: those that were asked for last."""

    def __init__(self, most: int):
        self._most = most
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._lock = ForkLock()

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of a key, made the first time.

        Without a lock, since making one value may need others: two threads may make the same one,
        and both get that of the first.
        """
        with self._lock():
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        return self._keep(key, make())[0]

    def is_first(self, key: Hashable, value: Value) -> bool:
        """Is the key not known yet? Then it is from now on."""
        return self._keep(key, value)[1]

    def _keep(self, key: Hashable, value: Value) -> tuple[Value, bool]:
        with self._lock():
            is_new = key not in self._values
            value = self._values.setdefault(key, value)
            self._values.move_to_end(key)
            while len(self._values) > self._most:
                self._values.popitem(last=False)
            return value, is_new

    def clear(self) -> None:
        with self._lock():
            self._values.clear()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._values

    def __len__(self) -> int:
        return len(self._values)
