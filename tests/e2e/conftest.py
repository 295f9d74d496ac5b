"""The `ttl` command: installed, in a process of its own, or called in this one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from warm_commands import WATCH, WarmCommands

BIN = Path(sys.executable).parent
Run = Callable[..., subprocess.CompletedProcess[str]]

# What the tests set themselves must not come from the shell that runs them.
OURS = ("TTLANG_", "TTL_")


@pytest.fixture(scope="session")
def warm() -> Iterator[WarmCommands]:
    commands = WarmCommands()
    yield commands
    commands.close()


@pytest.fixture
def run(tmp_path: Path, warm: WarmCommands, request: pytest.FixtureRequest) -> Run:
    """run("ttl", ..., cwd=..., VARIABLE=...): from an empty folder unless told otherwise."""
    always_anew = request.config.getoption("--full")

    def command(
        program: str, *arguments: object, cwd: Path | None = None, stdin: str = "", **variables: str
    ) -> subprocess.CompletedProcess[str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
        environment = {**clean, "TTL_ALWAYS_COMPILE": "1", **variables}
        words = [str(BIN / program), *map(str, arguments)]
        is_warm = WATCH in os.environ or not always_anew
        if is_warm and warm.serves(program, variables):
            return warm.run(words, cwd or tmp_path, environment, stdin)
        return process(words, cwd or tmp_path, environment, stdin)

    return command


def process(
    words: list[str], cwd: Path, environment: dict[str, str], stdin: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        cwd=cwd,
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture
def put_back(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a command that is called in this process leaves behind."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    with patch.dict(os.environ):
        yield
