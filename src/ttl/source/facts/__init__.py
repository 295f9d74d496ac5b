"""Facts about a program that backends need besides its kernels.

`Program` carries the facts, computed on demand, so simulator and compiler decide the same.
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
    """The facts of one program, each computed when first asked for."""

    def __init__(self, program: Program):
        self.operation = program.operation
        self.options = program.options
        self.buffers = {buffer.dtype for buffer in program.buffers}
        self.kernels = program.kernels
        self.grid = program.grid
        self.nodes_kernels = tuple(program.kernels_by_node.values()) or (program.kernels,)

    @computed_once
    def points(self) -> list[CodePoints]:
        """List the supplied calls of all kernels and helpers."""
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
        """May a kernel handle numpy numbers? Kernels treat them as Python's."""
        return may_meet_numpy(
            kernel.function for kernels in self.nodes_kernels for kernel in kernels
        )

    @computed_once
    def is_unusual(self) -> bool:
        """May the compiler refuse a kernel because of Python that is not in the language?"""
        return is_unusual(kernel.function for kernels in self.nodes_kernels for kernel in kernels)

    @property
    def has_reduction(self) -> bool:
        return Sum.REDUCTION in self._uses.sums

    @computed_once
    def dest_dtype(self) -> DType:
        """Return the format of float values in the compute kernel's expressions."""
        is_chosen = not self.fp32_dest_acc_en and float16 in self.buffers
        return dest_dtype(self.fp32_dest_acc_en, self._uses.held if is_chosen else ())

    @computed_once
    def _uses(self) -> Uses:
        """Collect the uses of the compute kernels of all nodes, which are one kernel."""
        found = Uses()
        for kernels in self.nodes_kernels:
            for kernel in kernels:
                if kernel.kind is KernelKind.COMPUTE:
                    found.add(_kernel_uses(kernel))
        return found


# The uses of a kernel, keyed by its code and the values of its names. An lru_cache keyed by
# function would keep the operation's tensors and buffers alive.
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
