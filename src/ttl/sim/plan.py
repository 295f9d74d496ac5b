"""What is the same for a kernel on many nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ttl.language.operation import KernelFunction
from ttl.semantics.dtypes import DType, can_hold
from ttl.semantics.kernel_kinds import KernelKind


class KernelPlan(NamedTuple):
    """On all nodes, or on all that its body was run for."""

    name: str
    function: Callable[[], None]
    kind: KernelKind
    is_compute: bool
    dest: DType  # the format of float values in expressions
    inexact: tuple[DType, ...]  # floats of buffers that reading rounds, because DST is narrower

    @classmethod
    def of(cls, kernel: KernelFunction, dest: DType, held: Sequence[DType]) -> KernelPlan:
        inexact = tuple([each for each in held if each.is_float and not can_hold(dest, each)])
        is_compute = kernel.kind is KernelKind.COMPUTE
        return cls(kernel.name, kernel.function, kernel.kind, is_compute, dest, inexact)
