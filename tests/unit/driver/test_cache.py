"""The cache of compiled kernels stays within its limit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ttl.cli import main
from ttl.config import Config, read_bytes
from ttl.diagnostics import UsageError
from ttl.driver.cache import DEFAULT_LIMIT_BYTES, entries, keep_bounded, limit_of, prune

NOW = 1_000_000_000.0
HOUR = 3600.0


def library(folder: Path, name: str, hours_ago: float, size: int = 100) -> Path:
    file = folder / name
    file.write_bytes(bytes(size))
    os.utime(file, (NOW - hours_ago * HOUR,) * 2)
    return file


def config_of(folder: Path, **variables: str) -> Config:
    return Config.from_environment({"PYTTLANG_CACHE": str(folder), **variables})


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_what_was_used_longest_ago_goes_first(tmp_path):
    for hours in (2, 5, 9):
        library(tmp_path, f"kernels-{hours}.so", hours)
    library(tmp_path, "others.txt", 1000)
    done = prune(tmp_path, 250, NOW)
    assert (done.entries, done.bytes) == (1, 100)
    assert names(tmp_path) == {"kernels-2.so", "kernels-5.so", "others.txt"}


def test_a_library_that_is_loaded_counts_as_used(tmp_path):
    library(tmp_path, "kernels-newer.so", 5)
    loaded = library(tmp_path, "kernels-loaded.so", 9)
    os.utime(loaded, (NOW - 2 * HOUR, NOW - 9 * HOUR))
    prune(tmp_path, 100, NOW)
    assert names(tmp_path) == {"kernels-loaded.so"}


def test_what_was_just_built_stays(tmp_path):
    library(tmp_path, "kernels-new.so", 0.5)
    library(tmp_path, "runtime-old.so", 2)
    prune(tmp_path, 0, NOW)
    assert names(tmp_path) == {"kernels-new.so"}


def test_workspaces_of_killed_processes_go(tmp_path):
    (tmp_path / "building-x").mkdir()
    os.utime(tmp_path / "building-x", (NOW - 2 * HOUR,) * 2)
    prune(tmp_path, 1 << 30, NOW)
    assert names(tmp_path) == set()


def test_what_was_used_within_the_hour_is_kept_and_told(tmp_path, monkeypatch, capsys):
    library(tmp_path, "kernels-new.so", 0.5)
    library(tmp_path, "kernels-old.so", 2)
    monkeypatch.setenv("PYTTLANG_CACHE", str(tmp_path))
    monkeypatch.setattr("time.time", lambda: NOW)
    assert main(["cache", "--clear"]) == 0
    assert names(tmp_path) == {"kernels-new.so"}
    printed = capsys.readouterr().out
    assert "removed 1 file, 100" in printed
    assert "kept 1 file of the last hour" in printed


def test_the_limit_is_kept_once_a_day(tmp_path):
    config = config_of(tmp_path, PYTTLANG_CACHE_LIMIT="240")
    for hours in (2, 5, 9):
        library(tmp_path, f"kernels-{hours}.so", hours)
    assert keep_bounded(config, NOW).entries == 2  # down to 80 % of the limit, 192 bytes
    library(tmp_path, "kernels-10.so", 10)
    library(tmp_path, "kernels-11.so", 11)
    assert keep_bounded(config, NOW + HOUR) is None
    assert keep_bounded(config, NOW + 25 * HOUR).entries == 2


def test_a_cache_within_its_limit_is_left_alone(tmp_path):
    library(tmp_path, "kernels-old.so", 1000)
    assert keep_bounded(config_of(tmp_path), NOW).entries == 0
    assert limit_of(config_of(tmp_path)) == DEFAULT_LIMIT_BYTES


def test_no_limit(tmp_path):
    library(tmp_path, "kernels-old.so", 1000)
    assert keep_bounded(config_of(tmp_path, PYTTLANG_CACHE_LIMIT="none"), NOW) is None
    assert keep_bounded(config_of(tmp_path / "made"), NOW).entries == 0
    assert names(tmp_path) == {"kernels-old.so", "made"}


def test_the_command_shows_limits_and_prunes(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PYTTLANG_CACHE", str(tmp_path))
    monkeypatch.delenv("PYTTLANG_CACHE_LIMIT", raising=False)
    library(tmp_path, "kernels-a.so", 2, 3 << 20)
    library(tmp_path, "kernels-b.so", 3, 3 << 20)
    assert main(["cache", "--limit", "4M"]) == 0
    shown = capsys.readouterr().out
    assert "6.0 MB" in shown
    assert "4.0 MB" in shown
    assert main(["cache", "--prune"]) == 0
    assert "removed 1 file, 3.0 MB" in capsys.readouterr().out
    assert [entry.path.name for entry in entries(tmp_path)] == ["kernels-a.so"]
    assert main(["cache", "--clear"]) == 0
    assert list(entries(tmp_path)) == []
    assert limit_of(config_of(tmp_path)) == 4 << 20


def test_sizes():
    assert [read_bytes(text) for text in ("7", "2k", "3MB", "1G", "none")] == [
        7,
        2048,
        3 << 20,
        1 << 30,
        0,
    ]
    with pytest.raises(UsageError, match="PYTTLANG_CACHE_LIMIT=much: not a size in bytes"):
        config_of(Path("x"), PYTTLANG_CACHE_LIMIT="much")
