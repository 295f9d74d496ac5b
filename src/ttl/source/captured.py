"""Kernels may read what they capture, and write none of it: a node has its own copy, or none."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType

from ttl.diagnostics import Code, Diagnostic, Span, codes
from ttl.language.arguments import is_tensor
from ttl.language.described import public_class
from ttl.language.operation import KernelFunction, Program
from ttl.semantics.function_source import definition_of, nodes_of

from .functions import MISSING, own_code

# Methods that change a list, dict or set in place, as far as compiled kernels know them.
CHANGING: dict[type, tuple[str, ...]] = {
    list: ("append", "clear", "extend", "insert", "pop", "remove", "reverse"),
    dict: ("clear", "pop", "popitem", "setdefault", "update"),
    set: ("add", "clear", "discard", "pop", "remove", "update"),
}
MUTATORS = {"sort", "appendleft", "extendleft", "popleft"}.union(*CHANGING.values())
CONTAINERS = (list, dict, set, bytearray, deque)
WHOLE = (ModuleType, FunctionType)  # nobody looks at a run through these
FIXED = (bool, int, float, complex, str, bytes, type(None))  # Python itself refuses to change them


def captured_writes(program: Program, code: Code) -> list[Diagnostic]:
    """Every place where a kernel writes a captured list, dict or object, under this code.

    The simulator only warns of these, so that a program can be looked at from outside; not of
    tensors, modules and functions.
    """
    return [d for kernel in program.kernels for d in _written(kernel, code)]


def _written(kernel: KernelFunction, code: Code) -> Iterator[Diagnostic]:
    suspects = _suspects(own_code(kernel.function))
    around = kernel.function.__globals__ | kernel.captures() if suspects else {}
    for name, node in suspects:
        value = around.get(name, MISSING)
        if value is MISSING and not isinstance(node, ast.stmt):
            continue  # the run says that
        if public_class(value) is not None:
            continue  # nothing of the language can be changed so: it says that itself
        if isinstance(node, (ast.Subscript, ast.Attribute)):
            is_written = type(value) not in FIXED
        else:
            is_written = not isinstance(node, ast.Call) or isinstance(value, CONTAINERS)
        if is_written:
            own = codes.CAPTURED_WRITTEN if is_tensor(value) or isinstance(value, WHOLE) else code
            yield _diagnostic(kernel, name, node, own)


@lru_cache(maxsize=256)
def _suspects(code: CodeType) -> tuple[tuple[str, ast.expr | ast.stmt], ...]:
    """Places in the kernel that write to a captured name, or call a method that may."""
    tree = definition_of(code)
    if tree is None:
        return ()
    own = _own_names(code)
    return _rebound(tree, code) + tuple(
        (base, node)
        for node in nodes_of(tree)
        if (base := _written_name(node)) is not None
        and base not in own
        and isinstance(node, (ast.Call, ast.Subscript, ast.Attribute))
    )


def _own_names(code: CodeType) -> set[str]:
    """Variables of the kernel and of the functions in it; all others are around the kernel."""
    inside = [each for each in code.co_consts if isinstance(each, CodeType)]
    return {*code.co_varnames, *code.co_cellvars}.union(*map(_own_names, inside))


def _rebound(tree: ast.FunctionDef, code: CodeType) -> tuple[tuple[str, ast.stmt], ...]:
    """`nonlocal` of a variable around the kernel, and every `global`."""
    return tuple(
        (name, node)
        for node in nodes_of(tree)
        if isinstance(node, (ast.Nonlocal, ast.Global))
        for name in node.names
        if isinstance(node, ast.Global) or name in code.co_freevars
    )


def _written_name(node: ast.AST) -> str | None:
    """`x` in x[..] = .., x.y = .., del x[..], x.append(..), also after further indices."""
    if isinstance(node, (ast.Subscript, ast.Attribute)) and not isinstance(node.ctx, ast.Load):
        return _base(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _base(node.func.value) if node.func.attr in MUTATORS else None
    return None


def _base(node: ast.expr) -> str | None:
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _diagnostic(
    kernel: KernelFunction, name: str, node: ast.expr | ast.stmt, code: Code
) -> Diagnostic:
    broken = code.broken(
        f"kernel `{kernel.name}` writes `{name}`, which "
        + ("it captures" if name in own_code(kernel.function).co_freevars else "is global"),
        "keep it in a variable of the kernel, or write results into a tensor",
    )
    return broken.at(Span.of_node(own_code(kernel.function).co_filename, node))
