"""The compiler's checks of tests/conftest.py apply; nothing of the shell's settings does."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("TTL_", "TTLANG_")):
            monkeypatch.delenv(name)
