"""The public simulator beside us: both distributions own the package `ttl`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import wheel_cache
from installed import Environment
from tutorials.wheel import REQUIREMENT

OTHER = REQUIREMENT.replace("==", " ")
PROGRAM = Path(__file__).parents[2] / "examples/elementwise.py"


@pytest.fixture(scope="module")
def other_wheel() -> Path:
    def keep(wheel: Path, folder: Path) -> None:
        folder.mkdir()
        shutil.copy(wheel, folder)

    (path,) = wheel_cache.unpacked(REQUIREMENT, "wheel", keep).glob("*.whl")
    return path


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path / "environment")


def copy_of_the_clone(folder: Path) -> Path:
    """What an editable installation needs of it."""
    root = PROGRAM.parents[1]
    for each in ("src", "examples", "docs"):
        hidden = shutil.ignore_patterns("__pycache__")
        shutil.copytree(root / each, folder / each, ignore=hidden)
    for each in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(root / each, folder)
    return folder


def is_healthy(environment: Environment) -> bool:
    return all(
        environment.run(*command).returncode == 0
        for command in (("ttl", "doctor"), ("ttl", "run", str(PROGRAM)), ("python", str(PROGRAM)))
    )


WAYS_IN = (("ttl",), ("ttl", "doctor"), ("ttl", "run", str(PROGRAM)), ("python", "-m", "ttl"))


def check_damaged(environment: Environment, *parts: str) -> str:
    """Every way in says what is wrong, without a traceback; returns what it says."""
    for command in WAYS_IN:
        done = environment.run(*command)
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        for part in parts:
            assert part in done.stderr, done.stderr
    return done.stderr


def test_the_other_installed_after_us_and_removed(
    environment: Environment, wheel: Path, other_wheel: Path
) -> None:
    environment.install(wheel)
    environment.install(other_wheel)
    both = check_damaged(environment, OTHER, "missing or overwritten", "pip uninstall --yes")
    program = environment.run("python", str(PROGRAM)).stderr
    assert both.splitlines()[-1] in program and OTHER in program

    environment.pip("uninstall", "--yes", "tt-lang-sim")
    text = check_damaged(environment, "missing or overwritten", "--force-reinstall --no-deps")
    assert "tt-lang-sim" not in text
    assert "missing or overwritten" in environment.run("python", str(PROGRAM)).stderr
    environment.follow(text)
    assert is_healthy(environment)


def test_the_advice_for_both_leaves_only_us(
    environment: Environment, wheel: Path, other_wheel: Path
) -> None:
    environment.install(wheel)
    environment.install(other_wheel)
    environment.follow(environment.run("ttl", "doctor").stderr)
    assert is_healthy(environment)
    assert "tt-lang-sim" not in environment.run("ttl", "doctor").stdout


def test_the_other_installed_before_us(
    environment: Environment, wheel: Path, other_wheel: Path
) -> None:
    """Our files are whole, so everything works; doctor says what removing the other one does."""
    environment.install(other_wheel)
    environment.install(wheel)
    assert is_healthy(environment)
    found = environment.run("ttl", "doctor").stdout
    assert OTHER in found and "removing one removes files of the other" in found
    environment.pip("uninstall", "--yes", "tt-lang-sim")
    check_damaged(environment, "missing or overwritten")


def test_beside_an_editable_clone(
    environment: Environment, other_wheel: Path, tmp_path: Path
) -> None:
    """Removing the other one takes commands of ours; the advice keeps the clone editable."""
    clone = copy_of_the_clone(tmp_path / "clone")
    options = ("--no-deps", "--no-index", "--no-build-isolation", "--editable")
    environment.pip("install", *options, str(clone))
    environment.install(other_wheel)
    both = environment.run("ttl", "doctor").stderr
    assert OTHER in both and "  pip install --force-reinstall --no-deps --editable .\n" in both

    environment.pip("uninstall", "--yes", "tt-lang-sim")
    found = environment.run("ttl", "doctor")
    assert found.returncode == 1
    assert "missing or overwritten, ../../../bin/tt-lang-s" in found.stdout
    assert "\nttl: pip install --force-reinstall --no-deps --editable .\n" in found.stdout
    environment.pip("install", "--force-reinstall", *options, str(clone))
    assert is_healthy(environment)
    assert environment.run("tt-lang-sim", str(PROGRAM)).returncode == 0


def test_a_copy_of_site_packages_has_no_commands(environment: Environment, wheel: Path) -> None:
    environment.install(wheel)
    for each in ("ttl", "ttlang-opt", "ttc", "tt-lang-sim", "tt-lang-sim-stats", "tt-lang-setup"):
        (environment.folder / "bin" / each).unlink()
    (environment.folder / "bin/tt-lang-setup-tutorials").unlink()
    assert environment.run("python", "-m", "ttl", "doctor").returncode == 0


def test_an_import_error_of_ours_is_not_taken_for_damage(
    environment: Environment, wheel: Path
) -> None:
    environment.install(wheel)
    (environment.site / "numpy.py").write_text("raise ImportError('numpy is broken')")
    assert environment.run("ttl", "doctor").stderr.endswith("ImportError: numpy is broken\n")
