"""An environment with the real ttnn, made once in a cache folder outside the tree.

ttnn has wheels for one version of Python only, so the tests that need it run their part in a
process of that version.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import wheel_cache
from headers.metal_headers import PLATFORM, REQUIREMENT
from interpreters import find_python312

ROOT = Path(__file__).parents[2]
LAYOUT = 1  # raise it when what is installed below changes
NO_INTERPRETER = "no working Python 3.12 for the wheel of ttnn"


@cache
def find_environment() -> Path | None:
    """The python of the environment, made now if it is not there; None without an interpreter.

    RuntimeError, with what pip said, if something cannot be installed.
    """
    if find_python312() is None:
        return None
    folder = wheel_cache.unpacked(REQUIREMENT, f"environment-{LAYOUT}", _install, PLATFORM)
    return folder / "bin" / "python"


def _install(wheel: Path, folder: Path) -> None:
    """The wheel, and what pyttlang needs beside it. The folder is moved when it is complete."""
    interpreter = find_python312()
    assert interpreter is not None
    _run([interpreter, "-m", "venv", str(folder)])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    print(f"{REQUIREMENT}: installing what it needs, this once", file=sys.stderr, flush=True)
    _run([*pip, "--disable-pip-version-check", str(wheel), *project["dependencies"]])


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")


def run_in_environment(script: Path, *arguments: str, folder: Path | None = None) -> str:
    """What a script prints there; it imports `ttl` and the tests' own modules from this tree.

    It runs in `folder`, where ttnn may leave files.
    """
    python = find_environment()
    assert python is not None
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT / "tests"))),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [str(python), str(script), *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


if __name__ == "__main__":
    print(f"ttnn: {find_environment() or NO_INTERPRETER}")
