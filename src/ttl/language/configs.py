"""Configurations of an operation: values for its compile-time names, one by one or as a space."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ttl.diagnostics import UsageError, codes
from ttl.diagnostics.span import Span

from .calls import refused

EXAMPLE = "write ttl.Config(BLOCK=2, block_count=3)"
MOST_CONFIGS = 100_000  # of one operation: more are a slip that would take too long


@dataclass(frozen=True, slots=True)
class Choice:
    """Several values for one name; `ttl.choice` and `ttl.powers_of_two` make it."""

    values: tuple[object, ...]


class Config(Mapping[str, Any]):
    """Values for compile-time names: `ttl.Config(BLOCK=2)` or `ttl.Config({"BLOCK": 2})`.

    A `ttl.choice(...)` as a value makes it a space: all combinations of its choices.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, object] | None = None, /, **more: object):
        given = {} if values is None else values
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
            raise wrong_space(f"ttl.Config({given!r}): no values by names", EXAMPLE)
        self._values = {**given, **more}
        if not self._values:
            raise wrong_space("ttl.Config() has no values", EXAMPLE)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"ttl.Config({self})"

    def __str__(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self._values.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self._typed() == other._typed()

    def __hash__(self) -> int:
        return hash(repr(self))

    def _typed(self) -> dict[str, tuple[type, object]]:
        """Return the values with their types: 1, 1.0 and True differ in a kernel."""
        return {name: (type(value), value) for name, value in self._values.items()}

    @property
    def size(self) -> int:
        """The number of configurations in the space."""
        size = 1
        for value in self._values.values():
            size *= len(value.values) if isinstance(value, Choice) else 1
        return size

    def each(self) -> Iterator[Config]:
        """Yield the configurations of the space, the last name changing fastest."""
        chosen = [
            value.values if isinstance(value, Choice) else (value,)
            for value in self._values.values()
        ]
        for values in itertools.product(*chosen):
            yield Config(dict(zip(self._values, values, strict=True)))


def choice(*values: object) -> Choice:
    """Choose one of these values, `ttl.choice(1, 2, 4)`, or of a list's or range's items."""
    if len(values) == 1 and isinstance(values[0], (list, range, set, frozenset)):
        values = tuple(values[0])
    if not values:
        raise wrong_space("ttl.choice() has no values", "write ttl.choice(1, 2, 4)")
    return Choice(values)


def powers_of_two(first: int, last: int) -> Choice:
    """Choose among 1, 2, 4, ... from `first` to `last`, inclusive."""
    numbers = all(isinstance(each, int) and each > 0 for each in (first, last))
    found = tuple(1 << n for n in range(last.bit_length()) if first <= 1 << n) if numbers else ()
    if not found or found[0] > last:
        what = f"ttl.powers_of_two({first!r}, {last!r}) has no values"
        raise wrong_space(what, "write ttl.powers_of_two(1, 8): 1, 2, 4 and 8")
    return Choice(found)


def configs_of(given: object) -> tuple[Config, ...]:
    """Return every configuration of a Config or a list of them, each once, in order."""
    listed = [given] if isinstance(given, Config) else given
    example = "write configs=[ttl.Config(BLOCK=2), ttl.Config(BLOCK=4)]"
    if not isinstance(listed, Iterable) or isinstance(listed, (str, bytes, Mapping)):
        raise wrong_space(f"configs={given!r} is no list of ttl.Config", example)
    spaces = list(listed)
    for each in spaces:
        if not isinstance(each, Config):
            raise wrong_space(f"{each!r} in configs is no ttl.Config", example)
        if set(each) != set(spaces[0]):
            names = ", ".join(sorted(set(each) ^ set(spaces[0])))
            what = f"not all configurations have the same names: {names}"
            raise wrong_space(what, "give every configuration a value for each name")
    if not spaces:
        raise wrong_space("configs has no configuration", example)
    count = sum(each.size for each in spaces)
    if count > MOST_CONFIGS:
        what = f"configs has {count} configurations, more than {MOST_CONFIGS}"
        raise wrong_space(what, "try fewer values at a time")
    return tuple(dict.fromkeys(config for each in spaces for config in each.each()))


def wrong_space(message: str, help_text: str, span: Span | None = None) -> UsageError:
    return refused(message, help_text, span, codes.TUNING_SPACE)
