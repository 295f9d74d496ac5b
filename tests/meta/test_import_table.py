"""Every import inside the packages is one that the tables in ARCHITECTURE.md allow."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
PACKAGES = ("ttl", "pykernel", "ttgraph", "tt_torch")
Table = dict[str, frozenset[str]]  # a room -> the rooms that it may import


def read_table(text: str) -> Table:
    """Read the Markdown tables with the columns folder and uses.

    Rooms are dotted names; files beside folders are in the room of their package.
    """
    rows = re.findall(r"^\| `([\w./]+)` \|[^|]*\| ([^|]*) \|$", text, re.MULTILINE)
    table: Table = {}
    for name, uses in rows:
        above = frozenset(table)
        table[_room(name)] = {
            "-": frozenset[str](),
            "everything above": above,
            "everything": above | {"ttl"},
        }.get(uses, frozenset(_room(use.strip()) for use in uses.split(",")))
    return table


def _room(name: str) -> str:
    dotted = name.strip("`").removesuffix(".py").strip("/").replace("/", ".")
    if dotted == "__init__":
        return "ttl"
    return dotted if dotted.partition(".")[0] in PACKAGES else f"ttl.{dotted}"


def room_of(module: str, rooms: Table) -> str | None:
    """Find the room of a module: the longest name that it begins with."""
    parts = module.split(".")
    names = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((name for name in names if name in rooms), None)


def imports(source: str, package: str) -> Iterator[tuple[int, str]]:
    """List (line, module) of each import of ours in a module of `package`, wherever it stands."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(parts if node.level else []), *filter(None, [node.module])])
            found = [_module(base, alias.name) for alias in node.names]
        else:
            continue
        for module in found:
            if module.partition(".")[0] == "ttnn":
                yield node.lineno, "ttl.ttnn"  # the finder serves our own under this name
            elif module.partition(".")[0] in PACKAGES and not _is_stub(module):
                yield node.lineno, module


def _module(base: str, name: str) -> str:
    """`from base import name`: name is a module, or something in base."""
    file = SOURCES.joinpath(*base.split("."), name)
    return f"{base}.{name}" if file.is_dir() or file.with_suffix(".py").is_file() else base


def _is_stub(module: str) -> bool:
    """Read by type checkers only: python tests/editor/stubs.py writes them."""
    place = SOURCES.joinpath(*module.split("."))
    return place.with_suffix(".pyi").is_file() and not place.with_suffix(".py").is_file()


def violations(table: Table, module: str, source: str, is_package: bool = False) -> list[str]:
    """List the imports of one module that its row does not allow."""
    room = room_of(module, table)
    assert room is not None, f"{module} is in no row of ARCHITECTURE.md"
    package = module if is_package else module.rpartition(".")[0]
    found = []
    for line, used in imports(source, package):
        other = room_of(used, table) or used
        if other not in table[room] | {room}:
            found.append(f"{module}:{line}: {room} may not import {other}")
    return found


def modules() -> Iterator[tuple[str, Path]]:
    for package in PACKAGES:
        for path in sorted((SOURCES / package).rglob("*.py")):
            parts = path.relative_to(SOURCES).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


@pytest.fixture(scope="module")
def table() -> Table:
    return read_table((ROOT / "ARCHITECTURE.md").read_text())


def test_table_names_the_folders_that_exist(table: Table) -> None:
    entries = {
        ".".join(path.relative_to(SOURCES).with_suffix("").parts)
        for folder in (SOURCES / "ttl", SOURCES / "ttl" / "studio")
        for path in folder.iterdir()
        if (path.suffix == ".py" and path.stem != "__init__") or any(path.rglob("*.py"))
    }
    in_ttl = {name for name in table if name.startswith("ttl.")}
    assert in_ttl == entries - {"ttl.studio"}
    assert set(PACKAGES) <= set(table)


def test_uses_name_only_rows_of_the_table(table: Table) -> None:
    assert frozenset().union(*table.values()) <= {*table}


def test_packages_import_those_before_them(table: Table) -> None:
    for room, uses in table.items():
        if room == "ttl.integrations":  # older names of what is above
            continue
        place = PACKAGES.index(room.partition(".")[0])
        assert all(PACKAGES.index(use.partition(".")[0]) <= place for use in uses), room


def test_every_import_is_allowed(table: Table) -> None:
    found: list[str] = []
    for module, path in modules():
        found += violations(table, module, path.read_text(), path.stem == "__init__")
    assert not found, "\n".join(found)


LOOKED_UP = r'import_module\(\s*f?"((?:ttl|pykernel|ttgraph)(?:\.\w+)*)'
# What is looked up by name while a program runs, because an import would go the other way.
BY_NAME = {
    ("ttl.cli.above", "ttgraph.cli"),
    ("ttl.sim", "ttl"),
    ("ttl.ttnn.programs", "ttl.driver.generic_programs"),
    ("pykernel.d2m_api", "ttgraph.flatbuffer"),
    ("pykernel.d2m_api", "ttgraph.pykernel_calls"),
}


def test_modules_that_are_looked_up_by_name_are_listed(table: Table) -> None:
    found = set()
    for module, path in modules():
        for name in re.findall(LOOKED_UP, path.read_text()):
            if violations(table, module, f"import {name}", path.stem == "__init__"):
                found.add((module, name))
    assert found == BY_NAME


@pytest.mark.parametrize(
    ("statement", "used"),
    [
        ("import ttl.sim", "ttl.sim"),
        ("from ttl.sim.scheduler import x", "ttl.sim"),
        ("from ttl import sim", "ttl.sim"),
        ("from .. import sim", "ttl.sim"),
        ("from ..sim import run", "ttl.sim"),
        ("def f():\n    from ..sim import run", "ttl.sim"),
        ("if TYPE_CHECKING:\n    from ttl.sim import run", "ttl.sim"),
        ("import ttl", "ttl"),
        ("from ttl import operation", "ttl"),
        ("import ttnn", "ttl.ttnn"),
        ("import pykernel.dialects", "pykernel.dialects"),
        ("from ttgraph.flatbuffer import Runtime", "ttgraph.flatbuffer"),
    ],
)
def test_a_forbidden_import_is_found(table: Table, statement: str, used: str) -> None:
    (message,) = violations(table, "ttl.artifact.x", statement)
    assert message.endswith(f"ttl.artifact may not import {used}")


def test_an_own_import_is_allowed(table: Table) -> None:
    source = "from .operation import Kernel\nfrom ttl.diagnostics import Span\nimport json\n"
    assert violations(table, "ttl.artifact.x", source) == []
