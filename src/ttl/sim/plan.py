"""Facts about a kernel that are equal on many nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ttl.language.operation import KernelFunction
from ttl.semantics.dtypes import DType, bfloat16, can_hold, float32
from ttl.semantics.kernel_kinds import KernelKind

REGISTER_BITS = {float32: 32, bfloat16: 16}


class KernelPlan(NamedTuple):
    """A kernel as it is on all nodes, or on all that one run of the body covers."""

    name: str
    function: Callable[[], None]
    kind: KernelKind
    is_compute: bool
    dest: DType  # the format of float values in expressions
    inexact: tuple[DType, ...]  # float types of buffers that reading rounds, as DST is narrower
    register_bits: int  # of f32 or bfloat16, for block_math; 0 if reading rounds

    @classmethod
    def of(cls, kernel: KernelFunction, dest: DType, held: Sequence[DType]) -> KernelPlan:
        inexact = tuple([each for each in held if each.is_float and not can_hold(dest, each)])
        is_compute = kernel.kind is KernelKind.COMPUTE
        register_bits = 0 if inexact else REGISTER_BITS.get(dest, 0)
        name, function, kind = kernel.name, kernel.function, kernel.kind
        return cls(name, function, kind, is_compute, dest, inexact, register_bits)
