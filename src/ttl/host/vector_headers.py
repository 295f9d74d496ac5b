"""What headers declare of the vector unit: the rows of runtime/vector_*.cpp.

A row stands for one function of the device and for its init, so no header has to spell them out. A
header that has more than rows is a file as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

FOLDER = "api/compute/"
_HEADER = re.compile(r'HEADER\("(.+)"\)')
_ROW = re.compile(
    r"(?P<shape>OF_\w+|WITH_WORD)\((?:(?P<of>[A-Z_]+)\()?(?P<name>\w+)\)?, "
    r"(?P<plain>PLAIN\()?(?:(?P<init_of>[A-Z_]+)\()?(?P<init>\w+)"
)
_TEMPLATES = {"APPROXIMATE": ", TTL_APPROXIMATE(false)"}
_DECLARED = "DECLARED"  # by a file


@cache
def declarations(runtime: Path) -> dict[str, tuple[str, ...]]:
    """By the name of a header, as kernels include it, the lines of C++ that declare its rows."""
    found: dict[str, dict[str, None]] = {}
    for file in sorted(runtime.glob("vector_*.cpp")):
        header = ""
        for line in file.read_text(encoding="utf-8").splitlines():
            if (named := _HEADER.match(line)) is not None:
                header = FOLDER + named[1]
            elif (row := _ROW.match(line)) is not None and row["of"] != _DECLARED:
                found.setdefault(header, {}).update(dict.fromkeys(_lines(row)))
    include = f'#include "{FOLDER}common_globals.h"'
    return {header: (include, *lines) for header, lines in found.items()}


def _lines(row: re.Match[str]) -> Iterator[str]:
    kind = "PLAIN" if row["plain"] else "VECTOR"
    yield f"TTL_{kind}_INIT({row['init']}{_template(row['init_of'])})"
    yield f"TTL_{row['shape']}({row['name']}{_template(row['of'])})"


def _template(of: str | None) -> str:
    return _TEMPLATES.get(of, f", TTL_{of}") if of else ""
