"""ttl-assign-dst: give every register value its DST slot.

The attribute `dst_slot` of an operation has one entry for each of its results, `dst_slots` of a
section the number of slots. A slot is as many registers as a sub-block has tiles.

rule WHOLE   a section with a loop or the end of a block in it works on whole blocks: its inputs
             pass by only once.
rule SPILL   a section that needs more slots than there are registers is cut in two; values that the
             second half needs go through compiler buffers.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from ttl.dialects import ttl
from ttl.dialects.building import walk
from ttl.target import Target

from ..module_pass import integers, kernels, not_yet, target_of
from .compiler_buffers import FP32, CompilerBuffers
from .dst_allocation import Allocation, allocate, is_whole, section_shape
from .dst_spilling import spill
from .ttl_set_compute_kernel_config import FULL_SYNC

DST_SLOT = "dst_slot"
DST_SLOTS = "dst_slots"


def apply(op: ModuleOp, *, dst_capacity: int = 0) -> None:
    """Assign slots; a capacity of 0 means the chip's."""
    target = target_of(op)
    for kernel in kernels(op, "compute"):
        capacity = dst_capacity or capacity_of(kernel, target)
        buffers = CompilerBuffers(op, kernel)
        for section in [o for o in walk(kernel) if isinstance(o, ttl.ComputeOp)]:
            _assign(section, target.device_api, capacity, buffers)


def capacity_of(kernel: func.FuncOp, target: Target) -> int:
    fp32, full_sync = (bool(kernel.attributes[name]) for name in (FP32, FULL_SYNC))
    return target.dst_capacity(fp32=fp32, full_sync=full_sync)


def _assign(section: ttl.ComputeOp, api: str, capacity: int, buffers: CompilerBuffers) -> None:
    allocation = allocate(section, api)
    if is_whole(section):
        needed = allocation.size * prod(section_shape(section))
        if needed > capacity or allocation.is_tangled:  # rule WHOLE
            raise not_yet(
                f"an expression in a loop that needs {needed} of the {capacity} DST registers",
                section,
                "use smaller blocks, or leave dst_full_sync_en to the compiler",
            )
    elif allocation.size > capacity:  # rule SPILL
        for part in spill(section, api, capacity, buffers):
            _assign(part, api, capacity, buffers)
        return
    _annotate(section, allocation)


def _annotate(section: ttl.ComputeOp, allocation: Allocation) -> None:
    section.attributes[DST_SLOTS] = integers([allocation.size])
    for op in walk(section):
        slots = [allocation.slot[v] for v in op.results if v in allocation.slot]
        if slots:
            op.attributes[DST_SLOT] = integers(slots)
