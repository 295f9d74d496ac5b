"""Which kernel is to push to a dataflow buffer, and which to pop it, before either has happened.

rule SEEN     a kernel that has reserved (waited) in this run has that end, on every node
rule NAMED    else a kernel whose code calls `name.reserve()` (`name.wait()`) on a captured buffer
rule UNKNOWN  else, if a kernel hands the buffer on (to a helper, in a list), nothing is known
rule NOBODY   else no kernel has that end
"""

from __future__ import annotations

import dis
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import CodeType, FunctionType

from ttl.language.buffer import DataflowBuffer
from ttl.language.operation import KernelFunction

from .buffer import BufferEnd

METHODS = ("reserve", "wait", "can_reserve", "can_wait")


def kernels_at(
    ends: Sequence[Sequence[BufferEnd]], kernels: Sequence[KernelFunction]
) -> Mapping[str, str | None]:
    """The kernel at one kind of end, by buffer name; `ends` holds those of all nodes by buffer."""
    found: dict[str, str | None] = {}
    for of_buffer in ends:
        declared, action = of_buffer[0].buffer.declared, of_buffer[0].action
        seen = [end.kernel.name for end in of_buffer if end.kernel is not None]
        named = [kernel.name for kernel in kernels if _calls(kernel, declared, action)]
        if seen or named:
            found[declared.name] = (seen + named)[0]
        elif not any(_hands_on(kernel, declared) for kernel in kernels):
            found[declared.name] = None
    return found


def _calls(kernel: KernelFunction, buffer: DataflowBuffer, action: str) -> bool:
    if kernel.uses is not None:
        return (action, buffer.name) in kernel.uses
    names = _names(kernel, buffer)
    return any(name in names and call == action for name, call in _uses(kernel.function.__code__))


def _hands_on(kernel: KernelFunction, buffer: DataflowBuffer) -> bool:
    """Can the kernel reach the buffer otherwise than by calling its methods by name?"""
    names = _names(kernel, buffer)
    if any(name in names and c not in METHODS for name, c in _uses(kernel.function.__code__)):
        return True
    others = (value for name, value in kernel.captures().items() if name not in names)
    return any(reached is buffer for reached in _reachable(others, set()))


def _names(kernel: KernelFunction, buffer: DataflowBuffer) -> list[str]:
    return [name for name, value in kernel.captures().items() if value is buffer]


def _uses(code: CodeType) -> Iterator[tuple[str, str]]:
    """Each captured variable that is loaded, and the attribute then taken ("" if none is)."""
    for load, following in pairwise(dis.get_instructions(code)):
        if load.opname == "LOAD_DEREF":
            is_attribute = following.opname in ("LOAD_METHOD", "LOAD_ATTR")
            yield load.argval, following.argval if is_attribute else ""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _uses(constant)


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
            cells = (cell.cell_contents for cell in value.__closure__ or ())
            yield from _reachable(cells, seen)
        else:
            yield value
