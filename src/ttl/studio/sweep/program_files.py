"""Finds the files of a program that it imports from its own folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ttl.source import tree
from ttl.source.read import read_module
from ttl.source.walking import walk


def program_files(program: Path) -> dict[str, str]:
    """Return the texts of the program and of modules imported from its folder, by name."""
    texts: dict[str, str] = {}
    left = [program.name]
    while left:
        name = left.pop()
        # Running a program that cannot be read reports why.
        with suppress(OSError, ValueError, SyntaxError, RecursionError):
            texts[name] = (program.parent / name).read_text(encoding="utf-8")
            found = read_module(texts[name])
            left += [each for each in _find_beside(program.parent, found) if each not in texts]
    return texts


def _find_beside(folder: Path, module: tree.Function) -> Iterator[str]:
    for node in walk(module):
        if isinstance(node, tree.Import) and node.module:
            inside = [f"{node.module}.{each.name}" for each in node.names if each.name is not None]
            for name in (node.module, *inside):
                path = name.replace(".", "/")
                for place in (f"{path}.py", f"{path}/__init__.py"):
                    if (folder / place).is_file():
                        yield place
