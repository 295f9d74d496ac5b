"""The files that a program is made of, as far as it imports them from its own folder."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def program_files(program: Path) -> dict[str, str]:
    """The texts of the program and of what it imports from beside it, by their names there."""
    texts: dict[str, str] = {}
    left = [program.name]
    while left:
        name = left.pop()
        with suppress(OSError, ValueError):  # a program that cannot be read tells when it is run
            texts[name] = (program.parent / name).read_text(encoding="utf-8")
            found = ast.parse(texts[name])
            left += [each for each in _beside(program.parent, found) if each not in texts]
    return texts


def _beside(folder: Path, tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            path = name.replace(".", "/")
            for place in (f"{path}.py", f"{path}/__init__.py"):
                if (folder / place).is_file():
                    yield place
