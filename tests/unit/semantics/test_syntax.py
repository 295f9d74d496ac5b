"""Nodes of syntax trees come in the order in which `ast` has them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import ttl.semantics
from ttl.semantics.syntax import child_nodes, walk

FILES = sorted(Path(ttl.semantics.__path__[0]).glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_nodes_are_those_of_ast(file: Path) -> None:
    tree = ast.parse(file.read_text())
    nodes = walk(tree)
    assert nodes == list(ast.walk(tree))
    assert all(child_nodes(node) == list(ast.iter_child_nodes(node)) for node in nodes)


def test_a_node_may_lack_fields() -> None:
    call = ast.Call(func=ast.Name("f"))
    assert child_nodes(call) == list(ast.iter_child_nodes(call))
