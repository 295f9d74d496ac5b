"""What pyproject.toml lists to be compiled in wheels holds together."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"


def compiled_modules() -> set[str]:
    hooks = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    return set(hooks["targets"]["wheel"]["hooks"]["custom"]["modules"])


def classes_of(path: Path) -> list[ast.ClassDef]:
    nodes = ast.walk(ast.parse(path.read_text()))
    return [node for node in nodes if isinstance(node, ast.ClassDef)]


def test_classes_below_compiled_ones_are_compiled_too() -> None:
    """Otherwise the first use of one in a wheel is a TypeError."""
    modules = compiled_modules()
    compiled = {found.name for module in modules for found in classes_of(SOURCES / module)}
    left_out = [
        f"{path.relative_to(SOURCES)}: {found.name}"
        for path in (SOURCES / "ttl").rglob("*.py")
        if str(path.relative_to(SOURCES)) not in modules
        for found in classes_of(path)
        if {base.id for base in found.bases if isinstance(base, ast.Name)} & compiled
    ]
    assert not left_out
