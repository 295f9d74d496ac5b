"""Commands in copies of a process do what they do in a process of their own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from warm_commands import BIN, WarmCommands

PROGRAM = """
import os
import sys

print(sys.argv, os.getcwd(), os.environ.get("OURS"), sys.stdin.read(), __name__)
print("wrong", file=sys.stderr)
sys.exit(3)
"""


@pytest.mark.parametrize(
    "arguments",
    [("run", "program.py", "a b"), ("run", "none.py"), ("run",), ("explain", "TTL3010")],
    ids=" ".join,
)
def test_both_processes_give_the_same(
    warm: WarmCommands, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [str(BIN / "ttl"), *arguments]
    environment = {**os.environ, "OURS": "1"}
    copied = warm.run(command, tmp_path, environment, "text\n")
    started = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment,
        input="text\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (copied.returncode, copied.stdout) == (started.returncode, started.stdout)
    assert copied.stderr == started.stderr


def test_one_that_is_killed(warm: WarmCommands, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import os\nos.kill(os.getpid(), 9)\n")
    command = [str(BIN / "ttl"), "run", "program.py"]
    assert warm.run(command, tmp_path, dict(os.environ)).returncode == -9


def test_one_that_takes_too_long(warm: WarmCommands, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import time\ntime.sleep(60)\n")
    command = [str(BIN / "ttl"), "run", "program.py"]
    with pytest.raises(subprocess.TimeoutExpired):
        warm.run(command, tmp_path, dict(os.environ), timeout=0.1)
    assert warm.run([str(BIN / "ttl"), "explain", "TTL3010"], tmp_path, {}).returncode == 0


@pytest.mark.parametrize(
    "program, variables, served",
    [("ttl", {}, True), ("ttl", {"PYTHONUTF8": "0"}, False), ("python", {}, False)],
)
def test_what_starts_by_itself(warm: WarmCommands, program: str, variables: Any, served: bool):
    assert warm.serves(program, variables) is served
