"""Colours, tables, pages and progress where a terminal is; plain text where none is."""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ttl.cli import main
from ttl.cli.progress import show_progress
from ttl.cli.verbs import VERBS
from ttl.diagnostics.activity import Activities
from ttl.diagnostics.painting import show_text
from ttl.trace.stats import Table

MESSAGE = "error[TTL5001]: deadlock\n --> a.py:1:1\n  |\n1 | x\n  | ^ here\n  = help: do not"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Terminal]:
    """Called in the test: pytest puts its own streams in their place before."""
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("PAGER", "cat")

    def put() -> Terminal:
        shown = Terminal()
        monkeypatch.setattr(sys, "stdout", shown)
        monkeypatch.setattr(sys, "stderr", shown)
        return shown

    return put


def test_diagnostics_are_coloured_on_a_terminal_only(on_terminal, monkeypatch):
    terminal = on_terminal()
    show_text(MESSAGE, terminal)
    assert "\x1b[1;31merror\x1b[0m" in terminal.getvalue()
    assert "here" in terminal.getvalue()
    file = io.StringIO()
    show_text(MESSAGE, file)
    assert file.getvalue() == MESSAGE + "\n"
    monkeypatch.setenv("NO_COLOR", "1")
    plain = Terminal()
    show_text(MESSAGE, plain)
    assert plain.getvalue() == MESSAGE + "\n"


def test_long_lines_of_a_diagnostic_are_not_broken(on_terminal):
    terminal = on_terminal()
    line = "note[TTL1001]: " + "x" * 200
    show_text(line, terminal)
    assert "x" * 200 in terminal.getvalue()


def test_a_code_is_explained_page_by_page(on_terminal, monkeypatch):
    terminal = on_terminal()
    pages = []
    monkeypatch.setattr("rich.pager.SystemPager.show", lambda self, text: pages.append(text))
    assert main(["explain", "TTL5001"]) == 0
    assert "deadlock" in pages[0]
    assert "```" not in pages[0]  # rendered
    assert terminal.getvalue() == ""


def test_tables_are_as_wide_as_the_terminal(on_terminal):
    terminal = on_terminal()
    assert main(["explain"]) == 0
    lines = re.sub(r"\x1b\[[\d;]*m", "", terminal.getvalue()).splitlines()
    assert max(len(line.rstrip()) for line in lines) <= 60
    assert any("TTL5001" in line for line in lines)


def test_every_code_has_a_sentence(capsys):
    assert main(["explain"]) == 0
    listed = [line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines()[2:]]
    assert all(len(columns) == 3 and columns[2].endswith(".") for columns in listed)
    assert all(" " in sentence for _, _, sentence in listed)


def test_plain_tables_are_unchanged(capsys):
    table = Table("T", ("a", "b"), (("[x]", 1),))
    from ttl.cli.terminal import show_tables

    show_tables([table])
    assert capsys.readouterr().out == "T\na    b\n[x]  1\n"


def test_what_takes_long_is_shown_and_goes_away(on_terminal):
    terminal = on_terminal()
    activities, done = Activities(), []
    with show_progress(activities, patience=0.01):
        with activities.busy("building the C++ runtime, once", lambda: (len(done), 4)):
            until(lambda: "0 of 4" in terminal.getvalue())
            done.append(1)
            until(lambda: "1 of 4" in terminal.getvalue())
        assert "building the C++ runtime, once" in terminal.getvalue()
    assert terminal.getvalue().endswith(("\x1b[2K", "\x1b[?25h", "\r"))  # the line is gone


def until(is_so) -> None:
    while not is_so():
        time.sleep(0.01)


def test_what_is_short_is_not_shown(on_terminal):
    terminal = on_terminal()
    activities = Activities()
    with show_progress(activities, patience=60.0), activities.busy("short"):
        pass
    assert terminal.getvalue() == ""


def test_no_progress_without_a_terminal(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    activities = Activities()
    with show_progress(activities, patience=0.0), activities.busy("long"):
        time.sleep(0.05)
    assert shown.getvalue() == ""


def test_the_innermost_of_what_takes_long_is_meant():
    activities = Activities()
    with activities.busy("outer"):
        assert activities.longest(0.0).text == "outer"
        with activities.busy("inner"):
            assert activities.longest(0.0).text == "inner"
            assert activities.longest(60.0) is None
        assert activities.longest(0.0).text == "outer"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_verb_and_its_options(shell, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(verb in script for verb in VERBS)
    assert "host" in script
    assert "prune" in script


def test_bash_completes(tmp_path, capsys):
    assert main(["completion", "bash"]) == 0
    (tmp_path / "ttl.bash").write_text(capsys.readouterr().out)
    (tmp_path / "program.py").write_text("")
    ask = 'source ttl.bash; COMP_WORDS=({}); COMP_CWORD={}; _ttl; echo "${{COMPREPLY[@]}}"'

    def completed(*words: str) -> list[str]:
        script = ask.format(" ".join(words), len(words) - 1)
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return done.stdout.split()

    assert completed("ttl", "ru") == ["run", "run-flatbuffer", "run-metal"]
    assert completed("ttl", "run", "--ho") == ["--host"]
    assert completed("ttl", "run", "prog") == ["program.py"]


def test_a_missing_program_is_named(capsys):
    with pytest.raises(SystemExit) as end:
        main(["run"])
    assert end.value.code == 2
    assert "error: name the program: ttl run FILE" in capsys.readouterr().err


PROGRAM = "import sys\nprint('read', __file__, sys.argv)\n"


def test_python_m_ttl_runs_a_program_from_standard_input():
    command = [sys.executable, "-m", "ttl", "run", "-", "x"]
    source = str(Path(__file__).parents[3] / "src")
    done = subprocess.run(
        command,
        input=PROGRAM,
        env={"PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "read <stdin> ['<stdin>', 'x']\n"


def test_what_is_wrong_in_standard_input_is_shown(monkeypatch, capsys):
    wrong = "import ttl\nttl.program_id\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO(wrong))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.delitem(__import__("linecache").cache, "<stdin>", raising=False)
    assert main(["run", "-"]) == 1
    shown = capsys.readouterr().err
    assert "--> <stdin>:2:1" in shown
    assert "2 | ttl.program_id" in shown
    assert "help: write ttl.node(dims=1)" in shown


def test_a_command_makes_the_parser_of_its_verb_alone(monkeypatch):
    made = []
    own = argparse.ArgumentParser.__init__

    def noting(self, *args, **kwargs):
        made.append(kwargs.get("prog"))
        own(self, *args, **kwargs)

    monkeypatch.setattr(argparse.ArgumentParser, "__init__", noting)
    assert main(["explain", "TTL1001"]) == 0
    assert made == ["ttl explain"]


def test_output_that_nobody_reads_ends_the_command_quietly() -> None:
    command = f"{sys.executable} -m ttl opt --list | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("passes:\n", "")
