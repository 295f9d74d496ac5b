"""Other versions of Python on this machine. `python -m interpreters` prints a Python 3.12.

tt-lang and ttnn have wheels for that version only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

# Can the wheels be installed for this interpreter? Some that are found do not even start.
SUITS = """
import ensurepip, platform, sys, venv
library, version = platform.libc_ver()
fits = library == "glibc" and tuple(map(int, version.split(".")[:2])) >= (2, 35)
sys.exit(not (fits and sys.version_info[:2] == (3, 12) and platform.machine() == "x86_64"))
"""


@cache
def find_python312() -> str | None:
    """A Python 3.12 that works, found by running it."""
    return next((path for path in _candidates() if _suits(path)), None)


def _candidates() -> Iterator[str]:
    if named := os.environ.get("PYTHON312"):
        yield named
    yield sys.executable
    if on_path := shutil.which("python3.12"):
        yield on_path
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from map(str, sorted(pyenv.glob("versions/3.12.*/bin/python3.12")))


def _suits(path: str) -> bool:
    try:
        return subprocess.run([path, "-c", SUITS], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


if __name__ == "__main__":
    if (found := find_python312()) is None:
        sys.exit("no working Python 3.12; name one with PYTHON312=...")
    print(found)
