"""`python -m upstream [PACKAGE...]`: newer versions of what we build on, and what they break.

The versions in use are read where they are pinned. A newer one is put before the packages of this
environment, in a folder of its own, and the tests that meet the package are run with it. What comes
out is a report: the exit status is 0 also where something breaks. docs/decisions/0031 tells when we
move.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import ttnn_drift
from headers import metal_headers
from ttnn_drift import Outcome, newest_version, outcome, run_tests
from tutorials import wheel

ROOT = Path(__file__).parents[1]
# The tests that meet a package first.
TESTS_OF = {
    "xdsl": ("filecheck", "golden", "unit/dialects"),
    "torch": ("graph/test_a05_capture.py", "graph/test_runtime.py"),
    "jax": ("graph/test_jax.py",),
}


@dataclass(frozen=True, slots=True)
class Package:
    name: str
    used: str

    @property
    def newest(self) -> str | None:
        is_ttnn = self.name == "ttnn"
        return newest_version(self.name, metal_headers.PLATFORM if is_ttnn else ())

    def is_newer(self, version: str) -> bool:
        """`0.74.*` stands for all of 0.74."""
        return not version.startswith(self.used.removesuffix("*"))


def pinned(text: str, name: str) -> str:
    """The version that pyproject.toml pins."""
    project = tomllib.loads(text)["project"]
    lists = (project["dependencies"], *project["optional-dependencies"].values())
    found = (re.fullmatch(rf"{name}==(\S+)", each) for listed in lists for each in listed)
    return next(each[1] for each in found if each is not None)


def packages() -> list[Package]:
    text = (ROOT / "pyproject.toml").read_text()
    own = [Package("ttnn", metal_headers.VERSION), Package("tt-lang-sim", wheel.VERSION)]
    return own + [Package(name, pinned(text, name)) for name in TESTS_OF]


def tried(name: str, version: str) -> list[Outcome]:
    if name == "ttnn":
        return [ttnn_drift.tried(version, part) for part in ttnn_drift.PARTS]
    if name == "tt-lang-sim":
        text = run_tests(("tutorials",), {"PYTTLANG_TT_LANG_SIM_VERSION": version})
        return [outcome(version, "tutorials", text)]
    with tempfile.TemporaryDirectory() as folder:
        python = overlay(Path(folder), f"{name}=={version}")
        if python is None:
            return [Outcome(version, "installation", {}, (f"{name} {version} was not installed",))]
        run = partial(run_tests, variables={}, python=str(python))
        return [outcome(version, part, run((part,))) for part in TESTS_OF[name]]


def overlay(folder: Path, requirement: str) -> Path | None:
    """An interpreter that has a package before all those that this one has."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    own = sysconfig.get_path("purelib")
    (site / "below.pth").write_text(f"import site; site.addsitedir({own!r})\n")
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*command, "--ignore-installed", requirement], check=False)
    return python if done.returncode == 0 else None


def main(names: Sequence[str]) -> None:
    for package in packages():
        if names and package.name not in names:
            continue
        newest = package.newest
        if newest is None:
            print(f"{package.name}: the package registry does not tell the newest version")
        elif not package.is_newer(newest):
            print(f"{package.name} {package.used}: the newest is {newest}")
        else:
            outcomes = tried(package.name, newest)
            print("\n".join(ttnn_drift.report(outcomes, f"{package.name}, now {package.used}")))


if __name__ == "__main__":
    main(sys.argv[1:])
