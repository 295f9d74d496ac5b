"""ttl-annotate-l1-acc-loops: mark the carried values that the packer may add up in L1.

The attribute `l1_acc` of a loop lists the values that are only added to. The pass that makes
sections decides whether to add them there, or in registers if they fit.
"""

from __future__ import annotations

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp

from ttl.dialects.building import walk
from ttl.dialects.ttcore import block_type

from ..module_pass import integers, kernels, numbers_in
from .carried_values import find_sum
from .rebuilt_regions import L1_ACC
from .section_builder import is_block


def apply(op: ModuleOp) -> None:
    for kernel in kernels(op, "compute"):
        _annotate(kernel)


def _annotate(kernel: func.FuncOp) -> None:
    for loop in walk(kernel):
        if isinstance(loop, scf.ForOp):
            sums = [each for each in range(len(loop.iter_args)) if _is_sum(loop, each)]
            if sums:
                loop.attributes[L1_ACC] = integers(sums)


def _is_sum(loop: scf.ForOp, position: int) -> bool:
    start = loop.iter_args[position]
    dtype = block_type(start.type).dtype if is_block(start) else None
    is_float = dtype is not None and dtype.is_float
    return is_float and find_sum(loop, position) is not None


def is_l1_acc(loop: scf.ForOp, position: int) -> bool:
    return L1_ACC in loop.attributes and position in numbers_in(loop.attributes[L1_ACC])
