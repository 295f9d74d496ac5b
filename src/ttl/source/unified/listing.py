"""List a unified body with the thread of each line."""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Sequence
from pathlib import Path

from .. import tree
from .assignment import Assignment
from .sections import Sections
from .units import Effect, Inline, Thread, Unit

MARKS = {Thread.COMPUTE: "C", Thread.READ: "0", Thread.WRITE: "1"}
LEGEND = "C compute   0 data movement 0   1 data movement 1   op the operation, before its kernels"


def listing(frame: Inline, assignment: Assignment, sections: Sections) -> str:
    """List the operation, then the operations it expands."""
    parts = [LEGEND]
    for each in frame.all():
        units = _units_by_line(each)
        parts.append("\n".join(_lines(each, units, assignment, sections)))
    return "\n\n".join(parts)


def threads_by_line(frame: Inline, sections: Sections) -> dict[int, list[Thread]]:
    """Return the threads of each line of a body; none for lines before the kernels."""
    found = {line: _threads(units, sections) for line, units in _units_by_line(frame).items()}
    return {line: threads for line, threads in found.items() if threads is not None}


def _units_by_line(frame: Inline) -> dict[int, list[Unit]]:
    found: dict[int, list[Unit]] = {}
    for unit in frame.units:
        if unit.argument is None:
            found.setdefault(unit.node.lineno, []).append(unit)
    return found


def _lines(
    frame: Inline, units: dict[int, list[Unit]], assignment: Assignment, sections: Sections
) -> Iterator[str]:
    yield _title(frame)
    for number in range(frame.tree.lineno, (frame.tree.end_lineno or frame.tree.lineno) + 1):
        here = units.get(number, [])
        why = "; ".join(dict.fromkeys(reason(unit, assignment, sections) for unit in here))
        text = linecache.getline(frame.file, number).rstrip()
        yield f"{_marks(_threads(here, sections)):5} {why:22} {number:4} | {text}".rstrip()


def _title(frame: Inline) -> str:
    place = f"{Path(frame.file).name}:{frame.tree.lineno}"
    if frame.caller is None:
        return f"`{frame.name}` {place}"
    caller = frame.caller.frame
    at = f"{Path(caller.file).name}:{frame.caller.span.line}"
    return f"`{frame.name}` {place}, expanded at {at}"


def _marks(threads: list[Thread] | None) -> str:
    if not threads:
        return "" if threads is None else "op"
    return " ".join(MARKS[t] if t in threads else " " for t in Thread)


def _threads(units: Sequence[Unit], sections: Sections) -> list[Thread] | None:
    """Return None for lines that do nothing."""
    kernels = sections.kernels
    found = [t for t in Thread if any(unit in kernels.get(t, ()) for unit in units)]
    return found if found or any(unit in sections.setup for unit in units) else None


def reason(unit: Unit, assignment: Assignment, sections: Sections) -> str:
    if unit.expansion is not None:
        return "expanded"
    if unit not in assignment.threads:
        if unit in sections.setup:
            node = unit.node
            is_text = isinstance(node, tree.Evaluate) and isinstance(node.value, tree.Constant)
            return "" if is_text else "declared" if unit.makes else "known before"
        return "shared"
    if unit.is_breakpoint:
        return "debugs"
    if Effect.COMPUTE in unit.effects:
        return "computes"
    if Effect.MOVE in unit.effects:
        return _movement(unit)
    return _acquire(unit, assignment) if unit.acquires else "goes with its block"


def _movement(unit: Unit) -> str:
    if unit.sends or unit.receives:
        return "receives" if unit.receives else "sends"
    if unit.signals or unit.awaits:
        return "signals" if unit.signals else "waits for a semaphore"
    if unit.publishes:
        return "publishes"
    return "copies" if unit.moves_blocks else "waits for a copy"


def _acquire(unit: Unit, assignment: Assignment) -> str:
    users = [
        other
        for other in assignment.units
        if other is not unit and other.effects and other.blocks & unit.acquires
    ]
    lines = sorted({other.node.lineno for other in users})
    return f"for line {lines[0]}" if lines else "acquires"
