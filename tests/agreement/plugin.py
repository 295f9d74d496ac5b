"""Compares what the ways to treat a program say of the operations that tests call.

A test fails on a difference that the table has not, and on a row of the table that is not met.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytest

from agreement.table import faults, has_rows
from sampling import is_chosen, is_sampled
from ttl.language.engine import LAUNCH_HOOK
from warm_commands import WATCH

ONE_IN = 20  # tests; with `--full` all
TESTS = Path(__file__).parents[1]
# Where programs are written in the language, and run in the test's own process.
FOLDERS = (
    "agreement",
    "conformance",
    "d2m",
    "diagnostics",
    "differential",
    "docs_site",
    "golden",
    "graph",
    "property",
    "races",
    "tutorials",
    "unit/frontend",
    "unit/passes",
    "unit/sim",
    "unit/source",
    "unit/tuning",
)
# Where commands run in processes of their own. One in so many is watched with `--full`, too: those
# that start anew cannot be.
FOLDERS_OF_COMMANDS = ("e2e",)


class AgreementCheck:
    """Watches the calls of the tests it looks at."""

    def __init__(self) -> None:
        self.chosen: set[str] = set()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Fixtures take variables away that the choice depends on, so it is made before them."""
        self.chosen = {name for item in session.items if _is_looked_at(item, name := name_of(item))}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        name = name_of(item)
        if name not in self.chosen:
            return (yield)
        if name.startswith(FOLDERS_OF_COMMANDS):
            return (yield from _watch_commands(name))
        from agreement.watching import Watched  # a test of this file has a compiler of its own

        watched = Watched()
        before, LAUNCH_HOOK.launch = LAUNCH_HOOK.launch, watched.launch
        try:
            result = yield
        finally:
            if LAUNCH_HOOK.launch == watched.launch:
                LAUNCH_HOOK.launch = before
        if found := faults(name, watched.differences):
            pytest.fail("\n".join(found), False)
        return result


def _watch_commands(name: str) -> Generator[None, Any, Any]:
    """The operations that commands call in processes of their own."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "differences"
        with patch.dict(os.environ, {WATCH: str(file)}):
            result = yield
        differences = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    if found := faults(name, {*differences}):
        pytest.fail("\n".join(found), False)
    return result


def name_of(item: pytest.Item) -> str:
    """`conformance/pipes/test_nets.py::test_ring[simulated]`"""
    path = item.path.relative_to(TESTS).as_posix() if TESTS in item.path.parents else item.path.name
    return f"{path}::{item.name}"


def _is_looked_at(item: pytest.Item, name: str) -> bool:
    marked = item.get_closest_marker("wrong_kernel") or item.get_closest_marker("unwatched")
    if name.startswith(FOLDERS_OF_COMMANDS) and not marked:
        return has_rows(name) or is_sampled(name, ONE_IN)
    if marked or not name.startswith(FOLDERS):
        return False
    if name.startswith("agreement"):
        return True
    draws = hasattr(getattr(item, "obj", None), "hypothesis")  # other programs in every run
    return not draws and (has_rows(name) or is_chosen(name, ONE_IN))
