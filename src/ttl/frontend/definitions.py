"""The trees of the functions of a kernel, with the releases and waits that they leave out."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from types import CodeType
from typing import Any

from ttl.diagnostics import codes
from ttl.semantics.function_source import help_without_source
from ttl.source import tree
from ttl.source.bindings import Variable
from ttl.source.functions import own_code, place_of
from ttl.source.handles import Finish
from ttl.source.implicit_sync import CodePoints, function_points
from ttl.source.read import Reader
from ttl.source.read_expressions import place_of as place_of_node
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
    return {place_of(points.code): _repaired(points) for points in function_points(function)}


@lru_cache(maxsize=1024)
def _repaired(points: CodePoints) -> tree.Function:
    return Reader(statements={Finish: _finish}).function(points.tree)


def _finish(reader: Reader, node: Finish) -> Iterable[tree.Statement]:
    def variables(names: Iterable[Any]) -> tuple[Variable, ...]:
        found = (reader.binding(name.id) for name in names)
        return tuple(each for each in found if isinstance(each, Variable))

    place = place_of_node(node)
    yield tree.Finish(place, variables(node.names), variables(node.kept), node.is_wait)
