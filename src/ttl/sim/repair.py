"""Runs kernels recompiled with the releases and waits that were left out.

Kernels that may meet numbers of numpy are recompiled too: source/numpy_numbers.py.

rule CALLED  `Finish` becomes `for .finish in .left(...): .finish()`: what is left is asked for when
             the place is reached, and called from the user's own frame
rule PLACE   each supplied call has the lines and columns of its acquire or copy
rule SAME    the function objects stay the user's own, cells and defaults and all; only their code
             is another for the time of the run. So whoever calls a helper calls the repaired one.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from ttl.diagnostics.span import expansions_of, with_expansions
from ttl.language.copies import GroupTransfer
from ttl.language.operation import Program
from ttl.semantics.block_protocol import State
from ttl.semantics.function_source import FunctionTree, function_tree
from ttl.source import tree
from ttl.source.facts import facts_of
from ttl.source.facts.releases import CodePoints, function_points
from ttl.source.functions import REPLACED, own_code, place_of, reachable_functions
from ttl.source.numpy_numbers import with_python_numbers
from ttl.source.python import as_ast
from ttl.source.recompile import at, compiled, imported

from .block import SimBlock
from .transfers import SimTransfer


@contextmanager
def repaired(program: Program) -> Iterator[None]:
    """Inside, the kernels of the program and their helpers have what they leave out."""
    facts = facts_of(program)
    is_changed = facts.points or facts.may_meet_numpy
    replaced = dict(_replacements(program)) if is_changed else {}
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
            points = {place_of(found.code): found for found in function_points(kernel.function)}
            meets_numpy = facts_of(program).may_meet_numpy
            for function in reachable_functions(kernel.function):
                found = points.get(place_of(own_code(function)))
                code = None
                if meets_numpy:
                    code = with_numbers(own_code(function), found)
                elif found is not None:
                    code = recompiled(found)
                if code is not None:
                    yield function, code


@lru_cache(maxsize=1024)
def recompiled(points: CodePoints) -> CodeType | None:
    """The function's code with its repairs; None if its source is not what it was made from."""
    return _recompiled(points.code, with_calls(points))


@lru_cache(maxsize=1024)
def with_numbers(original: CodeType, points: CodePoints | None) -> CodeType | None:
    """The code in which numbers of numpy become Python's, with its repairs if there are some."""
    found = function_tree(original) if points is None else with_calls(points)
    return None if found is None else _recompiled(original, with_python_numbers(found))


def _recompiled(original: CodeType, definition: FunctionTree) -> CodeType | None:
    file, flags = original.co_filename, original.co_flags
    code = compiled(definition, original.co_freevars, file, flags)
    if code.co_freevars != original.co_freevars or code.co_firstlineno != original.co_firstlineno:
        return None
    renamed = _renamed(code, code.co_qualname, original.co_qualname)
    return with_expansions(renamed, expansions_of(original))


def _renamed(code: CodeType, old: str, new: str) -> CodeType:
    """Without the factory in the qualified names, also of nested functions."""
    constants = (
        _renamed(constant, old, new) if isinstance(constant, CodeType) else constant
        for constant in code.co_consts
    )
    qualname = new + code.co_qualname.removeprefix(old)
    return code.replace(co_qualname=qualname, co_consts=tuple(constants))


def with_calls(points: CodePoints) -> Any:
    """Python's own statements in place of `Finish`."""
    definition = as_ast(points.function, _calls)
    first = int(_is_docstring(definition.body[0]))
    asked = ast.Assign([ast.Name(".left", ast.Store())], imported(left_to_finish))
    definition.body.insert(first, at(asked, definition.body[0]))
    return definition


def _calls(node: tree.Finish) -> ast.stmt:  # rules CALLED and PLACE
    given = [
        ast.Tuple([ast.Constant(each.name) for each in part], ast.Load())
        for part in (node.names, node.kept)
    ]
    left = _call(".left", *given, ast.Constant(node.is_wait))
    made = ast.For(ast.Name(".finish", ast.Store()), left, [ast.Expr(_call(".finish"))], [])
    made.lineno, made.col_offset, made.end_lineno, made.end_col_offset = node.place
    return at(made, made)


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


# When a place is reached --------------------------------------------------------------------------


def left_to_finish(
    names: Sequence[str], kept: Sequence[str], is_wait: bool
) -> list[Callable[[], None]]:  # rule CALLED
    """The waits, or the releases, of what variables of the caller have, oldest first."""
    values = sys._getframe(1).f_locals
    found = _handles([values.get(name) for name in names], is_wait)
    used = _handles([values.get(name) for name in kept], is_wait)
    left = [handle for handle in found if handle not in used]
    if is_wait:
        return [h.wait_all if isinstance(h, GroupTransfer) else h.wait for h in left]
    return [block.release for block in sorted(left, key=lambda block: block.sequence)]


def _handles(values: Iterable[Any], is_wait: bool) -> dict[Any, None]:
    """What is not finished yet: transfers, or blocks, also by their transfers."""
    found: dict[Any, None] = {}
    for value in values:
        if isinstance(value, dict):
            value = tuple(value.values())
        if isinstance(value, (list, tuple, set)):
            found |= _handles(value, is_wait)
        elif isinstance(value, SimTransfer):
            if not is_wait:
                found |= _handles((value.block, getattr(value, "source", None)), is_wait)
            elif not value.is_done and value.group is None:
                found[value] = None
        elif isinstance(value, GroupTransfer):
            if not is_wait:
                found |= _handles(value.transfers, is_wait)
            elif not value.is_done and value.transfers:
                found[value] = None
        elif isinstance(value, SimBlock) and not is_wait and value.state is not State.RELEASED:
            found[value] = None
    return found
