"""Which operations of the op table that engines may round differently a compute kernel applies."""

from __future__ import annotations

import dis

from ttl.language.operation import Program
from ttl.semantics.function_source import nested_codes
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.ops import BLOCK_OPS, BY_OPERATOR

from .functions import own_code, reachable_functions


def inexact_operations(program: Program) -> tuple[str, ...]:
    """Their names, one for each place that applies one: all others give the same bits."""
    kernels = [each.function for each in program.kernels if each.kind is KernelKind.COMPUTE]
    outer = {own_code(each) for kernel in kernels for each in reachable_functions(kernel)}
    found: list[str] = []
    for code in outer.union(*map(nested_codes, outer)):
        for each in dis.get_instructions(code):
            name = each.argval if isinstance(each.argval, str) else ""
            op = BY_OPERATOR.get(each.argrepr.removesuffix("=")) or BLOCK_OPS.get(name)
            is_applied = each.opname.startswith(("LOAD_ATTR", "LOAD_METHOD", "BINARY_OP"))
            if op is not None and op.bound is not None and is_applied:
                found.append(op.operator or op.name)
    return tuple(sorted(found))
