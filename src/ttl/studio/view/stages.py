"""Prints IR as text, with the program line that each of its lines comes from."""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING

from ttl.diagnostics import Span

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


@dataclass(frozen=True, slots=True)
class Stage:
    """Module after a pass."""

    name: str
    text: str
    spans: tuple[tuple[int, Span], ...]  # (line, counted from 1; its origin), ascending


def stage_of(name: str, module: ModuleOp) -> Stage:
    from xdsl.ir import Operation
    from xdsl.printer import Printer

    from ttl.dialects.locations import span_of

    spans: dict[int, Span] = {}

    class LinePrinter(Printer):
        def print_op(self, op: Operation) -> None:
            if (span := span_of(op.location)) is not None:
                spans.setdefault(out.line, span)
            super().print_op(op)

    out = _CountedLines()
    LinePrinter(stream=out).print_op(module)
    return Stage(name, out.getvalue() + "\n", tuple(sorted(spans.items())))


class _CountedLines(StringIO):
    """Stream that counts the lines written."""

    line = 1

    def write(self, text: str) -> int:
        self.line += text.count("\n")
        return super().write(text)
