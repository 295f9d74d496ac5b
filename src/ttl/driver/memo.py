"""What a compilation depends on, so that the same program is compiled once in a process."""

from __future__ import annotations

from collections.abc import Hashable
from types import FunctionType, ModuleType
from typing import Any

from ttl.config import Config
from ttl.language import DataflowBuffer
from ttl.language.operation import KernelFunction, Program
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
        tuple(sorted(program.options.items())),
        program.grid,
        tuple((name, _part(tensor)) for name, tensor in program.tensors.items()),
        tuple(_kernel(kernel, program) for kernel in program.kernels),
        tuple(_part(buffer) for buffer in program.buffers),
        target.name,
        config,
    )


def _kernel(kernel: KernelFunction, program: Program) -> Hashable:
    tensors = {id(tensor): position for position, tensor in enumerate(program.tensors.values())}
    captured = tuple(
        (name, ("tensor", tensors[id(value)]) if id(value) in tensors else _part(value))
        for name, value in kernel.captures().items()
    )
    code, globals_ = kernel.function.__code__, kernel.function.__globals__
    names = tuple((name, _part(globals_[name])) for name in code.co_names if name in globals_)
    return kernel.kind, code, captured, names


def _part(value: Any) -> Hashable:
    if isinstance(value, DataflowBuffer):
        return value.index, value.name, value.shape, value.dtype, value.block_count, value.span
    if isinstance(value, FunctionType):
        return value.__code__
    if isinstance(value, ModuleType) and value.__name__.split(".")[0] in CONSTANT_MODULES:
        return value.__name__
    if isinstance(value, tuple):
        return tuple(_part(item) for item in value)
    if value is None or isinstance(value, (int, float, str, bool)):
        return type(value), value
    if hasattr(value, "dtype"):
        return tuple(value.shape), value.dtype, str(value.layout)
    raise TypeError(f"{value!r} may change between calls")
