"""Programs of pages are run in this process, each from a folder of its own."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def same_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their folders leave sys.path: torch would take a page's triton.py for the package."""
    monkeypatch.setattr(sys, "path", sys.path[:])
