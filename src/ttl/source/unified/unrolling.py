"""Loops over operations: each round calls another one, so each becomes statements of its own."""

from __future__ import annotations

import ast
from copy import deepcopy
from functools import lru_cache
from types import FunctionType
from typing import Any

from ttl.language.operation import Operation
from ttl.semantics.function_source import nodes_of

from .forms import value_of


def unrolled(tree: ast.FunctionDef, function: FunctionType) -> ast.FunctionDef:
    """The definition without its loops over lists of operations; itself if it has none."""
    if not any(_operations(loop, function) for loop in _loops(tree)):
        return tree
    found: ast.FunctionDef = _Unroller(function).visit(deepcopy(tree))
    return found


@lru_cache(maxsize=1024)
def _loops(tree: ast.FunctionDef) -> tuple[ast.For, ...]:
    """Each call of an operation asks for them."""
    return tuple(node for node in nodes_of(tree) if isinstance(node, ast.For))


def _operations(loop: ast.For, function: FunctionType) -> list[ast.expr]:
    """What the variable of a loop stands for in each round, if these are operations."""
    if not isinstance(loop.target, ast.Name) or loop.orelse:
        return []
    if isinstance(loop.iter, (ast.Tuple, ast.List)):
        items = loop.iter.elts
        values = [value_of(each, function) for each in items]
    else:
        listed: Any = value_of(loop.iter, function)
        values = list(listed) if type(listed) in (list, tuple) else []
        items = [_item(loop.iter, place) for place in range(len(values))]
    return items if values and all(isinstance(each, Operation) for each in values) else []


def _item(listed: ast.expr, place: int) -> ast.expr:
    made = ast.Subscript(listed, ast.Constant(place), ast.Load())
    return ast.fix_missing_locations(ast.copy_location(made, listed))


class _Unroller(ast.NodeTransformer):
    def __init__(self, function: FunctionType):
        self.function = function

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        items = _operations(node, self.function)
        if not items:
            return node
        assert isinstance(node.target, ast.Name)
        rounds = [_Named(node.target.id, each) for each in items]
        return [one.visit(deepcopy(each)) for one in rounds for each in node.body]


class _Named(ast.NodeTransformer):
    """An expression in the place of a name."""

    def __init__(self, name: str, meant: ast.expr):
        self.name, self.meant = name, meant

    def visit_Name(self, node: ast.Name) -> ast.expr:
        is_meant = node.id == self.name and isinstance(node.ctx, ast.Load)
        return ast.copy_location(deepcopy(self.meant), node) if is_meant else node
