"""The simulator rounds as the chip does, and so does the executor: what is left between them is
what the op table's bounds are about. Tests with bounds of the language's rounding take it back."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def rounds_like_chip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTL_ROUNDING", "chip")
