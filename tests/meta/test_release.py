"""What a release consists of: workflows that call the Makefile, notices, one version."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import distributions, requires
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

import ttl

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Found by meaning, whatever the year and the name.
NOTICE = re.compile(r"SPDX-License-Identifier|copyright|all rights reserved", re.IGNORECASE)
WITH_TEXT = (".py", ".pyi", ".h", ".cpp", ".js", ".css", ".mlir", ".toml", ".yml", ".ipynb")
HEADER_LINES = 8


def jobs(workflow: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(workflow.read_text())["jobs"]
    return found


def targets() -> set[str]:
    text = (ROOT / "Makefile").read_text()
    return set(re.findall(r"^([a-z][a-z-]*):", text, re.MULTILINE))


def commands(workflow: Path) -> list[str]:
    """Those of its steps, with the values of the matrix in their places."""
    found = []
    for job in jobs(workflow).values():
        matrix = job.get("strategy", {}).get("matrix", {})
        for step in job["steps"]:
            text = step.get("run", "")
            values = matrix.get("command", [""]) if "matrix.command" in text else [""]
            found += [text.replace("${{ matrix.command }}", value) for value in values if text]
    return found


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_what_the_makefile_has(workflow: Path) -> None:
    """Nothing is written twice: a command is one of `make`, or fetches what it needs."""
    for command in commands(workflow):
        tool, target, *_ = command.split()
        assert tool == "make" or command.startswith("gh run download"), command
        assert tool != "make" or target in targets(), command


def test_what_the_fuzzer_finds_at_night_is_kept() -> None:
    steps = jobs(ROOT / ".github/workflows/nightly.yml")["run"]["steps"]
    found = import_module("fuzz.__main__").FOLDER / "failures"
    kept = [each["with"]["path"] for each in steps if "upload-artifact" in each.get("uses", "")]
    assert kept == [str(found.relative_to(ROOT))]


def test_the_page_about_installing_has_every_extra() -> None:
    rows = re.findall(r"^\| (`.*?) \|", (ROOT / "docs/reference/installation.md").read_text(), re.M)
    listed = {name for row in rows for name in re.findall(r"`([a-z]+)`", row)}
    assert {*PROJECT["optional-dependencies"]} <= listed


def test_every_python_that_is_promised_is_tested_and_built() -> None:
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    suite = jobs(ROOT / ".github/workflows/tests.yml")["suite"]
    assert suite["strategy"]["matrix"]["python"] == promised
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]["build"]
    assert built.split() == [f"cp{version.replace('.', '')}-*" for version in promised]


def test_one_version() -> None:
    assert "version" in PROJECT["dynamic"]
    changes = (ROOT / "CHANGELOG.md").read_text()
    newest = re.search(r"^## \[([^]]+)\]", changes, re.MULTILINE)
    assert newest is not None and newest[1] in (ttl.__version__, "Unreleased")


def test_the_changelog_has_its_form() -> None:
    headings = re.findall(r"^#{2,3} (.*)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    version = re.compile(r"\[(\d+\.\d+\.\d+|Unreleased)\]( - (\d{4}-\d\d-\d\d|unreleased))?")
    assert all(each in kinds or version.fullmatch(each) for each in headings), headings


def test_no_file_has_a_license_of_its_own() -> None:
    """LICENSE holds for all: a notice in a file is a file of somebody else's."""
    parts = ("src", "tests", "examples", "benchmarks", "docs", ".github")
    files = [each for part in parts for each in (ROOT / part).rglob("*") if each.is_file()]
    own = [f for f in files if f.suffix in WITH_TEXT and "__pycache__" not in f.parts]
    assert len(own) > 1000
    found = [str(f.relative_to(ROOT)) for f in own if f != Path(__file__) and _has_notice(f)]
    assert found == []


def _has_notice(file: Path) -> bool:
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()[:HEADER_LINES]
    return any(map(NOTICE.search, lines))


def test_the_notices_name_what_is_installed() -> None:
    rows = re.findall(r"^\| ([\w, -]+) \|", (ROOT / "THIRD_PARTY.md").read_text(), re.MULTILINE)
    listed = {name.replace("_", "-") for row in rows for name in row.split(", ")}
    assert _fetched(PROJECT["dependencies"]) <= listed
    extras = PROJECT["optional-dependencies"]
    of_users = ("native", "torch", "jax", "flax", "editor", "cluster", "isolate", "plot")
    assert {_name(each) for extra in of_users for each in extras[extra]} - {"pyttlang"} <= listed


def _name(requirement: str) -> str:
    return re.split(r"[\[=<>~; ]", requirement)[0].lower().replace("_", "-")


def _fetched(requirements: Iterable[str]) -> set[str]:
    """Names, and those of what they need in turn, but for their extras."""
    found = {_name(each) for each in requirements if "extra ==" not in each}
    inner = (_fetched(requires(name) or ()) for name in found if _is_installed(name))
    return {name for name in found if _is_installed(name)}.union(*inner)


def _is_installed(name: str) -> bool:
    return any(distributions(name=name))
