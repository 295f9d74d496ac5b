"""What backends need to know of a program beside its kernels themselves.

The facts are read when somebody first asks for them, and `Program` carries them: simulator and
compiler cannot decide differently.
"""

from __future__ import annotations

from typing import Any

from ttl.language.operation import KernelFunction, Program
from ttl.loading.forks import computed_once
from ttl.loading.recent import Recent
from ttl.semantics.dtypes import DType, float16
from ttl.semantics.kernel_config import WIDE, Sum, dest_dtype, needs_fp32_dest
from ttl.semantics.kernel_kinds import KernelKind

from ..frozen import NoKey, freeze_all
from ..name_uses import reads_what_it_writes
from ..numpy_numbers import may_meet_numpy
from ..unusual import is_unusual
from .registers import Uses, live_uses
from .releases import CodePoints, kernel_points


def facts_of(program: Program) -> Facts:
    if program.facts is None:
        program.keep_facts(Facts(program))
    assert isinstance(program.facts, Facts)
    return program.facts


class Facts:
    """Each is read at the first question."""

    def __init__(self, program: Program):
        self.operation = program.operation
        self.options = program.options
        self.buffers = {buffer.dtype for buffer in program.buffers}
        self.kernels = program.kernels
        self.grid = program.grid
        self.nodes_kernels = tuple(program.kernels_by_node.values()) or (program.kernels,)

    @computed_once
    def points(self) -> list[CodePoints]:
        """The supplied calls of all kernels and helpers."""
        return kernel_points(kernel.function for kernel in self.kernels)

    @computed_once
    def may_read_what_it_writes(self) -> bool:
        return reads_what_it_writes(self.kernels)

    @computed_once
    def fp32_dest_acc_en(self) -> bool:
        """Are the registers of the compute kernel 32 bits wide?"""
        explicit = self.operation.fp32_dest_acc_en
        if explicit is not None or self.buffers <= set(WIDE):
            return needs_fp32_dest(explicit, (), self.buffers)
        uses = self._uses
        return needs_fp32_dest(None, uses.sums, uses.held | uses.integers, self.options)

    @computed_once
    def may_meet_numpy(self) -> bool:
        """May a kernel meet numbers of numpy, which are Python's there?"""
        return may_meet_numpy(
            kernel.function for kernels in self.nodes_kernels for kernel in kernels
        )

    @computed_once
    def is_unusual(self) -> bool:
        """May the compiler refuse a kernel for Python that is no part of the language?"""
        return is_unusual(kernel.function for kernels in self.nodes_kernels for kernel in kernels)

    @property
    def has_reduction(self) -> bool:
        return Sum.REDUCTION in self._uses.sums

    @computed_once
    def dest_dtype(self) -> DType:
        """The format of the float values of expressions in the compute kernel."""
        is_chosen = not self.fp32_dest_acc_en and float16 in self.buffers
        return dest_dtype(self.fp32_dest_acc_en, self._uses.held if is_chosen else ())

    @computed_once
    def _uses(self) -> Uses:
        """Of the compute kernel on any node: there is one for all of them."""
        found = Uses()
        for kernels in self.nodes_kernels:
            for kernel in kernels:
                if kernel.kind is KernelKind.COMPUTE:
                    found.add(_kernel_uses(kernel))
        return found


# What a kernel uses, by its code and by what the names in it stand for. No lru_cache: with the
# function as a key the tensors and buffers of its operation would be kept.
_USES: Recent[Uses] = Recent(1024)


def _kernel_uses(kernel: KernelFunction) -> Uses:
    functions: tuple[Any, ...] = kernel.written_as or (kernel.function,)
    held = {buffer.dtype for buffer in kernel.buffers()} if kernel.written_as else set()

    def read() -> Uses:
        found = Uses(held)
        for function in functions:
            live_uses(function, found)
        return found

    try:
        key = frozenset(held), freeze_all(functions)
    except NoKey:
        return read()
    return _USES.get(key, read)
