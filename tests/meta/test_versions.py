"""The page of versions has a row for each, and each row names something that shows it."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/versions.md"
ROW = re.compile(r"^\| (0\.\d+) \|.*\| ([\w./-]+) \|$", re.MULTILINE)


def test_every_version_is_shown_by_something() -> None:
    rows = ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert [version for version, _ in rows] == [f"0.{number}" for number in range(14, 21)]
    for _, path in rows:
        assert (ROOT / path).exists(), path


def test_codes_on_the_page_exist() -> None:
    for code in re.findall(r"TTL\d{4}", PAGE.read_text(encoding="utf-8")):
        assert (ROOT / f"docs/reference/diagnostics/{code}.md").exists()
