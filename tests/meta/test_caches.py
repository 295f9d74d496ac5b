"""Everything that is kept in memory is in the list of docs/decisions/0038, with its key and bound.

`pytest --update-golden tests/meta/test_caches.py` writes the list again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from meta.test_plain import CACHE, STATE

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "decisions" / "0038-calls-and-what-is-compiled.md"
HEAD = "| file | what | key | at most |\n|---|---|---|---|\n"
DEFAULT_BOUND = 128  # of lru_cache
NAMES = "names in tables of ours"  # bound of `cache`
# By what a Recent is asked.
KEYS = {
    "_chips": "signature",
    "_chosen": "call of a tuned operation",
    "_functions": "function of jax",
    "_graphs": "text of a graph",
    "_kept": "signature",
    "_known": "signature, or code",
    "_noted": "text of a remark",
    "_owners": "folder",
    "_passed": "signature",
    "_warned": "code and place",
    "_CALLS": "operation, types, shapes",
    "_KNOWN": "code, file",
    "_POINTS": "code, what it names",
    "_READY": "artifact, kinds of tensors, folder, counted calls",
    "_RUNTIMES": "text of a graph",
    "_UNIFIED": "body, arguments",
    "_USES": "kernel, what it names",
    "compiled": "graph of torch",
    "made": "lengths",
}
# Dicts: their key, and the constant that bounds them.
DICTS = {
    "_CHECKED": ("operation, arguments", "MOST_CHECKED"),
    "_MADE": ("code, file", "MOST_MADE"),
    "_TEXTS": ("file", "MOST_FILES"),
}
Row = tuple[str, str, str, str]


def kept(file: str, tree: ast.Module) -> Iterator[Row]:
    constants = {
        node.targets[0].id: ast.unparse(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            given = (*node.args.args, node.args.vararg, *node.args.kwonlyargs)
            key = [each.arg for each in given if each and each.arg not in ("self", "cls")]
            for bound in bounds(node):
                yield file, f"`{node.name}`", ", ".join(key) or "-", bound if key else "1"
        elif isinstance(node, ast.AnnAssign) and ast.unparse(node.target) in DICTS:
            asked, most = DICTS[ast.unparse(node.target)]
            yield file, f"`{ast.unparse(node.target)}`", asked, constants[most]
        elif isinstance(node, ast.AnnAssign) and "Recent(" in ast.unparse(node.value or node):
            name = ast.unparse(node.target).removeprefix("self.")
            bound = ast.unparse(node).rpartition("Recent(")[2].partition(")")[0]
            yield file, f"`{name}`", KEYS[name], constants.get(bound, bound)


def bounds(function: ast.FunctionDef) -> Iterator[str]:
    for decorator in function.decorator_list:
        text = ast.unparse(decorator)
        if text == "cache":
            yield NAMES
        elif text.startswith("lru_cache"):
            yield text.partition("maxsize=")[2].rstrip(")") or str(DEFAULT_BOUND)


def test_the_list_is_what_there_is(request: pytest.FixtureRequest) -> None:
    sources = ROOT / "src"
    rows = [
        row
        for path in sorted(sources.rglob("*.py"))
        for row in kept(str(path.relative_to(sources)), ast.parse(path.read_text("utf-8")))
    ]
    table = HEAD + "".join(f"| `{file}` | {' | '.join(rest)} |\n" for file, *rest in rows)
    text, _, _ = PAGE.read_text(encoding="utf-8").partition(HEAD)
    if request.config.getoption("--update-golden"):
        PAGE.write_text(text + table, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text + table


def test_what_is_marked_as_a_cache_is_in_the_list() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for file, names in STATE.items():
        for name in (name for name, why in names.items() if why == CACHE):
            assert f"| `{file}` | `{name}` |" in text
