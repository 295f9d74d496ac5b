"""The programs of docs/howto/unified-operations.md run, and show the threads that it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ttl.cli import main
from ttl.driver import PROCESS_DRIVER
from ttl.driver.remarks import Remarks

PAGE = Path(__file__).parents[2] / "docs/howto/unified-operations.md"
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
PROGRAMS = [text for kind, text in BLOCKS if kind == "python"]
(SHOWN,) = [text for kind, text in BLOCKS if kind == "console"]


@pytest.mark.parametrize("backend", [[], ["--host"]], ids=["sim", "host"])
@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_the_programs_run(number: int, backend: list[str], tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("program.py").write_text(PROGRAMS[number], encoding="utf-8")
    assert main(["run", *backend, "program.py"]) == 0


def test_the_threads_are_shown(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(PROCESS_DRIVER, "remarks", Remarks())
    Path("program.py").write_text(PROGRAMS[0], encoding="utf-8")
    command, _, shown = SHOWN.partition("\n")
    assert main(command.split()[2:]) == 0
    assert capsys.readouterr().out.startswith(shown)
