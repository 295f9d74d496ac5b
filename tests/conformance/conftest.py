"""The compiler's checks of tests/conftest.py apply; nothing of the shell's settings does."""

from __future__ import annotations

import os

import pytest

COMPILED_FOLDERS = ("pipes", "semaphores")


@pytest.fixture(autouse=True)
def compiled_too(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of these folders are compiled as well, but for those marked `simulated`."""
    mark = request.node.get_closest_marker("simulated")
    assert mark is None or mark.args, "the mark `simulated` must say why"
    if request.path.parent.name in COMPILED_FOLDERS and mark is None:
        monkeypatch.setattr("conformance.harness.COMPILED_TOO", True)


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("TTL_", "TTLANG_")):
            monkeypatch.delenv(name)
