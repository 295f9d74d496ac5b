"""Old names of variables keep working, with a note; the cache that is not used is named."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ttl.cli import main
from ttl.config import Config
from ttl.driver.surroundings import surroundings
from unit.loading.test_cache_folder import SIMULATED, others_may_write

NOT_SET = ("PYTTLANG_CACHE", "PYTTLANG_CACHE_LIMIT", "PYTTL_CACHE", "PYTTL_CACHE_LIMIT")


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch):
    """Sets these variables of the cache and no other."""

    def set_only(**variables: str) -> None:
        for name in NOT_SET:
            monkeypatch.delenv(name, raising=False)
        for name, text in variables.items():
            monkeypatch.setenv(name, text)

    return set_only


def test_old_names_keep_working(only) -> None:
    only(PYTTL_CACHE="/old", PYTTL_CACHE_LIMIT="2k")
    config = Config.current()
    assert (config.cache_folder, config.cache_limit) == ("/old", 2048)
    only(PYTTL_CACHE="/old", PYTTLANG_CACHE="/now", PYTTL_CACHE_LIMIT="2k", PYTTLANG_CACHE_LIMIT="")
    config = Config.current()
    assert (config.cache_folder, config.cache_limit) == ("/now", 2048)
    only(PYTTL_CACHE_LIMIT="much", PYTTLANG_CACHE_LIMIT="3k")
    assert Config.current().cache_limit == 3072


def test_a_wrong_value_is_reported_with_the_name_that_has_it(only) -> None:
    only(PYTTL_CACHE_LIMIT="much")
    with pytest.raises(Exception, match="PYTTL_CACHE_LIMIT=much"):
        Config.current()


def test_the_help_renames_the_variable(only, tmp_path: Path) -> None:
    only(PYTTL_CACHE=str(tmp_path))
    (note,) = surroundings(Config.current())
    assert note.code.code == "TTL6018"
    assert note.message == "PYTTL_CACHE is now PYTTLANG_CACHE"
    shown = subprocess.run(
        ["sh", "-c", f"{note.helps[0]}; echo $PYTTLANG_CACHE-$PYTTL_CACHE"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert shown == f"{tmp_path}-\n"
    only(PYTTL_CACHE="/old", PYTTLANG_CACHE=str(tmp_path))
    (note,) = surroundings(Config.current())
    assert note.helps == ("unset PYTTL_CACHE",)


@pytest.mark.parametrize("options", [(), ("--host",), ("--strict",)])
def test_a_process_notes_an_old_name_once(tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "program.py").write_text(SIMULATED)
    environment = {name: text for name, text in os.environ.items() if name not in NOT_SET}
    done = subprocess.run(
        [sys.executable, "-m", "ttl", "run", *options, "program.py"],
        env={**environment, "PYTTL_CACHE": str(tmp_path / "cache"), "PYTTL_CACHE_LIMIT": "none"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "1024.0\n")
    assert done.stderr.count("note[TTL6018]") == 1
    both = "PYTTL_CACHE is now PYTTLANG_CACHE and PYTTL_CACHE_LIMIT is now PYTTLANG_CACHE_LIMIT"
    assert both in done.stderr
    assert list((tmp_path / "cache").iterdir())


def test_doctor_names_them(only, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    only(PYTTL_CACHE=str(others_may_write(tmp_path / "cache")))
    assert main(["doctor"]) == 1
    shown = capsys.readouterr().out
    assert 'PYTTL_CACHE: export PYTTLANG_CACHE="$PYTTL_CACHE"; unset PYTTL_CACHE' in shown
    assert f"cache: chmod go-w {tmp_path / 'cache'}, or set PYTTLANG_CACHE to a folder of" in shown


def test_the_cache_command_refuses_what_is_not_used(
    only, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    only(PYTTLANG_CACHE=str(others_may_write(tmp_path / "cache")))
    assert main(["cache", "--clear"]) == 1
    assert f"= help: chmod go-w {tmp_path / 'cache'}" in capsys.readouterr().err
