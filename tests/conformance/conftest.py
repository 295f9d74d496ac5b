"""The compiler's checks of tests/conftest.py apply; nothing of the shell's settings does.

Tests run on the simulator, and again compiled on the host executor: compiled.py says which.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance import harness
from conformance.compiled import reason_not_compiled
from ttl.driver import PROCESS_DRIVER
from ttl.driver.remarks import Remarks

WAYS = ("simulated", "compiled")


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("TTL_", "TTLANG_")):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def way(request: pytest.FixtureRequest, no_settings: None, monkeypatch: pytest.MonkeyPatch) -> str:
    """How the program is run."""
    monkeypatch.setattr(PROCESS_DRIVER, "remarks", Remarks())  # they are made once a process
    chosen: str = getattr(request, "param", "simulated")
    if chosen == "compiled":
        monkeypatch.setattr(harness, "BACKEND", "host")
        monkeypatch.setattr(harness, "SEEDS", (1,))
        monkeypatch.setenv("TTL_BACKEND", "host")
    return chosen


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.definition.path.suffix == ".py":
        metafunc.parametrize("way", WAYS, indirect=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    items[:] = [
        item
        for item in items
        if _reason_not_compiled(item) is None or here not in item.path.parents
    ]


def _reason_not_compiled(item: pytest.Item) -> str | None:
    call = getattr(item, "callspec", None)
    if call is None or call.params.get("way") != "compiled":
        return None
    name = item.name.replace("compiled-", "", 1).replace("[compiled]", "")
    return reason_not_compiled(name)
