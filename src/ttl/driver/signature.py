"""Identify calls: everything that an artifact depends on, as one value."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TypeVar

from ttl.artifact import Operand
from ttl.config import Config
from ttl.language.operation import Operation, Program
from ttl.loading.recent import Recent
from ttl.semantics.tensors import row_page_elements
from ttl.semantics.types import Shape
from ttl.source.frozen import Key, NoKey, freeze_all
from ttl.target import Target

from .operands import operands_of
from .stable import stable

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class CallSignature:
    """Compare equal for calls that compile to the same artifact.

    Make it after the body has run: it then contains every value that the body read.
    """

    operation: tuple[Hashable, ...]  # what its decorator was given
    grid: Shape
    tensors: tuple[Operand, ...]
    row_pages: tuple[int | None, ...]
    declared: Key  # the kernels, with what they name, and their buffers, nets and semaphores
    compiler_options: tuple[tuple[str, Hashable], ...]
    target: Target
    config: Config
    hash: int = field(default=0, compare=False, repr=False)  # of all this, looked up many times

    def __post_init__(self) -> None:
        parts = (self.operation, self.grid, self.tensors, self.row_pages, self.declared)
        object.__setattr__(self, "hash", hash((*parts, self.compiler_options)))

    def __hash__(self) -> int:
        return self.hash

    @classmethod
    def of(cls, program: Program, target: Target, config: Config) -> CallSignature:
        """Raise NoKey if the call depends on something that cannot be identified."""
        operation, tensors = program.operation, tuple(program.tensors.values())
        by_node = (kernel for kernels in program.kernels_by_node.values() for kernel in kernels)
        kernels = [(kernel.kind, kernel.function) for kernel in (*program.kernels, *by_node)]
        declared = (program.buffers, program.pipe_nets, program.semaphores)
        return cls(
            _outline(operation),
            program.grid,
            operands_of(program),
            tuple([row_page_elements(tensor) for tensor in tensors]),
            freeze_all([operation.frontend, kernels, declared], tensors),
            tuple(sorted(program.options.items())),
            target,
            config,
        )

    def stable(self) -> str:
        """Return a text that is equal in all processes; raise NoKey if there is none.

        Options of a run are not included: an artifact depends only on those in `target`.
        """
        places = (*self.operation, *self.compiler_options, *self.row_pages, *self.grid)
        return f"{places!r} {self.tensors!r} {self.target!r} {stable(self.declared)}"


def _outline(operation: Operation) -> tuple[Hashable, ...]:
    return (
        operation.__name__,
        operation.fp32_dest_acc_en,
        operation.dst_full_sync_en,
        operation.math_fidelity,
        operation.f32,
        operation.division,
    )


def signature_of(program: Program, target: Target, config: Config) -> CallSignature | None:
    """Return None if the call depends on something that cannot be identified."""
    try:
        return CallSignature.of(program, target, config)
    except NoKey:
        return None


def kept_for(
    kept: Recent[Value], signature: CallSignature | None, make: Callable[[], Value]
) -> Value:
    """Return the value kept for a signature, making it the first time; never keep without one."""
    return make() if signature is None else kept.get(signature, make)
