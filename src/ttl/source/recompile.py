"""Code of a function whose definition was changed."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from types import CodeType
from typing import TypeVar

from ttl.semantics.function_source import FUTURE_FLAGS, FunctionTree
from ttl.semantics.syntax import walk

from .code import with_names as with_names

Node = TypeVar("Node", bound=ast.AST)


def compiled(tree: FunctionTree, free: Iterable[str], file: str, flags: int = 0) -> CodeType:
    """The code of a definition in which the names `free` are those of a function around it.

    New nodes have the places of those around them; `flags` are those of the original code.
    """
    factory = ast.parse("def factory(): pass").body[0]
    assert isinstance(factory, ast.FunctionDef)
    factory.args.args = [ast.arg(name) for name in free]
    factory.body = [ast.Expr(tree) if isinstance(tree, ast.Lambda) else tree]
    module = ast.fix_missing_locations(ast.Module([factory], []))
    code = compile(module, file, "exec", flags & FUTURE_FLAGS, dont_inherit=True)
    name = "<lambda>" if isinstance(tree, ast.Lambda) else tree.name
    return _nested(_nested(code, "factory"), name)


def placed(tree: Node) -> Node:
    """New nodes have the places of those around them."""
    return ast.fix_missing_locations(tree)


def _nested(code: CodeType, name: str) -> CodeType:
    return next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)


def at(node: Node, place: ast.AST) -> Node:
    """Gives `node` and the new nodes in it the place of another."""
    for child in walk(node):
        if not hasattr(child, "lineno"):
            ast.copy_location(child, place)
    return node


def method_call(owner: ast.expr, method: str, place: ast.AST) -> ast.Call:
    return at(ast.Call(ast.Attribute(owner, method, ast.Load()), [], []), place)
