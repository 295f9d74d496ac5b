"""Names for messages, which pyttlang wrote beside a program of kernels; they are not trusted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ttl.artifact import Part, parse
from ttl.target import TARGETS

T = TypeVar("T")


class Debug:
    """Reads JSON; missing or wrong parts have defaults."""

    def __init__(self, text: str):
        try:
            self.root = Part(parse(text), "")
        except ValueError:
            self.root = Part({}, "")

    @property
    def target(self) -> str | None:
        return self.at(("target",), lambda part: part.one_of(TARGETS), None)

    def at(self, path: tuple[str | int, ...], read: Callable[[Part], T], default: T) -> T:
        try:
            part = self.root
            for step in path:
                part = part.items()[step] if isinstance(step, int) else part.member(step)
            return read(part)
        except (ValueError, IndexError):
            return default


def name(part: Part) -> str:
    if not part.text() or not part.text().isprintable():
        raise part.wrong("is no name")
    return part.text()


def identifier(part: Part) -> str:
    """Read an identifier: the C++ compiler's messages use it as a file name."""
    if not (part.text().isidentifier() and part.text().isascii()):
        raise part.wrong("is no identifier")
    return part.text()
