"""Every import inside the package is one that the table in ARCHITECTURE.md allows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "ttl"
Table = dict[str, frozenset[str]]


def read_table(text: str) -> Table:
    """Folder -> folders it may import, from the Markdown table with the columns folder and uses."""
    rows = re.findall(r"^\| `([\w./]+)` \|[^|]*\| ([^|]*) \|$", text, re.MULTILINE)
    table: Table = {}
    for name, uses in rows:
        above = frozenset(table)
        table[_folder(name)] = {
            "-": frozenset[str](),
            "everything above": above,
            "everything": above | {"__init__"},
        }.get(uses, frozenset(_folder(use.strip()) for use in uses.split(",")))
    return table


def _folder(name: str) -> str:
    return name.strip("`/").removesuffix(".py")


def first_party_imports(source: str, package: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """(line, folder) of each import of ttl in a module of `package`, wherever it stands."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _in_ttl(node.lineno, tuple(alias.name.split(".")), ())
        elif isinstance(node, ast.ImportFrom):
            kept = len(package) - node.level + 1
            base = package[:kept] if node.level else ()
            module = (*base, *(node.module.split(".") if node.module else ()))
            yield from _in_ttl(node.lineno, module, tuple(alias.name for alias in node.names))


def _in_ttl(
    line: int, module: tuple[str, ...], names: tuple[str, ...]
) -> Iterator[tuple[int, str]]:
    if module[:1] == ("ttnn",):
        yield line, "ttnn"  # the finder serves our own under this name
    elif module[:1] != ("ttl",) or _is_stub(module):
        return
    elif len(module) > 1:
        yield line, module[1]
    else:  # `import ttl`, `from ttl import x`, `from . import x`: x is a folder or a public name
        folders = [name for name in names if _exists(name)]
        yield from ((line, name) for name in folders)
        if len(folders) < len(names) or not names:
            yield line, "__init__"


def _is_stub(module: tuple[str, ...]) -> bool:
    """Read by type checkers only: python tests/editor/stubs.py writes them."""
    return len(module) == 2 and (PACKAGE / f"{module[1]}.pyi").is_file()


def _exists(name: str) -> bool:
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()


def violations(table: Table, folder: str, where: str, source: str, depth: int) -> list[str]:
    """The imports of one module that its row does not allow."""
    package = ("ttl", *([folder] if depth else []), *["_"] * (depth - 1))
    allowed = table[folder] | {folder}
    return [
        f"{where}:{line}: {folder} may not import {used}"
        for line, used in first_party_imports(source, package)
        if used not in allowed
    ]


@pytest.fixture(scope="module")
def table() -> Table:
    return read_table((ROOT / "ARCHITECTURE.md").read_text())


def test_table_names_the_folders_that_exist(table: Table) -> None:
    entries = {
        path.name.removesuffix(".py")
        for path in PACKAGE.iterdir()
        if path.suffix == ".py" or any(path.rglob("*.py"))
    }
    assert set(table) == entries


def test_uses_name_only_rows_of_the_table(table: Table) -> None:
    assert frozenset().union(*table.values()) <= set(table)


def test_every_import_is_allowed(table: Table) -> None:
    found: list[str] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        relative = path.relative_to(PACKAGE)
        folder = _folder(relative.parts[0])
        if folder in table:  # the other test reports the rest
            found += violations(
                table, folder, str(relative), path.read_text(), len(relative.parts) - 1
            )
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("statement", "used"),
    [
        ("import ttl.sim", "sim"),
        ("from ttl.sim.scheduler import x", "sim"),
        ("from ttl import sim", "sim"),
        ("from .. import sim", "sim"),
        ("from ..sim import run", "sim"),
        ("def f():\n    from ..sim import run", "sim"),
        ("if TYPE_CHECKING:\n    from ttl.sim import run", "sim"),
        ("import ttl", "__init__"),
        ("from ttl import operation", "__init__"),
        ("import ttnn", "ttnn"),
    ],
)
def test_a_forbidden_import_is_found(table: Table, statement: str, used: str) -> None:
    (message,) = violations(table, "artifact", "x.py", statement, 1)
    assert message.endswith(f"artifact may not import {used}")


def test_an_own_import_is_allowed(table: Table) -> None:
    source = "from .operation import Kernel\nfrom ttl.diagnostics import Span\nimport json\n"
    assert violations(table, "artifact", "x.py", source, 1) == []
