"""xDSL's finder of dialects that are written as .irdl files, loaded when there is such a file.

xDSL installs it with its first dialect, and with it come importlib.resources, tempfile, shutil and
others that a compilation does not use: docs/decisions/0034.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

LOADER = "xdsl.utils.dialect_loader"


class LateFinder:
    """Asked last, for modules that nobody else has found."""

    def __init__(self, get_all_dialects: Callable[[], Any]):
        self.get_all_dialects = get_all_dialects

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        file = f"{name.rpartition('.')[2]}.irdl"
        # Without a path the present folder, which may be gone.
        if not any(os.path.isfile(os.path.join(folder, file)) for folder in path or [""]):
            return None
        from xdsl.utils.dialect_loader import IRDLDialectFinder

        finder = IRDLDialectFinder(self.get_all_dialects)
        found: ModuleSpec | None = finder.find_spec(name, path, target)
        return found


def delay_dialect_files() -> None:
    """Imports the package of xDSL's dialects, which then has no finder but this one."""
    if {"xdsl.dialects", LOADER} & {*sys.modules}:
        return
    stand_in: Any = ModuleType(LOADER)
    stand_in.IRDLDialectFinder = LateFinder
    sys.modules[LOADER] = stand_in
    try:
        import xdsl.dialects  # noqa: F401
    finally:
        del sys.modules[LOADER]
