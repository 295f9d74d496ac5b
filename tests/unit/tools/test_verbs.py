"""`ttl` without a verb, with an unknown one, and with an unknown name or option."""

from __future__ import annotations

import pytest

from ttl.cli import main
from ttl.cli.verbs import GROUPS, VERBS, help_text
from ttl.diagnostics import codes

LINES, COLUMNS = 40, 80  # of a screen


@pytest.mark.parametrize("given", [[], ["--help"], ["-h"]])
def test_the_help_is_printed(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(given) == 0
    shown = capsys.readouterr()
    assert shown.out == f"{help_text()}\n" and shown.err == ""


def test_the_help_has_all_verbs_in_groups_on_one_screen() -> None:
    lines = help_text().splitlines()
    assert len(lines) <= LINES and max(map(len, lines)) <= COLUMNS
    groups = [line.split()[0] for line in lines if line.split()[1:2] and line.split()[0] in GROUPS]
    assert list(dict.fromkeys(groups)) == [
        "write",
        "check",
        "run",
        "speed",
        "look",
        "deploy",
        "tools",
    ]
    for verb, text in VERBS.items():
        assert sum(f" {verb} " in f" {line}" and line.endswith(text) for line in lines) == 1


UNKNOWN = {
    "bogus": "there is no verb `bogus`; did you mean `ttl run FILE`? `ttl --help` lists the verbs",
    "doctr": "there is no verb `doctr`; did you mean `doctor`?",
    "add.py": "there is no verb `add.py`; did you mean `ttl run add.py`?",
    "--fast": "there is no option `--fast`; options follow the verb, as in `ttl run --host FILE`",
    "help": "there is no verb `help`; did you mean `--help`?",
    "--hlep": "there is no option `--hlep`; did you mean `--help`?",
}


@pytest.mark.parametrize("verb", UNKNOWN)
def test_an_unknown_verb_gets_one_line(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "program.py"]) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err == f"ttl: error: {UNKNOWN[verb]}\n"


def test_a_wrong_option_does_not_show_all_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["run", "--hots", "program.py"])
    assert stopped.value.code == 2
    first, more = capsys.readouterr().err.splitlines()
    assert first.startswith("ttl run: error: unknown option --hots;")
    assert more == "`ttl run --help` shows the options"


@pytest.mark.parametrize("name", ["TTL5099", "TTL9999", "5099", "xyz"])
def test_an_unknown_code_is_not_taken_for_another(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", name]) == 1
    shown = capsys.readouterr().err
    expected = f"there is no diagnostic `{name}`; `ttl explain` lists all of them"
    assert shown == f"ttl explain: error: {expected}\n"
    assert not any(code in shown.replace(name, "") for code in codes.CATALOGUE)


def test_the_name_of_a_code_that_is_nearly_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "deadlok"]) == 1
    assert "there is no diagnostic `deadlok`; did you mean `deadlock`?" in capsys.readouterr().err


WITH_A_CHIP = ("run", "check", "compile", "explore", "estimate", "tune", "view", "lower")


@pytest.mark.parametrize("verb", [*WITH_A_CHIP, "calibrate"])
def test_an_unknown_target_gets_the_list(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([verb, "--target", "balckhole", "program.py"])
    assert stopped.value.code == 2
    assert "--target: balckhole: not a target; did you mean `blackhole`? There are " in (
        shown := capsys.readouterr().err
    )
    for name in ("wormhole_b0 (8x8 nodes)", "wormhole_b0_full (8x9 ", "blackhole (13x10 "):
        assert name in shown
    assert len(shown.splitlines()) == 2


@pytest.mark.parametrize("verb", WITH_A_CHIP)
def test_verbs_that_run_programs_share_the_options_of_the_chip(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([verb, "--help"])
    shown = capsys.readouterr().out.partition("\nchip:\n")[2]
    assert shown.lstrip().startswith("--target NAME") and "--grid R,C" in shown


def test_completion_has_the_targets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    (line,) = (line for line in script.splitlines() if line.strip().startswith("check)"))
    assert "--target wormhole_b0 wormhole_b0_full blackhole" in line
