"""The walkthroughs of CONTRIBUTING.md, followed in a copy of the tree.

A comment before a block of code tells where it goes: into a new file, or into a file before, after
or instead of the one line that begins with a text. A console has commands, and lines that they
print.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STEP = re.compile(r"<!-- (?P<what>[^\n]*?) -->\n```\w*\n(?P<block>.*?)```\n", re.DOTALL)
PLACE = re.compile(r"in (?P<path>\S+) (?P<where>before|after|instead of): (?P<line>.*)")
COPIED = ("src", "tests", "docs", "examples", "pyproject.toml")


@dataclass(frozen=True, slots=True)
class Step:
    what: str
    block: str


def walkthroughs() -> Iterator[tuple[str, list[Step]]]:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    for part in text.split("<!-- walkthrough: ")[1:]:
        name, _, rest = part.partition(" -->\n")
        yield name, [Step(found["what"], found["block"]) for found in STEP.finditer(rest)]


WALKTHROUGHS = dict(walkthroughs())


def test_there_are_three() -> None:
    assert [*WALKTHROUGHS] == ["operation", "pass", "diagnostic"]
    assert all(steps[-1].what == "run" for steps in WALKTHROUGHS.values())


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "name", [pytest.param("operation", marks=pytest.mark.full), "pass", "diagnostic"]
)
def test_it_leads_where_it_says(name: str, tmp_path: Path) -> None:
    for part in COPIED:
        source = ROOT / part
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "notebooks")
            shutil.copytree(source, tmp_path / part, ignore=ignored)
        else:
            shutil.copy(source, tmp_path / part)
    for step in WALKTHROUGHS[name]:
        follow(step, tmp_path)


def follow(step: Step, folder: Path) -> None:
    if step.what == "run":
        for command, lines in commands(step.block):
            printed = output_of(command, folder)
            assert [line for line in lines if line not in printed] == [], printed
    elif step.what.startswith("new "):
        (folder / step.what.removeprefix("new ")).write_text(step.block)
    else:
        place = PLACE.fullmatch(step.what)
        assert place is not None, step.what
        insert(folder / place["path"], place["where"], place["line"], step.block)


def insert(file: Path, where: str, line: str, block: str) -> None:
    lines = file.read_text().splitlines(keepends=True)
    (position,) = [i for i, each in enumerate(lines) if each.startswith(line)]
    first, last = {"before": (0, 0), "after": (1, 1), "instead of": (0, 1)}[where]
    lines[position + first : position + last] = [block]
    file.write_text("".join(lines))


def commands(block: str) -> Iterator[tuple[list[str], list[str]]]:
    for part in block.split("$ ")[1:]:
        command, *lines = part.rstrip().split("\n")
        yield shlex.split(command), [line.strip() for line in lines]


def output_of(command: list[str], folder: Path) -> str:
    tool, *arguments = command
    if tool == "pytest":
        arguments += ["-n", "0", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    if tool == "ttl":
        environment["PYTTLANG_CACHE"] = str(folder / "cache")
    done = subprocess.run(
        [sys.executable, "-P", "-m", tool, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr
