"""A browser for all tests of a worker, and the pages of one program."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from view.chromium import NO_CHROMIUM, Browser, Tab, find_chromium, opened
from view.programs import DEADLOCK, SENT_ON, ttl


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if find_chromium() is None:
        pytest.skip(NO_CHROMIUM)
    with opened() as found:
        yield found


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    """Whatever a test does, the page reports no fault and asks nobody for anything."""
    made = browser.open_tab()
    yield made
    assert made.problems == []
    asked = [each for each in made.requests if not each.startswith(("file:", "about:", "data:"))]
    assert [each for each in asked if "127.0.0.1" not in each] == []


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pages")
    (made / "double.py").write_text(SENT_ON)
    (made / "stuck.py").write_text(DEADLOCK)
    return made


@pytest.fixture(scope="session")
def page(folder: Path) -> Path:
    """Of a run; its trace is kept beside it."""
    file, trace = folder / "double.html", folder / "double.jsonl"
    assert ttl("run", "--view", file, "--trace", trace, folder / "double.py") == 0
    return file


@pytest.fixture(scope="session")
def deadlock_page(folder: Path) -> Path:
    file = folder / "stuck.html"
    assert ttl("run", "--view", file, folder / "stuck.py") == 1
    return file
