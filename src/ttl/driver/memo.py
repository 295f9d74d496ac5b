"""What a compilation depends on, so that the same program is compiled once in a process."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from types import CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any

from ttl.config import Config
from ttl.language import DataflowBuffer, PipeNet, Semaphore
from ttl.language.operation import KernelFunction, Program
from ttl.language.semaphores import RemoteSemaphore
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.tensors import row_page_elements
from ttl.source.functions import reachable_functions
from ttl.target import Target

# Modules whose attributes a kernel may use and that do not change; a user's own may.
CONSTANT_MODULES = ("builtins", "math", "numpy", "ttl", "ttnn")


def compile_key(program: Program, target: Target, config: Config) -> Hashable:
    """Equal for programs that compile to the same artifact; TypeError if that cannot be told."""
    operation = program.operation
    return (
        operation.__name__,
        operation.fp32_dest_acc_en,
        operation.dst_full_sync_en,
        operation.math_fidelity,
        _part(operation.lowering),
        tuple(sorted(program.options.items())),
        program.grid,
        tuple((name, _part(tensor)) for name, tensor in program.tensors.items()),
        tuple(_kernel(kernel, program) for kernel in program.kernels),
        tuple(
            _kernel(kernel, program)
            for kernels in program.kernels_by_node.values()
            for kernel in kernels
        ),
        tuple(_part(buffer) for buffer in program.buffers),
        tuple(_part(net) for net in program.pipe_nets),
        tuple(_part(semaphore) for semaphore in program.semaphores),
        target.name,
        config,
    )


def _kernel(kernel: KernelFunction, program: Program) -> Hashable:
    """A kernel and the functions it can call: their code, and what the names in them stand for."""
    tensors = {id(tensor): position for position, tensor in enumerate(program.tensors.values())}
    functions = tuple(_function(each, tensors) for each in reachable_functions(kernel.function))
    return kernel.kind, functions


def _function(function: FunctionType, tensors: dict[int, int]) -> Hashable:
    captured = KernelFunction(KernelKind.COMPUTE, function).captures()
    code, globals_ = function.__code__, function.__globals__
    names = {name: globals_[name] for name in _names(code) if name in globals_}
    return (
        code,
        tuple((name, _part(value, tensors)) for name, value in captured.items()),
        tuple((name, _part(value, tensors)) for name, value in names.items()),
        _part(function.__defaults__, tensors),
        _part(tuple(sorted((function.__kwdefaults__ or {}).items())), tensors),
    )


def _names(code: CodeType) -> Iterator[str]:
    """The global names of a function and of those nested in it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _part(value: Any, tensors: Mapping[int, int] = MappingProxyType({})) -> Hashable:
    if id(value) in tensors:
        return "tensor", tensors[id(value)]
    if isinstance(value, DataflowBuffer):
        like = value.shape, value.dtype, value.layout
        return value.index, value.name, *like, value.block_count, value.span
    if (parts := getattr(value, "key_parts", None)) is not None and not isinstance(value, type):
        return type(value).__name__, tuple(_part(part, tensors) for part in parts)
    if isinstance(value, type) and value.__module__.split(".")[0] in CONSTANT_MODULES:
        return value.__qualname__
    if isinstance(value, PipeNet):
        return "net", value.index, value.name, value.pipes, value.span
    if isinstance(value, Semaphore):
        return "semaphore", value.index, value.name, value.initial, value.span
    if isinstance(value, RemoteSemaphore):
        return type(value), _part(value.semaphore), value.nodes
    if isinstance(value, FunctionType):
        return value.__code__
    if isinstance(value, ModuleType) and value.__name__.split(".")[0] in CONSTANT_MODULES:
        return value.__name__
    if isinstance(value, tuple):
        return tuple(_part(item, tensors) for item in value)
    if value is None or isinstance(value, (int, float, str, bool)):
        return type(value), value
    if hasattr(value, "dtype") and hasattr(value, "layout"):
        return tuple(value.shape), value.dtype, str(value.layout), row_page_elements(value)
    raise TypeError(f"{value!r} may change between calls")
