"""Runs kernels recompiled with the releases and waits that were left out.

rule HOLD    `site` becomes `(.held := site)`: what is finished is what was acquired there, whatever
             becomes of the name; `.held` cannot be a name of the user's
rule REACHED `.held` is None at the start of the body: a site that is not reached is not finished
rule EXITS   the calls stand at the end of the body; if it has a return, break or continue they
             stand in a `finally`, which an exception passes with nothing held
rule PLACE   each supplied call has the lines and columns of its site
rule SAME    the function objects stay the user's own, cells and defaults and all; only their code
             is another for the time of the run. So whoever calls a helper calls the repaired one.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from functools import lru_cache
from types import CodeType, FunctionType

from ttl.language.operation import Program
from ttl.source.facts import facts_of
from ttl.source.functions import REPLACED, own_code, reachable_functions
from ttl.source.implicit_sync import CodePoints, Repair, RepairKind, function_points
from ttl.source.recompile import at, compiled, method_call


@contextmanager
def repaired(program: Program) -> Iterator[None]:
    """Inside, the kernels of the program and their helpers have what they leave out.

    Raises UsageError for a handle that is released or waited for on some paths only.
    """
    replaced = dict(_replacements(program)) if facts_of(program).points else {}
    try:
        for function, code in replaced.items():
            REPLACED.enter(function, code)
        yield
    finally:
        for function in replaced:
            REPLACED.leave(function)


def _replacements(program: Program) -> Iterator[tuple[FunctionType, CodeType]]:
    for kernels in program.kernels_by_node.values() or (program.kernels,):
        for kernel in kernels:
            points = {found.code: found for found in function_points(kernel.function)}
            for function in reachable_functions(kernel.function):
                found = points.get(own_code(function))
                code = recompiled(found) if found is not None else None
                if code is not None:
                    yield function, code


@lru_cache(maxsize=1024)
def recompiled(points: CodePoints) -> CodeType | None:
    """The function's code with its repairs; None if its source is not what it was made from."""
    if not points.points.repairs:
        return None
    original = points.code
    copies: dict[int, ast.AST] = {}
    tree = deepcopy(points.tree, copies)
    _Inserter(points.points.repairs, copies).visit(tree)
    file, flags = original.co_filename, original.co_flags
    code = compiled(tree, original.co_freevars, file, flags)
    if code.co_freevars != original.co_freevars or code.co_firstlineno != original.co_firstlineno:
        return None
    return _renamed(code, code.co_qualname, original.co_qualname)


def _renamed(code: CodeType, old: str, new: str) -> CodeType:
    """Without the factory in the qualified names, also of nested functions."""
    constants = (
        _renamed(constant, old, new) if isinstance(constant, CodeType) else constant
        for constant in code.co_consts
    )
    qualname = new + code.co_qualname.removeprefix(old)
    return code.replace(co_qualname=qualname, co_consts=tuple(constants))


class _Inserter(ast.NodeTransformer):
    """Changes a copy of a definition; `copies` finds the copied node by the id of the original."""

    def __init__(self, repairs: Sequence[Repair], copies: dict[int, ast.AST]):
        self.at_once: set[ast.AST] = set()
        self.held: dict[ast.AST, str] = {}
        self.bodies: dict[ast.AST, list[tuple[RepairKind, str, ast.expr]]] = defaultdict(list)
        for position, repair in enumerate(repairs):
            site = copies[id(repair.site)]
            assert isinstance(site, ast.expr)
            if repair.kind is RepairKind.WAIT_AT_ONCE:
                self.at_once.add(site)
            else:
                name = self.held[site] = f".held_{position}"
                self.bodies[copies[id(repair.body)]].append((repair.kind, name, site))

    def visit(self, node: ast.AST) -> ast.AST:
        self.generic_visit(node)
        if node in self.held:  # rule HOLD
            assert isinstance(node, ast.expr)
            target = ast.copy_location(ast.Name(self.held[node], ast.Store()), node)
            return ast.copy_location(ast.NamedExpr(target, node), node)
        if node in self.at_once:
            assert isinstance(node, ast.expr)
            return method_call(node, "wait", node)
        if node in self.bodies:
            assert isinstance(node, (ast.FunctionDef, ast.For, ast.While))
            node.body = _finishing(node.body, self.bodies[node])
        return node


def _finishing(
    body: list[ast.stmt], handles: Sequence[tuple[RepairKind, str, ast.expr]]
) -> list[ast.stmt]:
    waits = [handle for handle in handles if handle[0] is RepairKind.WAIT]
    releases = [handle for handle in handles if handle[0] is RepairKind.RELEASE]
    calls = [_finish(*handle) for handle in waits + releases]
    nothing = _nothing_held([name for _, name, _ in handles], body[0])
    docstring = body[:1] if _is_docstring(body[0]) else []
    inside = body[len(docstring) :]
    if not _has_exits(body):
        return [*docstring, nothing, *inside, *calls]
    handler = ast.ExceptHandler(None, None, [deepcopy(nothing), ast.Raise()])
    return [*docstring, nothing, at(ast.Try(inside, [handler], [], calls), body[0])]


def _finish(kind: RepairKind, name: str, site: ast.expr) -> ast.stmt:
    """if .held is not None: .held.release()"""
    held = ast.Name(name, ast.Load())
    method = "wait" if kind is RepairKind.WAIT else "release"
    call = ast.Expr(method_call(held, method, site))
    is_held = ast.Compare(held, [ast.IsNot()], [ast.Constant(None)])
    return at(ast.If(is_held, [call], []), site)  # rule PLACE


def _nothing_held(names: Iterable[str], first: ast.stmt) -> ast.stmt:  # rule REACHED
    targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names]
    return at(ast.Assign(targets, ast.Constant(None)), first)


def _has_exits(body: Iterable[ast.stmt]) -> bool:
    exits = (ast.Return, ast.Break, ast.Continue)
    return any(isinstance(node, exits) for statement in body for node in ast.walk(statement))


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
