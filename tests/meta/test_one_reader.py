"""Python is read in one place: the counts of a reader that others would grow beside again.

What a number allows may only become less; whoever needs more says why.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src"
READING = ("source", "frontend", "d2m")  # folders of a kernel's way from its text to the first IR

MOST_LINES = 24_400  # of these folders; the aim is 15,000
LONGEST = 500  # lines of a module there; the aim is 450
LONGEST_FUNCTION = 20  # lines, of nine functions of ten
IMPORT_AST = 66  # files; the aim is 6
# Those that stay: who reads, who writes, who finds definitions, and who changes whole files.
ALLOWED = {
    "ttl/semantics/function_source.py",
    "ttl/source/python.py",
    "ttl/source/read.py",
    "ttl/source/read_expressions.py",
    "ttl/tools/cli/program.py",
    "ttl/tools/lsp/worker.py",
}


def trees() -> dict[str, ast.Module]:
    files = sorted(SOURCES.glob("**/*.py"))
    return {
        str(file.relative_to(SOURCES)): ast.parse(file.read_text(encoding="utf-8"))
        for file in files
    }


def importing(*modules: str) -> set[str]:
    found = set()
    for file, tree in trees().items():
        for node in ast.walk(tree):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            if not {*names}.isdisjoint(modules):
                found.add(file)
    return found


def modules() -> dict[str, str]:
    return {
        str(file.relative_to(SOURCES)): file.read_text(encoding="utf-8")
        for folder in READING
        for file in sorted((SOURCES / "ttl" / folder).glob("**/*.py"))
    }


def test_few_files_know_the_syntax_of_python() -> None:
    found = importing("ast", "_ast")
    assert found >= ALLOWED
    assert len(found) <= IMPORT_AST, sorted(found - ALLOWED)
    reading = tuple(f"ttl/{folder}/" for folder in READING)
    assert {file for file in found if not file.startswith(reading)} <= ALLOWED


def test_no_file_reads_instructions() -> None:
    assert not importing("dis", "opcode")


def test_the_readers_of_kernels_do_not_grow() -> None:
    lines = {file: text.count("\n") for file, text in modules().items()}
    assert sum(lines.values()) <= MOST_LINES
    longest = max(lines, key=lambda file: lines[file])
    assert lines[longest] <= LONGEST, longest


@pytest.mark.parametrize("folder", READING)
def test_functions_are_short(folder: str) -> None:
    lengths = sorted(
        (node.end_lineno or 0) - node.lineno + 1
        for file, tree in trees().items()
        if file.startswith(f"ttl/{folder}/")
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    assert lengths[len(lengths) * 9 // 10] <= LONGEST_FUNCTION
