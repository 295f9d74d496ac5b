"""Going through syntax trees in the order of `ast`, whose generators take twice as long."""

from __future__ import annotations

from _ast import AST


def child_nodes(node: AST) -> list[AST]:
    """As ast.iter_child_nodes()."""
    found: list[AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, AST):
            found.append(value)
        elif isinstance(value, list):
            found += [each for each in value if isinstance(each, AST)]
    return found


def walk(node: AST) -> list[AST]:
    """As ast.walk()."""
    found = [node]
    for each in found:  # grows meanwhile
        if each._fields:
            found += child_nodes(each)
    return found
