"""Kernels only read their captures: a node has its own copy or none, so a write would be lost."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from types import FunctionType, ModuleType

from ttl.diagnostics import Code, Diagnostic, Span, codes
from ttl.language.arguments import is_tensor
from ttl.language.described import public_class
from ttl.language.operation import KernelFunction, Program

from . import tree
from .bindings import Around
from .functions import MISSING, own_code
from .trees import tree_of
from .walking import stored, walk

# Methods that change a list, dict or set in place and that compiled kernels know.
CHANGING: dict[type, tuple[str, ...]] = {
    list: ("append", "clear", "extend", "insert", "pop", "remove", "reverse"),
    dict: ("clear", "pop", "popitem", "setdefault", "update"),
    set: ("add", "clear", "discard", "pop", "remove", "update"),
}
MUTATORS = {"sort", "appendleft", "extendleft", "popleft"}.union(*CHANGING.values())
CONTAINERS = (list, dict, set, bytearray, deque)
WHOLE = (ModuleType, FunctionType)  # a run cannot observe changes through these
FIXED = (bool, int, float, complex, str, bytes, type(None))  # Python itself refuses to change them


def captured_writes(program: Program, code: Code) -> list[Diagnostic]:
    """List every place where a kernel writes a captured list, dict or object, under this code.

    The simulator only warns about them, so that outside code can inspect a program; tensors,
    modules and functions are errors.
    """
    return [d for kernel in program.kernels for d in _written(kernel, code)]


def _written(kernel: KernelFunction, code: Code) -> Iterator[Diagnostic]:
    function = tree_of(kernel.function)  # type: ignore[arg-type]
    suspects = _suspects(function) if function is not None else ()
    around = kernel.function.__globals__ | kernel.captures() if suspects else {}
    for name, node in suspects:
        value = around.get(name, MISSING)
        if value is MISSING and not isinstance(node, tree.Declare):
            continue  # the run reports it
        if public_class(value) is not None:
            continue  # objects of the language cannot be changed so: they report it themselves
        if isinstance(node, tree.Call):
            is_written = isinstance(value, CONTAINERS)
        else:
            is_written = isinstance(node, tree.Declare) or type(value) not in FIXED
        if is_written:
            own = codes.CAPTURED_WRITTEN if is_tensor(value) or isinstance(value, WHOLE) else code
            yield _diagnostic(kernel, name, node, own)


@lru_cache(maxsize=256)
def _suspects(function: tree.Function) -> tuple[tuple[str, tree.Node], ...]:
    """Places in the kernel that write to a name around it, or call a method that may."""
    found = [(binding, node) for node in walk(function) for binding, node in _changed_by(node)]
    return tuple((each.name, node) for each, node in found if isinstance(each, Around))


def _changed_by(node: tree.Node) -> Iterator[tuple[object, tree.Node]]:
    """`x` in x[..] = .., x.y = .., del x[..], x.append(..), also after further indices."""
    if isinstance(node, tree.Declare):
        yield from ((each, node) for each in node.bindings)
    elif isinstance(node, tree.Call):
        if node.method in MUTATORS:
            yield _base(node.function), node
    else:
        for each in stored(node):
            if isinstance(each, (tree.Item, tree.Attribute)):
                yield _base(each), each


def _base(node: tree.Node) -> object:
    while isinstance(node, (tree.Item, tree.Attribute)):
        node = node.owner
    return node.binding if isinstance(node, tree.Name) else None


def _diagnostic(kernel: KernelFunction, name: str, node: tree.Node, code: Code) -> Diagnostic:
    broken = code.broken(
        f"kernel `{kernel.name}` writes `{name}`, which "
        + ("it captures" if name in own_code(kernel.function).co_freevars else "is global"),
        "keep it in a variable of the kernel, or write results into a tensor",
    )
    return broken.at(Span.of_node(own_code(kernel.function).co_filename, node))
