"""How kernels use the names around them, as far as their definitions show it.

The tensors: which they read and which they write. The buffers: who is at which end.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache
from types import CodeType, FunctionType

from ttl.language.buffer import DataflowBuffer
from ttl.language.operation import KernelFunction
from ttl.semantics.function_source import Definition, definition_of, nodes_of

from .facts.liveness import ACQUIRES, RELEASES
from .functions import MISSING, named_value, own_code

METHODS = frozenset({*ACQUIRES, *RELEASES, "publish", *(f"can_{call}" for call in ACQUIRES)})
READ, WRITTEN = "ttl.copy(name[..], x)", "ttl.copy(x, name[..])"
OTHERWISE = ""


def _uses(code: CodeType) -> dict[str, set[str]] | None:
    tree = definition_of(code)
    return None if tree is None else uses_of_names(tree)


@lru_cache(maxsize=1024)
def uses_of_names(tree: Definition) -> dict[str, set[str]]:
    """By name: READ, WRITTEN, the attributes that are taken of it, OTHERWISE if it is also used
    in another way."""
    understood: set[ast.AST] = set()
    found: dict[str, set[str]] = {}

    def note(node: ast.expr, use: str) -> None:
        if isinstance(node, ast.Name) and node not in understood:
            found.setdefault(node.id, set()).add(use)
            understood.add(node)

    for node in nodes_of(tree):
        if isinstance(node, ast.Attribute):
            note(node.value, node.attr)
        elif isinstance(node, ast.Call) and _is_copy(node.func) and len(node.args) == 2:
            for argument, use in zip(node.args, (READ, WRITTEN), strict=True):
                if isinstance(argument, ast.Subscript):
                    note(argument.value, use)
    for node in nodes_of(tree):
        if isinstance(node, ast.Name):
            note(node, OTHERWISE)
    return found


def _is_copy(function: ast.expr) -> bool:
    if isinstance(function, ast.Attribute):
        return function.attr == "copy"
    return isinstance(function, ast.Name) and function.id == "copy"


def reads_what_it_writes(kernels: Iterable[KernelFunction]) -> bool:
    """False only if the kernels show which tensors they read and which they write."""
    read: set[int] = set()
    written: set[int] = set()
    for kernel in kernels:
        uses = _uses(_code(kernel))
        for name, tensor in kernel.tensors():
            if not hasattr(tensor, "storage"):
                continue
            how = {OTHERWISE} if uses is None else uses.get(name, set())
            if OTHERWISE in how:
                return True
            read |= {id(tensor.storage)} if READ in how else set()
            written |= {id(tensor.storage)} if WRITTEN in how else set()
    return not read.isdisjoint(written)


def calls(kernel: KernelFunction, buffer: DataflowBuffer, action: str) -> bool:
    """Does it call `name.reserve()`, or another method, on the buffer, which it captures?"""
    if kernel.uses is not None:
        return (action, buffer.name) in kernel.uses
    uses = _uses(_code(kernel)) or {}
    return any(action in uses.get(name, ()) for name in _names(kernel, buffer))


def may_pass_on(kernel: KernelFunction, buffer: DataflowBuffer) -> bool:
    """Can the kernel reach the buffer otherwise than by calling its methods by name?"""
    names = _names(kernel, buffer)
    uses = _uses(_code(kernel))
    if any(uses is None or not uses.get(name, set()) <= METHODS for name in names):
        return True
    others = (value for name, value in kernel.captures().items() if name not in names)
    return any(reached is buffer for reached in _reachable(others, set()))


def _code(kernel: KernelFunction) -> CodeType:
    assert isinstance(kernel.function, FunctionType)
    return own_code(kernel.function)


def _names(kernel: KernelFunction, buffer: DataflowBuffer) -> list[str]:
    return [name for name, value in kernel.captures().items() if value is buffer]


def _reachable(values: Iterable[object], seen: set[int]) -> Iterator[object]:
    for value in values:
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, (list, tuple)):
            yield from _reachable(value, seen)
        elif isinstance(value, dict):
            yield from _reachable(value.values(), seen)
        elif isinstance(value, FunctionType):
            cells = [named_value(name, value) for name in own_code(value).co_freevars]
            yield from _reachable((cell for cell in cells if cell is not MISSING), seen)
        else:
            yield value
