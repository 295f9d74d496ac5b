"""Every text that says how to install something names a clone of us or a dependency."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
# The one function that names an extra to install; the rows of `ttl doctor` for dependencies.
WRITERS = {
    "src/_pyttlang_installation.py",
    "src/ttl/device/readiness.py",
    "src/ttl/cli/doctor.py",
}
COMMAND = re.compile(
    r"""pip install((?: (?:--?[\w-]+|'[^'\n]*'|"[^"\n]*"|[\w.][\w.\[\],<>=~-]*))+)"""
)
CALLED = re.compile(r"install_extra\([\"'](\w+)[\"']\)")
ASKED = re.compile(r"[\w.-]+")


def _files(*patterns: str) -> list[Path]:
    return sorted(path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file())


def _commands(files: list[Path]) -> set[tuple[str, str]]:
    """The files and the arguments of each `pip install` in them, without prose after them."""
    found = set()
    for file in files:
        for each in COMMAND.finditer(file.read_text(encoding="utf-8")):
            words = shlex.split(each[1])
            options = [word for word in words if word.startswith("-")]
            for first in [word for word in words if not word.startswith("-")][:1]:
                if "{" not in first:
                    found.add((str(file.relative_to(ROOT)), shlex.join([*options, first])))
    return found


PAGES = _files("*.md", "docs/**/*.md", "docs/**/*.ipynb", "examples/**/*.py", "examples/**/*.md")
SOURCES = _files("src/**/*.py", "src/**/*.pyi")
WRITTEN = sorted(_commands([*PAGES, *SOURCES]))
CALLS = sorted({name for file in SOURCES for name in CALLED.findall(file.read_text())})


def _names(requirements: list[str]) -> set[str]:
    return {ASKED.match(each)[0].lower() for each in requirements}  # type: ignore[index]


DEPENDENCIES = {"ttnn"} | _names(
    [*PROJECT["dependencies"], *(each for extra in EXTRAS.values() for each in extra)]
)


def test_there_are_texts() -> None:
    assert len(WRITTEN) > 8 and {"editor", "torch", "native"} <= set(CALLS)


@pytest.mark.parametrize(("file", "arguments"), WRITTEN)
def test_only_a_clone_or_a_dependency_is_named(file: str, arguments: str) -> None:
    target = shlex.split(arguments)[-1]
    extras = re.fullmatch(r"\.(?:\[([\w,]+)\])?", target)
    if extras:
        assert set((extras[1] or "dev").split(",")) <= set(EXTRAS)
        assert not file.startswith("src/"), "write it with install_extra()"
    else:
        (name,) = _names([target])
        assert name in DEPENDENCIES - {PROJECT["name"], "pyttl"}


def test_sources_ask_the_one_function() -> None:
    """A text with a hole, as f"pip install '{name}'", is written in two places only."""
    hole = re.compile(r"pip install [^\n]*\{")
    assert {str(f.relative_to(ROOT)) for f in SOURCES if hole.search(f.read_text())} <= WRITERS
    assert set(CALLS) <= set(EXTRAS)


def _fresh(folder: Path) -> tuple[list[str], dict[str, str]]:
    """A new environment with pip, for a user whose home folder is empty."""
    subprocess.run([sys.executable, "-m", "venv", str(folder / "new")], check=True)
    kept = {name: text for name, text in os.environ.items() if name.startswith("PIP_")}
    variables = kept | {"PATH": os.environ["PATH"]}
    (folder / "home").mkdir()
    return [str(folder / "new/bin/python"), "-m", "pip"], variables | {"HOME": str(folder / "home")}


def _chosen(pip: list[str], variables: dict[str, str], arguments: str, folder: Path) -> set[str]:
    """The packages that the command would install, and from where ours would come."""
    report = folder / "report.json"
    asked = ["install", "--dry-run", "--report", str(report), *shlex.split(arguments)]
    done = subprocess.run(
        [*pip, *asked], cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    chosen = json.loads(report.read_text())["install"]
    ours = [each for each in chosen if each["metadata"]["name"] == PROJECT["name"]]
    assert all(each["download_info"]["url"].startswith("file://") for each in ours)
    return {each["metadata"]["name"].lower() for each in chosen}


SAYS = sorted({text for _, text in WRITTEN} | {f"'.[{c}]'" for c in CALLS})


@pytest.mark.sampled(1)
@pytest.mark.parametrize("arguments", SAYS)
def test_what_is_said_works_in_a_clone(arguments: str, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    clone.mkdir()
    for each in ("src", "examples", "docs"):
        shutil.copytree(ROOT / each, clone / each, ignore=shutil.ignore_patterns("__pycache__"))
    for each in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / each, clone)
    pip, variables = _fresh(tmp_path)
    if "--no-build-isolation" in arguments:
        subprocess.run([*pip, "install", "--quiet", "hatchling"], check=True, env=variables)
    found = _chosen(pip, variables | {"HATCH_BUILD_NO_HOOKS": "true"}, arguments, clone)
    is_ours = shlex.split(arguments)[-1].startswith(".")
    assert PROJECT["name"] in found if is_ours else found <= DEPENDENCIES


@pytest.mark.sampled(1)
@pytest.mark.parametrize("extra", CALLS)
def test_what_is_said_after_a_wheel_works(extra: str, wheel: Path, tmp_path: Path) -> None:
    """Nothing of our name is taken from the package index: it is installed already."""
    pip, variables = _fresh(tmp_path)
    subprocess.run([*pip, "install", "--quiet", str(wheel)], check=True, env=variables)
    code = f"from _pyttlang_installation import install_extra; print(install_extra({extra!r}))"
    said = subprocess.run([pip[0], "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == f"pip install '{PROJECT['name']}[{extra}]'\n"
    arguments = said.removeprefix("pip install ")
    found = _chosen(pip, variables, arguments, tmp_path)
    assert found & _names(EXTRAS[extra]) and PROJECT["name"] not in found
