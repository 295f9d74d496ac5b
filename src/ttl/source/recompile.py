"""Code of a function whose definition was changed."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from types import CellType, CodeType, FunctionType
from typing import Any, TypeVar

from ttl.semantics.function_source import FUTURE_FLAGS, FunctionTree
from ttl.semantics.syntax import walk

from .functions import own_code

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


def with_names(function: FunctionType, code: CodeType, values: Mapping[str, Any]) -> FunctionType:
    """Other code for a function: its free names are those of the function, and `values`."""
    cells = dict(zip(own_code(function).co_freevars, function.__closure__ or (), strict=True))
    cells |= {name: CellType(value) for name, value in values.items()}
    closure = tuple(cells[name] for name in code.co_freevars)
    return FunctionType(code, function.__globals__, code.co_name, None, closure)


def at(node: Node, place: ast.AST) -> Node:
    """Gives `node` and the new nodes in it the place of another."""
    for child in walk(node):
        if not hasattr(child, "lineno"):
            ast.copy_location(child, place)
    return node


def imported(function: Any) -> ast.expr:
    """What gives a function of a module of ours, in code of the user's. An import statement would
    make a global variable of a name that is none of Python's."""
    names = ast.Tuple([ast.Constant(function.__name__)], ast.Load())
    nothing = ast.Constant(None)
    arguments: list[ast.expr] = [ast.Constant(function.__module__), nothing, nothing, names]
    module = ast.Call(ast.Name("__import__", ast.Load()), arguments, [])
    return ast.Attribute(module, function.__name__, ast.Load())


def method_call(owner: ast.expr, method: str, place: ast.AST) -> ast.Call:
    return at(ast.Call(ast.Attribute(owner, method, ast.Load()), [], []), place)
