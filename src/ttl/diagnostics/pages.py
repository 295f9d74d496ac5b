"""The page of a code: its meaning, a failing program, its message, and the fix."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent
_IN_THE_TREE = _HERE.parents[2] / "docs" / "reference" / "diagnostics"
# pyproject.toml puts the pages of a wheel beside this file.
PAGES = _IN_THE_TREE if _IN_THE_TREE.is_dir() else _HERE / "pages"


def page_of(code: str) -> str | None:
    """Return the text of a page, or None if the pages are not installed."""
    file = PAGES / f"{code}.md"
    return file.read_text(encoding="utf-8") if file.is_file() else None
