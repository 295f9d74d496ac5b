"""Lazy iterators as Python code that is evaluated in place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def numbered(items: Iterable[T], number: int) -> Iterator[tuple[int, T]]:
    """Evaluate enumerate()."""
    for item in items:
        yield number, item
        number += 1


def rows(row: Callable[[int], T], count: int) -> Iterator[T]:
    """Evaluate zip()."""
    for number in range(count):
        yield row(number)
