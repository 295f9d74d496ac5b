"""What backends need to know of a program beside its kernels themselves.

The facts are read when somebody first asks for them, and `Program` carries them: simulator and
compiler cannot decide differently.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from types import FunctionType, ModuleType
from typing import Any

from ttl.diagnostics.frames import is_user_file
from ttl.language.buffer import DataflowBuffer
from ttl.language.operation import KernelFunction, Program, is_tensor
from ttl.semantics.dtypes import DType, dtype_of, float16
from ttl.semantics.kernel_config import WIDE, dest_dtype, needs_fp32_dest
from ttl.semantics.kernel_kinds import KernelKind

from .functions import environment, own_code
from .implicit_sync import CodePoints, kernel_points
from .live import SCALARS, Uses, live_uses
from .memo import Memo
from .name_uses import reads_what_it_writes
from .supplied import refuse_leaks


def facts_of(program: Program) -> Facts:
    if program.facts is None:
        program.carry(Facts(program))
    assert isinstance(program.facts, Facts)
    return program.facts


class Facts:
    """Each is read at the first question."""

    def __init__(self, program: Program):
        self.operation = program.operation
        self.buffers = {buffer.dtype for buffer in program.buffers}
        self.kernels = program.kernels
        self.nodes_kernels = tuple(program.kernels_by_node.values()) or (program.kernels,)

    @cached_property
    def points(self) -> list[CodePoints]:
        """The supplied calls of all kernels and helpers.

        Raises UsageError for a handle that is released or waited for on some paths only.
        """
        found = kernel_points(kernel.function for kernel in self.kernels)
        refuse_leaks(found)
        return found

    @cached_property
    def may_read_what_it_writes(self) -> bool:
        return reads_what_it_writes(self.kernels)

    @cached_property
    def fp32_dest_acc_en(self) -> bool:
        """Are the registers of the compute kernel 32 bits wide?"""
        explicit = self.operation.fp32_dest_acc_en
        if explicit is not None or self.buffers <= set(WIDE):
            return needs_fp32_dest(explicit, False, self.buffers)
        return needs_fp32_dest(None, self._uses.has_matmul, self._uses.held | self._uses.integers)

    @cached_property
    def dest_dtype(self) -> DType:
        """The format of the float values of expressions in the compute kernel."""
        is_chosen = not self.fp32_dest_acc_en and float16 in self.buffers
        return dest_dtype(self.fp32_dest_acc_en, self._uses.held if is_chosen else ())

    @cached_property
    def _uses(self) -> Uses:
        """Of the compute kernel on any node: there is one for all of them."""
        found = Uses()
        for kernels in self.nodes_kernels:
            for kernel in kernels:
                if kernel.kind is KernelKind.COMPUTE:
                    found.add(_kernel_uses(kernel))
        return found


# What a kernel uses, by what that depends on: its code, and what the names in it stand for.
_USES: Memo[Uses] = Memo()


def _kernel_uses(kernel: KernelFunction) -> Uses:
    try:
        key: Hashable = tuple(_key(each, ()) for each in (kernel.function, *kernel.written_as))
    except TypeError:
        return _read_uses(kernel)
    return _USES.get(key, lambda: _read_uses(kernel))


def _read_uses(kernel: KernelFunction) -> Uses:
    found = Uses()
    if kernel.written_as:
        found.held |= {buffer.dtype for buffer in kernel.buffers()}
        for function in kernel.written_as:
            live_uses(function, found)
    else:
        live_uses(kernel.function, found)  # type: ignore[arg-type]  # kernels are functions
    return found


DEEPEST = 4
MOST_ITEMS = 64


def _key(value: Any, outer: tuple[object, ...]) -> Hashable:
    """Equal for values that a kernel uses alike; TypeError if that cannot be told."""
    if isinstance(value, SCALARS):
        return type(value), value
    if any(value is each for each in outer):
        return "again", len(outer)
    if isinstance(value, DataflowBuffer):
        return "buffer", value.dtype
    if isinstance(value, FunctionType):
        return _function_key(value, (*outer, value))
    if isinstance(value, (tuple, list, dict)) and len(value) <= MOST_ITEMS and len(outer) < DEEPEST:
        items = list(value.items()) if isinstance(value, dict) else value
        return type(value), tuple(_key(item, (*outer, value)) for item in items)
    if isinstance(value, DType):
        return value
    if isinstance(value, ModuleType):
        return "module", value.__name__
    if is_tensor(value):
        return "tensor", tuple(value.shape), dtype_of(value)
    kind = value if isinstance(value, type) else type(value)
    if kind.__module__.partition(".")[0] in ("ttl", "ttnn", "builtins", "numpy"):
        return kind.__qualname__, getattr(value, "__name__", "")
    raise TypeError(f"{value!r} may be anything")


def _function_key(function: FunctionType, outer: tuple[object, ...]) -> Hashable:
    code = own_code(function)
    if not is_user_file(code.co_filename):
        return code
    defaults = function.__defaults__ or (), function.__kwdefaults__ or {}
    around = [(name, _key(value, outer)) for name, value in environment(function)]
    return code, _key(defaults, outer), tuple(around)
