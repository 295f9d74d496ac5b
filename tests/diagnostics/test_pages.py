"""Every page is a wrong program and the message it gets, word for word.

A page has one block of Python and one of text. `pytest --update-golden tests/diagnostics` writes
the messages again.
"""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

import ttl

PAGES = sorted(Path(__file__).parent.glob("*.md"))
BLOCKS = re.compile(r"```python\n(.*?)```.*?```text\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_the_program_gets_the_message(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    text = page.read_text(encoding="utf-8")
    ((program, expected),) = BLOCKS.findall(text)
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ttl.TTLError) as caught:
        runpy.run_path(str(tmp_path / "program.py"))
    message = str(caught.value).replace(f"{tmp_path}/", "").rstrip() + "\n"
    if request.config.getoption("--update-golden"):
        page.write_text(text.replace(expected, message), encoding="utf-8")
    else:
        assert message == expected


def test_there_are_pages() -> None:
    assert PAGES
