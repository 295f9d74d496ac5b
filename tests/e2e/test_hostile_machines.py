"""Programs that are no text, and machines that give a process nothing: the true cause is named."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import zipapp
from pathlib import Path

import pytest

from unit.loading.test_cache_folder import SIMULATED

TTL = shlex.join([sys.executable, "-m", "ttl"])


def shell(command: str, folder: Path) -> subprocess.CompletedProcess:
    return subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize("verb", ["run", "run --host", "check"])
def test_a_zip_archive_names_how_to_run_it(tmp_path: Path, verb: str) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "__main__.py").write_text("print('it runs')\n")
    zipapp.create_archive(tmp_path / "source", tmp_path / "prog.zip", "/usr/bin/env python3")
    done = shell(f"{TTL} {verb} prog.zip", tmp_path)
    assert done.returncode == 1
    assert "error[TTL6003]: prog.zip: it is a zip archive, and not the text of" in done.stderr
    assert "SyntaxError" not in done.stderr
    (fix,) = [line.partition("help: ")[2] for line in done.stderr.splitlines() if "help:" in line]
    fix = f"export PATH={Path(sys.executable).parent}:$PATH; {fix}"
    assert shell(fix, tmp_path).stdout == "it runs\n"


def test_other_files_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "program.pyc").write_bytes(bytes(99))
    done = shell(f"{TTL} run program.pyc", tmp_path)
    assert "error[TTL6003]: program.pyc: it is not the text of a program" in done.stderr


@pytest.mark.parametrize("files", [6, 7, 8, 9, 10, 12, 16])
def test_too_few_open_files_are_named(tmp_path: Path, files: int) -> None:
    """However far a process gets with so few; it is never the compiler that is missing."""
    (tmp_path / "program.py").write_text(SIMULATED)
    environment = f"PYTTLANG_CACHE={tmp_path / 'cache'}"
    command = f"ulimit -n {files}; {environment} {TTL} run --host program.py"
    done = shell(command, tmp_path)
    if done.returncode:
        assert os.strerror(24) in done.stderr and "ulimit -n 1024" in done.stderr
        assert "no C++ compiler was found" not in done.stderr and "TTL9001" not in done.stderr
    else:
        assert done.stdout == "1024.0\n"
