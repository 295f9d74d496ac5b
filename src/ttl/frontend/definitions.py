"""The trees of the functions of a kernel, with the releases and waits that they leave out."""

from __future__ import annotations

from types import CodeType
from typing import Any

from ttl.diagnostics import codes
from ttl.semantics.function_source import help_without_source
from ttl.source import tree
from ttl.source.facts.releases import function_points
from ttl.source.functions import own_code, place_of
from ttl.source.trees import tree_of


def definition(function: Any) -> tree.Function:
    found = tree_of(function)
    if found is None or found.is_async:
        code = own_code(function)
        raise codes.NO_SOURCE.broken(
            f"the source of `{code.co_name}` is not available", help_without_source(code)
        )
    return found


def repaired_trees(function: Any) -> dict[tuple[CodeType, str], tree.Function]:
    """Of the kernel and its helpers that leave out something."""
    return {place_of(points.code): points.function for points in function_points(function)}
