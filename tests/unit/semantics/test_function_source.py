"""A function is found by compiling no more than its part of a file, where that is enough."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path

import pytest

from ttl.semantics import function_source
from ttl.semantics.function_source import function_tree

OTHERS = "\n".join(f"def other_{i}():\n    return {i}\n" for i in range(20))
FUNCTION = """
@mark
@mark
def outer(x):
    def inner():
        TEXT
        return math.sqrt(x)  # a call of what the module imports

    return inner
"""
HEAD = "import math\n\ndef mark(f):\n    return f\n"
AT_THE_MARGIN = "'''\na text that goes to the margin\n'''"


@pytest.mark.parametrize(
    ("name", "before", "text", "is_enough"),
    [
        ("plain", "", "pass", True),
        ("after_a_text", f"TEXT = {AT_THE_MARGIN}\n", "pass", True),
        ("after_a_branch", "if mark:\n    pass\nelse:\n    pass\n", "pass", True),
        ("with_a_text", "", AT_THE_MARGIN, False),
    ],
)
def test_a_part_of_the_file_is_enough(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    before: str,
    text: str,
    is_enough: bool,
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / f"file_{name}.py"
    file.write_text(HEAD + OTHERS + before + FUNCTION.replace("TEXT", text))
    outer = importlib.import_module(file.stem).outer
    function_source.keep_source(outer)
    parsed: list[str] = []
    parse = ast.parse
    monkeypatch.setattr(ast, "parse", lambda part: parsed.append(part) or parse(part))
    tree, inner = function_tree(outer.__code__), function_tree(outer(4.0).__code__)
    assert tree is not None
    assert inner is not None
    assert (tree.name, len(tree.decorator_list), inner.name) == ("outer", 2, "inner")
    assert inner.lineno == tree.lineno + 1
    assert any("other_1" in part for part in parsed) is not is_enough
