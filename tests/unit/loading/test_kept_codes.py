"""The bytecode of methods is kept between processes; a bad file is as none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ttl.loading import kept_codes

# Prints how many texts of dataclasses the process compiled.
COUNTING = """
import builtins
compiled, count = builtins.compile, []
builtins.compile = lambda text, *a, **k: (
    count.append(text) if "__create_fn__" in str(text)[:30] else 0, compiled(text, *a, **k))[1]
import ttl
print(len(count))
"""


def count(folder: Path) -> int:
    environment = {**os.environ, "PYTTLANG_CACHE": str(folder)}
    command = [sys.executable, "-c", COUNTING]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert not done.stderr
    return int(done.stdout)


def kept(folder: Path) -> Path:
    (path,) = folder.glob("methods-*")
    return path


def test_a_second_process_compiles_none(tmp_path: Path) -> None:
    assert count(tmp_path) >= 5
    assert count(tmp_path) == 0
    assert len(kept_codes.read(str(kept(tmp_path)))) >= 5


@pytest.mark.parametrize("damage", ["cut", "emptied", "changed"])
def test_a_damaged_file_is_written_anew(tmp_path: Path, damage: str) -> None:
    first = count(tmp_path)
    path = kept(tmp_path)
    content = path.read_bytes()
    changed = content[:9] + bytes([content[9] ^ 1]) + content[10:]
    path.write_bytes({"cut": content[:-20], "emptied": b"", "changed": changed}[damage])
    assert kept_codes.read(str(path)) == {}
    assert count(tmp_path) == first
    assert count(tmp_path) == 0


def test_a_folder_that_cannot_be_made_is_as_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert count(tmp_path / "file") == count(tmp_path / "file") >= 5


def test_what_another_process_has_written_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTTLANG_CACHE", str(tmp_path))
    for text in ("a = 1", "b = 2"):
        monkeypatch.setattr(kept_codes, "_NEW", {text: kept_codes.compiled(text)})
        kept_codes._write()
    names: dict[str, int] = {}
    for code in kept_codes.read(str(kept(tmp_path))).values():
        exec(code, {}, names)
    assert names == {"a": 1, "b": 2}
