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
        # With the key that is kept: to compare another one with it may take long.
        self._values: OrderedDict[Hashable, tuple[Hashable, Value]] = OrderedDict()
        self._lock = ForkLock()

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of a key, made the first time.

        Without a lock, since making one value may need others: two threads may make the same one,
        and both get that of the first.
        """
        with self._lock():
            if (known := self._values.get(key)) is not None:
                self._values.move_to_end(known[0])
                return known[1]
        return self._keep(key, make())[0]

    def is_first(self, key: Hashable, value: Value) -> bool:
        """Is the key not known yet? Then it is from now on."""
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
