"""Untrusted JSON values with their paths, for messages.

The methods read a value as a type, or raise ValueError.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from typing import Any, TypeVar

from ttl.diagnostics import Span
from ttl.diagnostics.span import Expansion

from .operation import Coordinate

T = TypeVar("T")
Other = TypeVar("Other")
JsonObject = dict[str, Any]
WORD = 2**32


class MissingKey(ValueError):
    def __init__(self, path: str, key: str):
        super().__init__(f"{path + ': ' if path else ''}missing key '{key}'")
        self.key = key


def parse(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is not valid JSON: {error}") from None


class Part:
    def __init__(self, value: Any, path: str):
        self.value, self.path = value, path

    def wrong(self, problem: str) -> ValueError:
        return ValueError(f"{self.path} {problem}")

    # Parts of it

    def object(self) -> Part:
        if not isinstance(self.value, dict):
            raise self.wrong("is not an object")
        return self

    def get(self, key: str, read: Callable[[Part], T], default: T) -> T:
        """Read the value at a key, or return the default."""
        return read(self.member(key)) if key in self.object().value else default

    def member(self, key: str) -> Part:
        if key not in self.object().value:
            raise MissingKey(self.path, key)
        return Part(self.value[key], f"{self.path}.{key}" if self.path else key)

    def items(self) -> list[Part]:
        if not isinstance(self.value, list):
            raise self.wrong("is not an array")
        return [Part(item, f"{self.path}[{n}]") for n, item in enumerate(self.value)]

    def each(self, read: Callable[[Part], T]) -> tuple[T, ...]:
        return tuple(map(read, self.items()))

    def pair(self, first: Callable[[Part], T], second: Callable[[Part], Other]) -> tuple[T, Other]:
        items = self.items()
        if len(items) != 2:
            raise self.wrong("must have 2 elements")
        return first(items[0]), second(items[1])

    def pairs(
        self, first: Callable[[Part], T], second: Callable[[Part], Other]
    ) -> tuple[tuple[T, Other], ...]:
        return self.each(lambda entry: entry.pair(first, second))

    # What it is

    def integer(self) -> int:
        if type(self.value) is not int:
            raise self.wrong("is not an integer")
        return self.value

    def u32(self, most: int = WORD - 1) -> int:
        number = self.integer()
        if not 0 <= number < WORD:
            raise self.wrong(f"= {number} is out of range for uint32_t")
        if number > most:
            raise self.wrong(f"= {number} is more than {most}")
        return number

    def positive(self) -> int:
        if self.u32() == 0:
            raise self.wrong("is 0")
        return self.u32()

    def word(self) -> int:
        """Return a number of either sign as 32 bits."""
        return self.integer() % WORD

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self.wrong("is not a string")
        return self.value

    def line(self) -> str:
        """Return a text that fits in a line of C++."""
        if len(self.text().splitlines()) > 1 or self.text().endswith(("\\", "\n", "\r")):
            raise self.wrong("is not one line")
        return self.text()

    def one_of(self, names: Collection[str]) -> str:
        if self.text() not in names:
            raise self.wrong(f"= '{self.value}' is not one of {', '.join(names)}")
        return self.text()

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            raise self.wrong("is not a boolean")
        return self.value

    def texts(self) -> tuple[str, ...]:
        return self.each(Part.text)

    def numbers(self) -> tuple[int, ...]:
        return self.each(Part.u32)

    def coordinate(self) -> Coordinate:
        x, y = self.pair(Part.integer, Part.integer)
        if x < 0 or y < 0:
            raise self.wrong("must not be negative")
        return Part(x, self.path).u32(), Part(y, self.path).u32()

    def rectangle(self) -> tuple[Coordinate, Coordinate]:
        first, last = (self.member(key).coordinate() for key in ("start", "end"))
        if first[0] > last[0] or first[1] > last[1]:
            raise self.wrong(f"start {first} is after its end {last}")
        return first, last

    def span(self) -> Span:
        """Read `[file, line, column, end_line, end_column]`, in an expanded operation followed by
        `[[operation, file, line]]`.
        """
        file, *place = self.items()
        expanded = place[4].each(Part.expansion) if len(place) == 5 else ()
        if len(place) not in (4, 5):
            raise self.wrong("is not a span")
        line, column, end_line, end_column = (item.positive() for item in place[:4])
        return Span(file.text(), line, column, end_line, end_column, expanded)

    def expansion(self) -> Expansion:
        items = self.items()
        if len(items) != 3:
            raise self.wrong("is not a place where an operation is expanded")
        return Expansion(items[0].text(), items[1].text(), items[2].positive())

    def source_map(self) -> tuple[tuple[int, Span], ...]:
        return self.pairs(Part.u32, Part.span)

    def named(self) -> tuple[tuple[str, str], ...]:
        return self.pairs(Part.text, Part.text)
