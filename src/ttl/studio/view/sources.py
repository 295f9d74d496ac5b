"""Source files that a page shows, and places in them."""

from __future__ import annotations

import linecache
import os
from typing import Any, TypeAlias

from ttl.diagnostics import Span
from ttl.diagnostics.render import shown_path

PageValues: TypeAlias = dict[str, Any]  # JSON that the scripts of a page read


class Sources:
    """Files and spans by their index in a page, each once.

    `given` is the current path of a file with the same name.
    """

    def __init__(self, given: str | None = None) -> None:
        self._given = given
        self._files: dict[str, int] = {}
        self._spans: dict[tuple[int, ...], int] = {}

    def file(self, name: str) -> int:
        return self._files.setdefault(name, len(self._files))

    def span(self, span: Span) -> int:
        key = (self.file(span.file), span.line, span.column, span.end_line, span.end_column)
        return self._spans.setdefault(key, len(self._spans))

    def described(self) -> PageValues:
        files = [
            {"name": shown_path(name), "text": "".join(linecache.getlines(self._path(name)))}
            for name in self._files
        ]
        return {"files": files, "spans": list(self._spans)}

    def _path(self, name: str) -> str:
        if self._given is not None and os.path.basename(name) == os.path.basename(self._given):
            return self._given
        return name
