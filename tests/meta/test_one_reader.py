"""Python is read in one place: the counts of a reader that others would grow beside again.

What a number allows may only become less; whoever needs more says why.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src"
# The folders of the way from the text of a kernel to its first IR.
READING = ("ttl/source", "ttl/frontend", "pykernel")

# Of these folders; the aim is 15,000. 120 are keys: what Python runs by itself, 430 came with
# formatting by ruff without exceptions.
MOST_LINES = 23_720
LONGEST = 450  # lines of a module there
LONGEST_FUNCTION = 20  # lines, of nine functions of ten
IMPORT_AST = 6  # files
# Those that stay: who reads, who writes, who finds definitions, and who changes whole files.
ALLOWED = {
    "ttl/semantics/function_source.py",
    "ttl/source/python.py",
    "ttl/source/read.py",
    "ttl/source/read_expressions.py",
    "ttl/cli/program.py",
    "ttl/studio/lsp/worker.py",
}


# Its dialects and passes are behind the first IR.
BEHIND = ("dialects", "passes")


def texts(*folders: str) -> dict[str, str]:
    files = sorted(
        file
        for folder in folders
        for file in (SOURCES / folder).glob("**/*.py")
        if not (folder == "pykernel" and file.parent.name in BEHIND)
    )
    return {str(file.relative_to(SOURCES)): file.read_text(encoding="utf-8") for file in files}


def importing(*modules: str) -> set[str]:
    pattern = re.compile(
        rf"^\s*(?:from|import) (?:[\w., ]+, )?(?:{'|'.join(modules)})\b", re.MULTILINE
    )
    return {file for file, text in texts(".").items() if pattern.search(text)}


def test_few_files_know_the_syntax_of_python() -> None:
    found = importing("ast", "_ast")
    assert found >= ALLOWED
    assert len(found) <= IMPORT_AST, sorted(found - ALLOWED)
    reading = tuple(f"{folder}/" for folder in READING)
    assert {file for file in found if not file.startswith(reading)} <= ALLOWED


def test_no_file_reads_instructions() -> None:
    assert not importing("dis", "opcode")


def test_the_readers_of_kernels_do_not_grow() -> None:
    lines = {file: text.count("\n") for file, text in texts(*READING).items()}
    assert sum(lines.values()) <= MOST_LINES
    longest = max(lines, key=lambda file: lines[file])
    assert lines[longest] <= LONGEST, longest


@pytest.mark.parametrize("folder", READING)
def test_functions_are_short(folder: str) -> None:
    lengths = sorted(
        (node.end_lineno or 0) - node.lineno + 1
        for text in texts(folder).values()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    assert lengths[len(lengths) * 9 // 10] <= LONGEST_FUNCTION


WALK = SOURCES.parent / "docs" / "concepts" / "from-python-to-cpp.md"


def test_the_walk_from_python_to_cpp_goes_through_what_there_is() -> None:
    hops = re.findall(r"^\| \d+ \| `([\w/.]+)` \| `(\w+)` \|", WALK.read_text(), re.MULTILINE)
    assert 0 < len(hops) <= 12
    for file, function in hops:
        nodes = ast.walk(ast.parse((SOURCES / "ttl" / file).read_text()))
        names = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
        assert function in names, (file, function)
