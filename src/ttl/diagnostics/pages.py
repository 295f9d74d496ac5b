"""The page of a code: what it means, a program that gets it, its message, and one without it."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent
_IN_THE_TREE = _HERE.parents[2] / "docs" / "reference" / "diagnostics"
# A wheel has the pages beside this file (pyproject.toml puts them there).
PAGES = _IN_THE_TREE if _IN_THE_TREE.is_dir() else _HERE / "pages"


def page_of(code: str) -> str | None:
    """The text of a page; None where the pages are not installed."""
    file = PAGES / f"{code}.md"
    return file.read_text(encoding="utf-8") if file.is_file() else None
