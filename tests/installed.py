"""Our wheel, and environments with nothing but it and what it needs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy

ROOT = Path(__file__).parents[1]
# What we need, and not our tree: .pth files in a folder that one of them names are not read.
OTHER_PACKAGES = Path(numpy.__file__).parents[1]


def build_wheel(folder: Path) -> Path:
    """The pure wheel: compiling takes its time."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        env={**os.environ, "HATCH_BUILD_NO_HOOKS": "true"},
    )
    (path,) = folder.glob("*.whl")
    return path


class Environment:
    """A new environment that finds the packages of this one, but not ours."""

    def __init__(self, folder: Path):
        self.folder = folder
        venv = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
        subprocess.run(venv, check=True)
        self.python = folder / "bin/python"
        (self.site,) = folder.glob("lib/python*/site-packages")
        (self.site / "dependencies.pth").write_text(str(OTHER_PACKAGES))

    def pip(self, *arguments: str) -> None:
        pip = [sys.executable, "-m", "pip", "--python", str(self.python), "--quiet"]
        quiet = ["--disable-pip-version-check"]
        subprocess.run([*pip, *arguments, *quiet], check=True, capture_output=True)

    def install(self, wheel: Path, *options: str) -> None:
        offline = ["--no-deps", "--no-index", "--force-reinstall"]
        self.pip("install", *offline, *options, str(wheel))

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        paths = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": paths}
        environment.pop("PYTHONPATH", None)
        command = (str(self.folder / "bin" / command[0]), *command[1:])
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment, cwd=self.folder
        )

    def follow(self, text: str) -> None:
        """Type the commands that a message names."""
        commands = [line.split() for line in text.splitlines() if line.startswith("  pip ")]
        assert commands
        for command in commands:
            self.pip(*command[1:])
