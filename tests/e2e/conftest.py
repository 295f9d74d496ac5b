"""The installed `ttl` command in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

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
