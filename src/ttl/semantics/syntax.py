"""Going through syntax trees in the order of `ast`, whose generators take twice as long."""

from __future__ import annotations

from typing import Any


def child_nodes(node: Any) -> list[Any]:
    """As ast.iter_child_nodes()."""
    found: list[Any] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [each for each in value if hasattr(each, "_fields")]
        elif hasattr(value, "_fields"):
            found.append(value)
    return found


def walk(node: Any) -> list[Any]:
    """As ast.walk()."""
    found = [node]
    for each in found:  # grows meanwhile
        if each._fields:
            found += child_nodes(each)
    return found
