"""Read from their definitions how kernels use the names around them.

This covers tensors (read or written) and buffers (which kernel is at which end).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from types import FunctionType

from ttl.language.buffer import DataflowBuffer
from ttl.language.copies import copy
from ttl.language.operation import KernelFunction

from . import tree
from .bindings import Around
from .facts.liveness import ACQUIRES, RELEASES
from .functions import MISSING, named_value, own_code
from .trees import tree_of
from .walking import walk

METHODS = frozenset({*ACQUIRES, *RELEASES, "publish", *(f"can_{call}" for call in ACQUIRES)})
READ, WRITTEN = "ttl.copy(name[..], x)", "ttl.copy(x, name[..])"
OTHERWISE = ""


def _uses(kernel: KernelFunction) -> Mapping[str, set[str]] | None:
    assert isinstance(kernel.function, FunctionType)
    function = tree_of(kernel.function)
    return None if function is None else uses_of_names(function)


@lru_cache(maxsize=1024)
def uses_of_names(function: tree.Function) -> Mapping[str, set[str]]:
    """Map names around the function to READ, WRITTEN, the attributes taken of them, and OTHERWISE
    for other uses.
    """
    how: dict[tree.Node, str] = {}
    found: dict[str, set[str]] = {}
    for node in walk(function):  # outer nodes first
        if isinstance(node, tree.Attribute):
            how[node.owner] = node.name
        elif isinstance(node, tree.LanguageCall) and node.which is copy:
            for argument, use in zip(node.named.values(), (READ, WRITTEN), strict=False):
                if isinstance(argument, tree.Item):
                    how[argument.owner] = use
        elif isinstance(node, (tree.Name, tree.Target)) and isinstance(node.binding, Around):
            found.setdefault(node.binding.name, set()).add(how.get(node, OTHERWISE))
    return found


def reads_what_it_writes(kernels: Iterable[KernelFunction]) -> bool:
    """Return False only if the definitions show that no kernel reads a tensor that one writes."""
    read: set[int] = set()
    written: set[int] = set()
    for kernel in kernels:
        uses = _uses(kernel)
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
    """Does it call `name.reserve()`, or another method, on a captured buffer?"""
    if kernel.uses is not None:
        return (action, buffer.name) in kernel.uses
    uses = _uses(kernel) or {}
    return any(action in uses.get(name, ()) for name in _names(kernel, buffer))


def may_pass_on(kernel: KernelFunction, buffer: DataflowBuffer) -> bool:
    """Can the kernel reach the buffer other than by calling its methods by name?"""
    names = _names(kernel, buffer)
    uses = _uses(kernel)
    if any(uses is None or not uses.get(name, set()) <= METHODS for name in names):
        return True
    others = (value for name, value in kernel.captures().items() if name not in names)
    return any(reached is buffer for reached in _reachable(others, set()))


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
