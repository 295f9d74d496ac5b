"""The differences that are known. The table shrinks: a row that is not met any more is a fault."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

FILE = Path(__file__).parent / "differences.toml"
Row = tuple[str, str]  # a program, and what the ways say of it


@cache
def rows() -> dict[str, set[str]]:
    """What is known of each program."""
    known: dict[str, set[str]] = {}
    for programs in tomllib.loads(FILE.read_text(encoding="utf-8")).values():
        for name, said in programs.items():
            known.setdefault(name, set()).update([said] if isinstance(said, str) else said)
    return known


def has_rows(name: str) -> bool:
    return name in rows()


def faults(name: str, found: set[str]) -> list[str]:
    """How what was found of a program differs from its rows."""
    known = rows().get(name, set())
    new = [f"the ways disagree about {name}: {said}" for said in sorted(found - known)]
    gone = [
        f"{FILE.name}: take out {name}: {said}; it is {sorted(found) or 'mended'} now"
        for said in sorted(known - found)
    ]
    return new + gone
