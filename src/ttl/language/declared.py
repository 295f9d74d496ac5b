"""Collects the declarations of an operation's body while it runs, and names them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from types import FunctionType
from typing import TYPE_CHECKING

from ttl.semantics.types import Shape

from .buffer import DataflowBuffer
from .calls import refused
from .engine import scope
from .pipes import Pipe, PipeNet
from .semaphores import Semaphore

if TYPE_CHECKING:
    from .operation import KernelFunction


@dataclass(slots=True)
class OperationScope:
    """The declarations of an operation's body while it runs for `node`."""

    grid: Shape
    node: Shape
    asked_for_node: bool = False
    kernels: list[KernelFunction] = field(default_factory=list)
    buffers: list[DataflowBuffer] = field(default_factory=list)
    pipe_nets: list[PipeNet] = field(default_factory=list)
    semaphores: list[Semaphore] = field(default_factory=list)


class NamedKernels:
    """`ttl.Program(compute, read, write)`, which the body of an operation may return.

    It has no effect, and neither have the tensors in a call of it: the kernels' decorators have
    declared the kernels.
    """

    def __init__(self, *kernels: object):
        declared = {kernel.function: kernel.name for kernel in scope("ttl.Program()").kernels}
        for kernel in kernels:
            if not isinstance(kernel, FunctionType) or declared.pop(kernel, None) is None:
                name = getattr(kernel, "__name__", type(kernel).__name__)
                raise refused(f"ttl.Program() takes each kernel once, not `{name}`", PROGRAM_HELP)
        if declared:
            left = next(iter(declared.values()))
            raise refused(f"ttl.Program() leaves out the kernel `{left}`", PROGRAM_HELP)

    def __call__(self, *tensors: object) -> NamedKernels:
        return self


PROGRAM_HELP = "leave it out: the decorated functions of the operation are its kernels"


Declared = DataflowBuffer | Semaphore | PipeNet


def put_loose_pipes_in_nets(collected: OperationScope) -> None:
    """Put every pipe that kernels see outside of a net into its own net."""
    parts = chain.from_iterable(_named_parts(kernel.find_visible()) for kernel in collected.kernels)
    loose = {
        id(value): (name, value)
        for name, value in parts
        if isinstance(value, Pipe) and (value.home is None or value.home[0].is_implicit)
    }
    for name, pipe in loose.values():
        net = PipeNet([pipe])
        net.is_implicit, net.name, net.span = True, name, pipe.span
        net.index = len(collected.pipe_nets)
        collected.pipe_nets.append(net)


def name_declared(collected: OperationScope) -> None:
    """Name declarations after the variables through which kernels see them."""
    named: dict[str, Declared] = {}
    for kernel in collected.kernels:
        for name, value in _named_parts(kernel.captures()):
            if isinstance(value, Declared) and value not in named.values():
                if value.index is None:  # declared outside of the body
                    continue
                value.name = name if name not in named else f"{name}_{value.index}"
                named[value.name] = value


def _named_parts(captured: dict[str, object]) -> Iterator[tuple[str, object]]:
    """Yield variables and the items of lists: `buffers_0` for buffers[0]."""
    for name, value in captured.items():
        yield name, value
    for name, value in captured.items():
        if isinstance(value, (list, tuple)):
            yield from ((f"{name}_{at}", item) for at, item in enumerate(value))
