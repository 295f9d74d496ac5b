"""A store that has a bound and may be used by several threads."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import RLock
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """The values of at most `most` keys: those that were asked for last."""

    def __init__(self, most: int):
        self._most = most
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._lock = RLock()  # a value may be made while another one is

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of a key, made the first time. One is made at a time."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
            value = self._values[key] = make()
            while len(self._values) > self._most:
                self._values.popitem(last=False)
            return value

    def is_first(self, key: Hashable, value: Value) -> bool:
        """Is the key not known yet? Then it is from now on."""
        with self._lock:
            is_known = key in self._values
            self.get(key, lambda: value)
            return not is_known

    def clear(self) -> None:
        with self._lock:
            self._values.clear()

    def __len__(self) -> int:
        return len(self._values)
