"""Where `ttl view`, `ttl lower` and `ttl run --view` write a page, and what they leave alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from ttl.cli import main

PROGRAM = """\
import numpy as np
import ttnn
import ttl


@ttl.operation(grid=(1, 1))
def move(x, y):
    dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
    with dfb.reserve() as blk:
        ttl.copy(x[0, 0], blk).wait()
    with dfb.wait() as blk:
        ttl.copy(blk, y[0, 0]).wait()


x = ttl.from_numpy(np.ones((32, 32)), dtype=ttnn.bfloat16, device=ttnn.open_device(device_id=0))
move(x, ttnn.zeros_like(x))
"""
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, put_back: None) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    for file in ("move.py", "other/move.py"):
        (tmp_path / file).write_text(PROGRAM)
    return tmp_path


@pytest.mark.parametrize("verb", ["view", "lower"])
def test_a_page_has_the_name_of_its_program_and_may_be_made_again(
    verb: str, here: Path, capsys: Captured
) -> None:
    page = f"move_{verb}.html"
    assert main([verb, "move.py"]) == 0
    assert capsys.readouterr().err.endswith(f"ttl: page written to {page}\n")
    (here / page).write_text(f"{(here / page).read_text()}<!-- an earlier one -->")
    assert main([verb, str(here / "move.py")]) == 0
    instead = f"ttl: page written to {page}, in place of the earlier one of move.py\n"
    assert capsys.readouterr().err.endswith(instead)
    assert "an earlier one" not in (here / page).read_text()


WAYS = {
    "view": (["view", "other/move.py"], "move_view.html"),
    "lower": (["lower", "other/move.py"], "move_lower.html"),
    "-o": (["view", "-o", "mine", "other/move.py"], "mine"),
    "run --view": (["run", "--view", "mine", "other/move.py"], "mine"),
    "over itself": (["run", "--view", "move.py", "move.py"], "move.py"),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_file_that_is_not_ours_is_left_alone(way: str, here: Path, capsys: Captured) -> None:
    line, name = WAYS[way]
    if name != "move.py":
        (here / name).write_text("mine")
    before = (here / name).read_text()
    assert main(line) == 1
    shown = capsys.readouterr().err
    assert f"{name} is there already, and is not a page of {line[-1]}" in shown
    assert "name another one" in shown
    assert (here / name).read_text() == before
    if line[0] != "run":
        assert "-o FILE.html, or write --force to replace it" in shown
        assert main([*line, "--force"]) == 0
        assert "ttl-page-of" in (here / name).read_text()


def test_a_page_of_another_program_of_the_same_name_is_left_alone(
    here: Path, capsys: Captured
) -> None:
    assert main(["view", "move.py"]) == 0
    before = (here / "move_view.html").read_text()
    assert main(["view", "other/move.py"]) == 1
    assert "is not a page of other/move.py" in capsys.readouterr().err
    assert (here / "move_view.html").read_text() == before


def test_an_empty_file_is_nobodys(here: Path) -> None:
    (here / "page.html").touch()
    assert main(["view", "-o", "page.html", "move.py"]) == 0
    assert main(["run", "--view", "page.html", "move.py"]) == 0


def test_other_things_have_pages_with_their_names(here: Path, capsys: Captured) -> None:
    assert main(["run", "--trace", "events.jsonl", "move.py"]) == 0
    assert main(["compile", "-o", "out", "move.py"]) == 0
    for file, page in (
        ("events.jsonl", "events_view.html"),
        ("out", "out_view.html"),
        ("out/manifest.json", "out_view.html"),
    ):
        (here / page).unlink(missing_ok=True)
        assert main(["view", file]) == 0
        assert f"page written to {page}\n" in capsys.readouterr().err


def test_a_folder_that_is_not_there_is_said_before_the_run(here: Path, capsys: Captured) -> None:
    (here / "move.py").write_text(f"print('runs')\n{PROGRAM}")
    assert main(["view", "-o", "no/page.html", "move.py"]) == 1
    shown = capsys.readouterr()
    assert shown.out == "" and "no/page.html: No such file or directory" in shown.err


def test_a_program_that_makes_no_page_leaves_no_file(here: Path) -> None:
    (here / "none.py").write_text("")
    assert main(["lower", "none.py"]) == 1
    assert not (here / "none_lower.html").exists()
