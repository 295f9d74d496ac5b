"""What a compilation depends on, so that the same program is compiled once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from ttl.config import Config
from ttl.language.operation import Program
from ttl.semantics.tensors import row_page_elements
from ttl.source.frozen import NoKey, freeze_all
from ttl.source.recent import Recent
from ttl.target import Target

Value = TypeVar("Value")


def kept_for(
    kept: Recent[Value], program: Program, target: Target, config: Config, make: Callable[[], Value]
) -> Value:
    """What was made of a program that compiles to the same; made anew for one without a key."""
    try:
        key = compile_key(program, target, config)
    except NoKey:
        return make()
    return kept.get(key, make)


def compile_key(program: Program, target: Target, config: Config) -> Hashable:
    """Equal for programs that compile to the same artifact; NoKey if that cannot be told."""
    from .compile import operands_of

    operation, tensors = program.operation, tuple(program.tensors.values())
    by_node = (kernel for kernels in program.kernels_by_node.values() for kernel in kernels)
    kernels = [(kernel.kind, kernel.function) for kernel in (*program.kernels, *by_node)]
    declared = (program.buffers, program.pipe_nets, program.semaphores)
    return (
        operation.__name__,
        operation.fp32_dest_acc_en,
        operation.dst_full_sync_en,
        operation.math_fidelity,
        operation.f32,
        operation.division,
        tuple(sorted(program.options.items())),
        program.grid,
        operands_of(program),
        tuple(row_page_elements(tensor) for tensor in tensors),
        freeze_all([operation.lowering, kernels, declared], tensors),
        target,
        config,
    )
