"""Which names belong to which function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from ttl.semantics.function_source import FunctionTree, nodes_of
from ttl.semantics.syntax import child_nodes, walk

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def parameters(arguments: ast.arguments) -> Iterator[str]:
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        yield argument.arg
    for rest in (arguments.vararg, arguments.kwarg):
        if rest is not None:
            yield rest.arg


def positional_names(arguments: ast.arguments) -> list[str]:
    return [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]


def default_nodes(arguments: ast.arguments) -> dict[str, ast.expr]:
    """The defaults of those parameters that have one, in the order of the text."""
    positional = positional_names(arguments)
    last = positional[len(positional) - len(arguments.defaults) :]
    named = dict(zip(last, arguments.defaults, strict=True))
    only = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return named | {each.arg: default for each, default in only if default is not None}


def parameter_at(tree: FunctionTree, key: int | str | None, bound: int) -> str | None:
    """Which one gets the argument at a position after those that are bound, or with a name."""
    if isinstance(key, int):
        positional = positional_names(tree.args)[bound:]
        return positional[key] if key < len(positional) else None
    named = [argument.arg for argument in (*tree.args.args, *tree.args.kwonlyargs)]
    return key if key in named else None


def own_nodes(function: FunctionTree) -> Iterator[ast.AST]:
    """The nodes of a function without those of the functions in it; comprehensions keep names."""
    waiting: list[ast.AST] = (
        list(function.body) if isinstance(function.body, list) else [function.body]
    )
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, COMPREHENSIONS):
            waiting += [n for n in walk(node) if isinstance(n, ast.NamedExpr)]
        elif not isinstance(node, FUNCTIONS):
            waiting += child_nodes(node)


@lru_cache(maxsize=1024)
def own_names(function: FunctionTree) -> frozenset[str]:
    """Its variables."""
    own, elsewhere = set(parameters(function.args)), set()
    for node in own_nodes(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
        elif isinstance(node, (ast.Nonlocal, ast.Global)):
            elsewhere.update(node.names)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            own.add(node.name)
        elif isinstance(node, ast.alias):
            own.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.MatchAs) and node.name is not None:
            own.add(node.name)
    return frozenset(own - elsewhere)


@lru_cache(maxsize=1024)
def shared_names(function: FunctionTree) -> frozenset[str]:
    """Those that functions in it may change."""
    nodes = [node for node in nodes_of(function) if isinstance(node, ast.Nonlocal)]
    return frozenset(name for node in nodes for name in node.names)
