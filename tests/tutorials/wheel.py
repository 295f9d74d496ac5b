"""The tutorials in the wheel of the public simulator, fetched once."""

from __future__ import annotations

import os
import zipfile
from functools import cache
from pathlib import Path

import wheel_cache

VERSION = "1.1.6"
REQUIREMENT = f"tt-lang-sim=={os.environ.get('PYTTLANG_TT_LANG_SIM_VERSION', VERSION)}"
FOLDER = "ttl/tutorials/"


@cache
def find_tutorials() -> dict[str, Path]:
    """The programs by name, such as `matmul/step_4_multinode_grid_full`, in order."""
    root = wheel_cache.unpacked(REQUIREMENT, "tutorials", _unpack) / FOLDER
    programs = sorted(path for path in root.glob("*/*.py") if path.name != "__init__.py")
    return {f"{path.parent.name}/{path.stem}": path for path in programs}


def _unpack(wheel: Path, folder: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.startswith(FOLDER):
                archive.extract(name, folder)


if __name__ == "__main__":
    print(f"tutorials: {len(find_tutorials())} in {wheel_cache.cache_folder(REQUIREMENT)}")
