"""Note arithmetic on elements that a kernel reads: data movement processors have no float unit."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp

from ttl.diagnostics import Diagnostic, codes
from ttl.dialects import ttl
from ttl.dialects.building import walk
from ttl.dialects.locations import span_of
from ttl.dialects.ttkernel import name_of

from ..module_pass import kernels

# Comparing and selecting cost little more than for integers.
ARITHMETIC = (arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp, ttl.FloatDivisionOp)


def note_soft_float(module: ModuleOp) -> list[Diagnostic]:
    """Note, once for the module, the first arithmetic of a kernel that reads elements."""
    for kernel in kernels(module):
        ops = walk(kernel)
        if not any(isinstance(op, ttl.ReadElementOp) for op in ops):
            continue
        found = next((op for op in ops if isinstance(op, ARITHMETIC)), None)
        if found is not None:
            broken = codes.SOFT_FLOAT.broken(
                f"`{name_of(kernel)}` computes with floats, which its processor does in software",
                "compute on blocks in a @ttl.compute() kernel; comparing costs little",
            )
            return [broken.at(span_of(found.location))]
    return []
