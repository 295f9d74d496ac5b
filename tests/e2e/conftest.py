"""The `ttl` command: installed, in a process of its own, or called in this one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

BIN = Path(sys.executable).parent
Run = Callable[..., subprocess.CompletedProcess[str]]

# What the tests set themselves must not come from the shell that runs them.
OURS = ("TTLANG_", "TTL_")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """run("ttl", ..., cwd=..., VARIABLE=...): from an empty folder unless told otherwise."""

    def command(
        program: str, *arguments: object, cwd: Path | None = None, stdin: str = "", **variables: str
    ) -> subprocess.CompletedProcess[str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
        return subprocess.run(
            [str(BIN / program), *map(str, arguments)],
            cwd=cwd or tmp_path,
            env={**clean, **variables},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return command


@pytest.fixture
def put_back(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a command that is called in this process leaves behind."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    with patch.dict(os.environ):
        yield
