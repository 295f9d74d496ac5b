"""Which functions a variable, an item of a table or a choice may stand for where it is called.

rule BOUND   a variable stands for what its function binds it to, anywhere; a parameter for nothing
             that is known
rule INSIDE  of a container, and of what `zip` and the like make of one, it may be each function in
             it
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ttl.semantics.function_source import FunctionTree
from ttl.semantics.syntax import walk

from .handles import Meaning, SourceFunction
from .scopes import own_nodes, parameters, shared_names

if TYPE_CHECKING:
    from .handle_flow import HandleFlow

# Methods of a container that give its items, and parts of expressions that are the value of it.
GIVING = frozenset({"get", "items", "values", "copy", "pop"})
PARTS = {
    ast.IfExp: ("body", "orelse"), ast.BoolOp: ("values",), ast.BinOp: ("left", "right"),
    ast.Subscript: ("value",), ast.NamedExpr: ("value",), ast.Starred: ("value",),
    ast.List: ("elts",), ast.Tuple: ("elts",), ast.Set: ("elts",), ast.Dict: ("values",),
    ast.Constant: (), ast.UnaryOp: (), ast.Compare: (),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Callee:
    """One that may be called: a helper, or a function nested in what `flow` reads."""

    function: SourceFunction | FunctionTree | Meaning
    flow: HandleFlow
    bound: int = 0  # arguments that it has already


def lambda_definition(node: ast.Lambda, name: str = "<lambda>") -> ast.FunctionDef:
    """A lambda is read like a helper that returns an expression."""
    returned = ast.copy_location(ast.Return(node.body), node.body)
    return ast.copy_location(ast.FunctionDef(name, node.args, [returned], []), node)


class _Unknown(Exception):
    """It may be something else."""


def callees(flow: HandleFlow, node: ast.expr) -> tuple[Callee, ...]:
    """Nothing if it may be something that is not known."""
    try:
        return tuple(dict.fromkeys(_inside(flow, node, frozenset())))
    except _Unknown:
        return ()


def _inside(flow: HandleFlow, node: ast.expr, seen: frozenset[str]) -> Iterator[Callee]:
    if (parts := PARTS.get(type(node))) is not None:
        for part in parts:
            inner = getattr(node, part)
            for each in inner if isinstance(inner, list) else [inner]:
                yield from _inside(flow, each, seen)
    elif isinstance(node, ast.Lambda):
        yield Callee(flow.defined_by(node), flow)
    elif isinstance(node, ast.Call):
        yield from _result(flow, node, seen)
    elif isinstance(node, ast.Name) and flow.is_local(node.id):
        yield from _variable(flow, node.id, seen)
    else:
        found = flow.root.inside(node)
        if found is None:
            raise _Unknown
        for function, bound in found:
            yield Callee(function, flow, bound)


def _result(flow: HandleFlow, node: ast.Call, seen: frozenset[str]) -> Iterator[Callee]:
    if isinstance(node.func, ast.Attribute) and node.func.attr in GIVING:
        yield from _inside(flow, node.func.value, seen)
        return
    meaning = flow.meaning(node.func)
    if meaning is Meaning.PASSING:
        for argument in node.args:
            yield from _inside(flow, argument, seen)
    elif meaning is Meaning.PARTIAL and node.args:
        for callee in _inside(flow, node.args[0], seen):
            yield replace(callee, bound=callee.bound + len(node.args) - 1)
    elif meaning is not Meaning.HARMLESS:
        raise _Unknown


def _variable(flow: HandleFlow, name: str, seen: frozenset[str]) -> Iterator[Callee]:  # rule BOUND
    while name not in flow.own and flow.outer is not None and name not in flow.shadowed:
        flow = flow.outer
    if name in flow.shadowed or name in parameters(flow.tree.args):
        raise _Unknown
    if name in seen:
        return
    if name in flow.functions:
        for tree in flow.functions[name]:
            yield Callee(tree, flow)
    for value in _bindings(flow.tree, name):
        yield from _inside(flow, value, seen | {name})


def _bindings(tree: FunctionTree, name: str) -> Iterator[ast.expr]:
    """The expressions that have what it is bound to, as a whole or as an item."""
    if name in shared_names(tree):
        raise _Unknown
    explained: set[ast.AST] = set()
    for node in own_nodes(tree):
        targets, value = _assigned(node)
        stores = {n for target in targets for n in walk(target) if _is_store(n, name)}
        if stores and value is not None:
            yield value
        explained |= stores
    if any(_is_store(node, name) and node not in explained for node in own_nodes(tree)):
        raise _Unknown


def _is_store(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)


def _assigned(node: ast.AST) -> tuple[Iterable[ast.expr], ast.expr | None]:
    if isinstance(node, ast.Assign):
        return node.targets, node.value
    if isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
        return [node.target], node.value
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return [node.target], node.iter
    return [], None
