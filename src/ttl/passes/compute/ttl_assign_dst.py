"""ttl-assign-dst: every register value gets its DST slot, every section its sub-blocks.

The attribute `dst_slot` of an operation has one entry for each of its results. The attribute
`subblock` of a section says how much of a block it works on at a time: a number of tiles, or rows
and columns of tiles where a matrix product, a reduction, a broadcast or a transposition asks for
both; what is left over is a smaller sub-block.
A register is slot * (tiles of the sub-block) + tile.
rule WHOLE   a section with a loop or the end of a block in it works on whole blocks: its inputs
             pass by once.
rule SPILL   a section that needs more slots than there are registers is cut in two; what the second
             half needs goes through compiler buffers.
rule EVEN    of the sub-blocks that fit, those that make the fewest sections, then those that leave
             nothing over.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ttl.dialects import ttl
from ttl.dialects.building import walk
from ttl.semantics.types import at_least_matrix
from ttl.target import Target

from ..module_pass import integers, kernels, not_yet, target_of
from .arranged_tiles import is_arranged, is_broadcasting, is_matmul
from .compiler_buffers import FP32, CompilerBuffers
from .dst_allocation import Allocation, allocate, is_whole, section_shape
from .dst_spilling import spill
from .ttl_set_compute_kernel_config import FULL_SYNC

DST_SLOT = "dst_slot"
SUBBLOCK = "subblock"


@dataclass(frozen=True)
class TtlAssignDst(ModulePass):
    name = "ttl-assign-dst"

    dst_capacity: int = 0  # 0: what the chip has

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for kernel in kernels(op, "compute"):
            capacity = self.dst_capacity or _capacity(kernel, target)
            buffers = CompilerBuffers(op, kernel)
            for section in [o for o in walk(kernel) if isinstance(o, ttl.ComputeOp)]:
                _assign(section, target.device_api, capacity, buffers)


def _capacity(kernel: func.FuncOp, target: Target) -> int:
    fp32, full_sync = (bool(kernel.attributes[name]) for name in (FP32, FULL_SYNC))
    return target.dst_capacity(fp32=fp32, full_sync=full_sync)


def _assign(
    section: ttl.ComputeOp, api: str, capacity: int, buffers: CompilerBuffers
) -> None:
    allocation = allocate(section, api)
    shape = section_shape(section)
    if is_whole(section):
        needed = allocation.size * prod(shape)
        if needed > capacity or allocation.is_tangled:  # rule WHOLE
            raise not_yet(
                f"an expression in a loop that needs {needed} of the {capacity} DST registers",
                section,
                "use smaller blocks, or leave dst_full_sync_en to the compiler",
            )
        whole = at_least_matrix(shape) if is_by_place(section) else (prod(shape),)
        _annotate(section, allocation, whole)
        return
    if allocation.size > capacity:  # rule SPILL
        for part in spill(section, api, capacity, buffers):
            _assign(part, api, capacity, buffers)
        return
    tiles = capacity // max(allocation.size, 1)
    if is_by_place(section):
        rows, columns = at_least_matrix(shape)[-2:]
        _annotate(section, allocation, best_rectangle(rows, columns, tiles))
    else:
        _annotate(section, allocation, (even_part(prod(shape), tiles),))


def is_by_place(section: ttl.ComputeOp) -> bool:
    """Does a tile depend on its row and column?"""
    return any(is_matmul(op) or is_arranged(op) or is_broadcasting(op) for op in walk(section))


def even_part(size: int, most: int) -> int:
    """rule EVEN: the parts of `size`, as many as are needed and as equal as can be."""
    return ceil(size / ceil(size / most))


def best_rectangle(rows: int, columns: int, most: int) -> tuple[int, int]:
    """rule EVEN, for sub-blocks of rows and columns."""

    def cost(part: tuple[int, int]) -> tuple[int, ...]:
        sections = ceil(rows / part[0]) * ceil(columns / part[1])
        left_over = (rows % part[0] > 0) + (columns % part[1] > 0)
        return sections, left_over, sum(part), -part[1]

    parts = [
        (r, c)
        for r in range(1, min(rows, most) + 1)
        for c in range(1, min(columns, most // r) + 1)
    ]
    return min(parts, key=cost)


def _annotate(section: ttl.ComputeOp, allocation: Allocation, subblock: tuple[int, ...]) -> None:
    section.attributes[SUBBLOCK] = integers(subblock)
    for op in walk(section):
        slots = [allocation.slot[v] for v in op.results if v in allocation.slot]
        if slots:
            op.attributes[DST_SLOT] = integers(slots)
