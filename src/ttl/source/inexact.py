"""Which operations of the op table that engines may round differently a compute kernel applies."""

from __future__ import annotations

import dis
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType

from ttl.language.operation import Program
from ttl.semantics.function_source import nested_codes
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.ops import BLOCK_OPS, BY_OPERATOR

MOST_FUNCTIONS = 256


def inexact_operations(program: Program) -> tuple[str, ...]:
    """Their names, one for each place that applies one: all others give the same bits."""
    kernels = [each.function for each in program.kernels if each.kind is KernelKind.COMPUTE]
    found: list[str] = []
    for code in _codes(kernels):
        for each in dis.get_instructions(code):
            name = each.argval if isinstance(each.argval, str) else ""
            op = BY_OPERATOR.get(each.argrepr.removesuffix("=")) or BLOCK_OPS.get(name)
            is_applied = each.opname.startswith(("LOAD_ATTR", "LOAD_METHOD", "BINARY_OP"))
            if op is not None and op.bound is not None and is_applied:
                found.append(op.operator or op.name)
    return tuple(sorted(found))


def _codes(functions: Iterable[object]) -> Iterator[CodeType]:
    """Those of the functions, of what is nested in them, and of the helpers that they name."""
    left, seen = list(functions), set[CodeType]()
    while left and len(seen) < MOST_FUNCTIONS:
        function = left.pop()
        if not isinstance(function, FunctionType) or function.__code__ in seen:
            continue
        own = [function.__code__, *nested_codes(function.__code__)]
        seen.update(own)
        yield from own
        names = {name for code in own for name in code.co_names}
        cells = [cell.cell_contents for cell in function.__closure__ or () if _is_set(cell)]
        left += [*cells, *(function.__globals__.get(name) for name in sorted(names))]


def _is_set(cell: object) -> bool:
    return hasattr(cell, "cell_contents")
