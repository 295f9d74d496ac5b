"""The C module of wheels, built as wheels build it, whether the package under test has it."""

from __future__ import annotations

import importlib.util
import runpy
import shutil
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
HOOKS = runpy.run_path(str(ROOT / "hatch_build.py"))


def copy_arithmetic(folder: Path) -> Path:
    """The C file of the simulator's arithmetic, with what it includes, in an empty folder."""
    source = HOOKS["ARITHMETIC"][1]
    file: Path = folder / source
    file.parent.mkdir(parents=True)
    for each in (ROOT / "src" / source).parent.glob("*.[ch]"):
        shutil.copy(each, file.parent)
    return file


def arithmetic(folder: Path) -> Any:
    """The module, made in an empty folder."""
    file = copy_arithmetic(folder)
    HOOKS["build_compiled"](folder, [])
    (library,) = file.parent.glob("_block_math*.so")
    spec = importlib.util.spec_from_file_location("_block_math", library)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
