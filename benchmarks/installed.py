"""`python -m benchmarks.installed`: what an installation takes, and how long imports do.

The pure wheel is installed into a new environment; nothing but what it needs is there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from benchmarks.processes import ROOT, output_of

RUNS = 5
IMPORTS = ("pass", "import numpy", "import ttl", "import ttl, ttnn", "import ttl.driver")
OF_THE_ENVIRONMENT = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
HEADER = "| what | size, MB |\n|---|---:|"
TIMES = "\n| import, CPU time above an empty interpreter | ms |\n|---|---:|"


def new_environment(folder: Path) -> Path:
    environment = {**os.environ, "HATCH_BUILD_NO_HOOKS": "true"}
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env=environment)
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, *map(str, folder.glob("*.whl"))], check=True, stderr=subprocess.PIPE)
    return python


def sizes(site: Path) -> dict[str, float]:
    """Return the megabytes of each package, without bytecode."""
    found: dict[str, float] = {}
    for path in site.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            name = path.relative_to(site).parts[0].partition("-")[0].removesuffix(".libs")
            found[name] = found.get(name, 0) + path.stat().st_size / 1e6
    return found


def milliseconds(python: Path, statement: str) -> float:
    command = [str(python), "-I", "-c", statement]
    output_of(command)  # writes the bytecode
    return 1000 * min(output_of(command)[1] for _ in range(RUNS))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        python = new_environment(Path(folder))
        (site,) = (Path(folder) / "env").glob("lib/python*/site-packages")
        found = sizes(site)
        for name in OF_THE_ENVIRONMENT:
            found.pop(name, None)
        print(HEADER)
        large = sorted(((size, name) for name, size in found.items() if size >= 1), reverse=True)
        for size, name in large:
            print(f"| {name} | {size:.1f} |")
        print(f"| all | {sum(found.values()):.0f} |")
        print(TIMES)
        nothing = milliseconds(python, IMPORTS[0])
        for statement in IMPORTS[1:]:
            print(f"| `{statement}` | {milliseconds(python, statement) - nothing:.0f} |")


if __name__ == "__main__":
    main()
