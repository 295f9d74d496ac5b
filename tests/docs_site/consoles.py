"""What a page shows of a terminal, run again: each command, and the lines printed after it."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import takewhile

from ttl.cli import main
from ttl.driver import PROCESS_DRIVER
from ttl.driver.remarks import Remarks

MODELLED = ("estimate", "tune")  # what they print changes with the model of the chip
_NUMBER = re.compile(r"[\d.]+(e\+?\d+)?")


def commands_of(console: str) -> Iterator[tuple[list[str], list[str]]]:
    lines = console.splitlines()
    for number, line in enumerate(lines):
        if line.startswith("$ "):
            shown = takewhile(lambda each: not each.startswith("$ "), lines[number + 1 :])
            yield shlex.split(line[2:]), list(shown)


def run_again(console: str) -> None:
    """Runs the commands of a console block in the current folder and compares what they print."""
    for command, shown in commands_of(console):
        assert command[0] == "ttl", command
        status, printed = _forked(command[1:]) if command[1] == "tune" else _called(command[1:])
        assert status == 0, f"{shlex.join(command)} ended with {status}"
        differences = compare(command[1], shown, printed.splitlines())
        assert not differences, f"{shlex.join(command)} does not print {differences}"


def _called(arguments: list[str]) -> tuple[int, str]:
    PROCESS_DRIVER.remarks = Remarks()  # what was shown once is shown again
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        status = main(arguments)
    return status, printed.getvalue()


def _forked(arguments: list[str]) -> tuple[int, str]:
    """In a process of its own: the command forks, which jax in this one does not stand."""
    script = "import sys; from ttl.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def compare(verb: str, shown: list[str], printed: list[str]) -> list[str]:
    """The lines that are shown and were not printed; `...` stands for anything, at the end for
    all that follows.
    """
    if verb in MODELLED:
        found = {_outline(line) for line in printed}
        return [line for line in shown if line and line != "..." and _outline(line) not in found]
    missing = [line for line, other in zip(shown, printed, strict=False) if not _fits(line, other)]
    is_cut = shown[-1:] == ["..."] or not shown or verb == "compile"
    if len(printed) != len(shown) and not is_cut:
        missing.append(f"{len(shown)} lines, but {len(printed)}")
    return missing


def _fits(shown: str, printed: str) -> bool:
    pattern = re.sub(r"([\[*?])", r"[\1]", shown).replace("...", "*")
    return fnmatchcase(printed.rstrip(), pattern.rstrip())


def _outline(line: str) -> str:
    """Without numbers, and without what bounds it."""
    return " ".join(_NUMBER.sub("#", line.partition("; bound")[0]).split())
