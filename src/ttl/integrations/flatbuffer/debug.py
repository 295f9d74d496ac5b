"""What pyttl wrote beside a program of kernels so that messages name things. It may be anything."""

from __future__ import annotations

import json
from typing import Any

from ttl.diagnostics import Span
from ttl.target import TARGETS

Path = tuple[str | int, ...]


class Debug:
    """JSON; what is missing or wrong in it has a default."""

    def __init__(self, text: str):
        try:
            self.value = json.loads(text) if text else {}
        except (ValueError, RecursionError):
            self.value = {}

    @property
    def target(self) -> str | None:
        name = self._at(("target",))
        return name if isinstance(name, str) and name in TARGETS else None

    def _at(self, path: Path) -> Any:
        value = self.value
        for part in path:
            try:
                value = value[part]
            except (KeyError, IndexError, TypeError):
                return None
        return value

    def text(self, path: Path, default: str) -> str:
        found = self._at(path)
        return found if isinstance(found, str) and found.isprintable() and found else default

    def identifier(self, path: Path, default: str) -> str:
        """The name becomes that of a file of C++ in messages of the compiler."""
        found = self.text(path, default)
        return found if found.isidentifier() and found.isascii() else default

    def number(self, path: Path, default: int) -> int:
        found = self._at(path)
        return found if type(found) is int and found > 0 else default

    def flag(self, path: Path) -> bool:
        return self._at(path) is True

    def texts(self, path: Path) -> tuple[str, ...]:
        found = self._at(path)
        return tuple(each for each in found if isinstance(each, str)) if _is_list(found) else ()

    def span(self, path: Path) -> Span | None:
        return _span(self._at(path))

    def source_map(self, path: Path) -> tuple[tuple[int, Span], ...]:
        found = self._at(path)
        entries = []
        for each in found if _is_list(found) else ():
            span = _span(each[1]) if isinstance(each, list) and len(each) == 2 else None
            if span is not None and type(each[0]) is int:
                entries.append((each[0], span))
        return tuple(sorted(entries, key=lambda entry: entry[0]))

    def pairs(self, path: Path) -> tuple[tuple[str, str], ...]:
        found = self._at(path)
        pairs = [
            (each[0], each[1])
            for each in (found if _is_list(found) else ())
            if isinstance(each, list) and len(each) == 2 and all(isinstance(p, str) for p in each)
        ]
        return tuple(pairs)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _span(value: Any) -> Span | None:
    if not isinstance(value, list) or len(value) != 5 or not isinstance(value[0], str):
        return None
    if not all(type(number) is int and number > 0 for number in value[1:]):
        return None
    return Span(*value)
