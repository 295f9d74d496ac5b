"""Dataclasses find the code of their methods in the cache."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import pytest

from ttl.driver.generated_code import HOOK, code_kept


def make_point() -> Any:
    @dataclasses.dataclass(frozen=True)
    class Point:
        across: int
        down: int = 3

    return Point


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.exists() else []


@pytest.fixture(autouse=True)
def bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)


def test_the_second_time_nothing_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "cache"
    with code_kept(folder):
        first = make_point()
    assert len(files(folder)) == 1
    written = files(folder)[0].stat().st_mtime_ns

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("it is compiled again")

    monkeypatch.setattr("ttl.driver.generated_code.compile", refuse, raising=False)
    with code_kept(folder):
        second = make_point()
    for point in (first, second):
        assert repr(point(1)) == f"{point.__qualname__}(across=1, down=3)"
        assert point(1) == point(1) != point(2)
        with pytest.raises(dataclasses.FrozenInstanceError):
            point(1).across = 2
    assert files(folder)[0].stat().st_mtime_ns == written


@pytest.mark.parametrize("content", [b"", b"nonsense", b"i\x01\x00\x00\x00"])
def test_a_file_that_cannot_be_read_is_written_anew(tmp_path: Path, content: bytes) -> None:
    with code_kept(tmp_path):
        make_point()
    (file,) = files(tmp_path)
    right = file.read_bytes()
    file.write_bytes(content)
    with code_kept(tmp_path):
        assert make_point()(1).down == 3
    assert file.read_bytes() == right


def test_it_ends_with_the_compilation(tmp_path: Path) -> None:
    with pytest.raises(KeyError), code_kept(tmp_path):
        assert HOOK in vars(dataclasses)
        with code_kept(tmp_path):  # of another thread
            pass
        assert HOOK in vars(dataclasses)
        raise KeyError
    assert HOOK not in vars(dataclasses)


def test_where_python_writes_no_bytecode_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    with code_kept(tmp_path):
        make_point()
    with code_kept(Path()):
        make_point()
    assert not files(tmp_path)


def test_a_folder_that_cannot_be_written_to_is_no_mistake(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with code_kept(file):
        assert make_point()(1).across == 1
