"""ttl-assign-dst: every register value gets its first DST register.

The attribute `dst_index` of an operation has one entry for each of its results.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, i64
from xdsl.passes import ModulePass

from ttl.dialects import ttl
from ttl.target import Target

from .dst_allocation import allocate
from .module_pass import kernels, not_yet, target_of
from .ttl_set_compute_kernel_config import FP32, FULL_SYNC

DST_INDEX = "dst_index"


@dataclass(frozen=True)
class TtlAssignDst(ModulePass):
    name = "ttl-assign-dst"

    dst_capacity: int = 0  # 0: what the chip has

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for kernel in kernels(op, "compute"):
            capacity = self.dst_capacity or _capacity(kernel, target)
            for section in kernel.walk():
                if isinstance(section, ttl.ComputeOp):
                    _assign(section, target.device_api, capacity)


def _capacity(kernel: func.FuncOp, target: Target) -> int:
    fp32, full_sync = (bool(kernel.attributes[name]) for name in (FP32, FULL_SYNC))
    return target.dst_capacity(fp32=fp32, full_sync=full_sync)


def _assign(section: ttl.ComputeOp, api: str, capacity: int) -> None:
    allocation = allocate(section, api)
    if allocation.size > capacity:
        raise not_yet(
            f"an expression that needs {allocation.size} of the {capacity} DST registers",
            section,
            "use smaller blocks",
        )
    for op in section.walk():
        firsts = [allocation.first[v] for v in op.results if v in allocation.first]
        if firsts:
            op.attributes[DST_INDEX] = ArrayAttr([IntegerAttr(first, i64) for first in firsts])
