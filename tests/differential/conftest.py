"""f32 is cut off in the matrix unit, on the simulator as on the executor: what is left between them
is what the op table's bounds are about. Tests with bounds of the language's rounding take it
back."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def cuts_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTL_ROUNDING", "tf32")
