"""The C modules of wheels, built as wheels build them, whether the package under test has them."""

from __future__ import annotations

import importlib.util
import runpy
import shutil
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def built(source: str, folder: Path) -> Any:
    """The module of a file below src, made in an empty folder."""
    file = folder / source
    file.parent.mkdir(parents=True)
    for each in (ROOT / "src" / source).parent.glob("*.[ch]"):
        shutil.copy(each, file.parent)
    runpy.run_path(str(ROOT / "hatch_build.py"))["build_native"](file)
    (library,) = file.parent.glob(f"_{file.stem}*.so")
    spec = importlib.util.spec_from_file_location(f"_{file.stem}", library)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
