"""Compares what the ways to treat a program say of the operations that tests call.

A test fails on a difference that the table has not, and on a row of the table that is not met.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

import ttl.driver
from agreement.table import faults, has_rows
from agreement.verdicts import Arguments, Codes, codes_of, copied, is_comparable, judged
from sampling import is_chosen
from ttl.diagnostics import TTLError
from ttl.language import Operation
from ttl.language.engine import LAUNCH_HOOK

ONE_IN = 20  # tests; with `--full` all
MOST_CALLS = 3  # of one operation in a test: most call it again and again
TESTS = Path(__file__).parents[1]
# Where programs are written in the language, and run in the test's own process.
FOLDERS = (
    "agreement", "conformance", "diagnostics", "differential", "golden", "property", "races",
    "tutorials", "unit/frontend", "unit/passes", "unit/sim", "unit/source",
)  # fmt: skip


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


def name_of(item: pytest.Item) -> str:
    """`conformance/pipes/test_nets.py::test_ring[simulated]`"""
    path = item.path.relative_to(TESTS).as_posix() if TESTS in item.path.parents else item.path.name
    return f"{path}::{item.name}"


def _is_looked_at(item: pytest.Item, name: str) -> bool:
    marked = item.get_closest_marker("wrong_kernel") or item.get_closest_marker("unwatched")
    if marked or not name.startswith(FOLDERS):
        return False
    if name.startswith("agreement"):
        return True
    draws = hasattr(getattr(item, "obj", None), "hypothesis")  # other programs in every run
    return not draws and (has_rows(name) or is_chosen(name, ONE_IN))


def _unseen(function: Any) -> Any:
    """Let diagnostics point past the function, to the call in the program."""
    function.__code__ = function.__code__.replace(co_filename="<frozen agreement>")
    return function


class Watched:
    """The calls of operations that a test makes."""

    def __init__(self) -> None:
        self.differences: set[str] = set()
        self.calls: Counter[CodeType] = Counter()
        self.is_inside = False

    @_unseen
    def launch(self, operation: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        plain = ttl.driver.launch
        calls = self.calls[operation.function.__code__]
        if self.is_inside or calls == MOST_CALLS or not _asks_for_a_run():
            plain(operation, args, kwargs)
            return
        self.calls[operation.function.__code__] += 1
        self.is_inside, given = True, copied((args, kwargs))
        try:
            plain(operation, args, kwargs)
        except TTLError as error:
            self._compare(codes_of(error.diagnostics), operation, given)
            raise
        else:
            self._compare((), operation, given)
        finally:
            self.is_inside = False

    def _compare(self, said: Codes, operation: Operation, arguments: Arguments) -> None:
        verdict = judged(said, operation, arguments)
        if not verdict.agrees:
            self.differences.add(str(verdict))


def _asks_for_a_run() -> bool:
    try:
        return is_comparable()
    except TTLError:  # an option has a wrong value
        return False
