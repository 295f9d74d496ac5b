"""ttl-subblock-compute-for-dst: choose how much of a block each section works on at a time.

The attribute `subblock` of a section is a number of tiles, or rows and columns of tiles if a matrix
product, a reduction, a broadcast or a transposition needs both; the rest is a smaller sub-block. A
register is slot * (tiles of the sub-block) + tile.

rule ORDER   a store is `in_order` if the sub-blocks come in the order of the block's tiles, and no
             other operation packs into the buffer from the reserve to the push.
rule EVEN    of the sub-blocks that fit, choose those with the fewest sections, then those without a
             rest; then for products those that read the fewest tiles, otherwise those with the
             longest rows, which are packed in order.
"""

from __future__ import annotations

from math import ceil, prod

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Block, Operation

from ttl.dialects import ttl
from ttl.dialects.building import walk
from ttl.semantics.types import Shape, at_least_matrix

from ..module_pass import integers, kernels, numbers_in, target_of, users_of
from .arranged_tiles import is_arranged, is_broadcasting, is_matmul
from .dst_allocation import is_whole, section_shape
from .ttl_assign_dst import DST_SLOTS, capacity_of

SUBBLOCK = "subblock"


def apply(op: ModuleOp, *, dst_capacity: int = 0) -> None:
    """Choose sub-blocks; a capacity of 0 means the chip's."""
    for kernel in kernels(op, "compute"):
        capacity = dst_capacity or capacity_of(kernel, target_of(op))
        for section in [each for each in walk(kernel) if isinstance(each, ttl.ComputeOp)]:
            section.attributes[SUBBLOCK] = integers(_subblock(section, capacity))
            _find_order(section, kernel)


def _subblock(section: ttl.ComputeOp, capacity: int) -> Shape:
    shape = section_shape(section)
    tiles = capacity // max(*numbers_in(section.attributes[DST_SLOTS]), 1)
    if not is_by_place(section):
        return (prod(shape) if is_whole(section) else even_part(prod(shape), tiles),)
    if is_whole(section):
        return at_least_matrix(shape)
    rows, columns = at_least_matrix(shape)[-2:]
    return best_rectangle(rows, columns, tiles, any(is_matmul(op) for op in walk(section)))


# rule ORDER ---------------------------------------------------------------------------------------


def _find_order(section: ttl.ComputeOp, kernel: func.FuncOp) -> None:
    if not _comes_in_order(section):
        return
    for store in section.body.block.ops:
        if isinstance(store, ttl.TileStoreOp) and _is_alone(store, section, kernel):
            store.properties["in_order"] = UnitAttr()


def _comes_in_order(section: ttl.ComputeOp) -> bool:
    subblock = numbers_in(section.attributes[SUBBLOCK])
    rows, columns = at_least_matrix(section_shape(section))[-2:]
    return len(subblock) == 1 or subblock[-1] == columns or rows == 1


def _is_alone(store: ttl.TileStoreOp, section: ttl.ComputeOp, kernel: func.FuncOp) -> bool:
    """Is it the only store between a reserve and a push, both beside the section?"""
    reserve = store.view.owner
    if store.accumulate is not None or not isinstance(reserve, ttl.ReserveOp):
        return False
    if len(users_of(store.view, ttl.TileStoreOp)) != 1 or _place(reserve) is not section.parent:
        return False
    ends = [op for op in walk(kernel) if isinstance(op, (ttl.ReserveOp, ttl.PushOp))]
    ours = [op for op in ends if op.buffer is reserve.buffer]
    pairs = list(zip(ours[::2], ours[1::2], strict=False))
    return len(ours) % 2 == 0 and all(
        isinstance(first, ttl.ReserveOp)
        and isinstance(last, ttl.PushOp)
        and _place(first) is _place(last)
        for first, last in pairs
    )


def _place(op: Operation) -> Block | None:
    """Return the block around an operation, or around the section that it is in."""
    parent = op.parent_op()
    return parent.parent if isinstance(parent, ttl.ComputeOp) else op.parent


# Sizes --------------------------------------------------------------------------------------------


def is_by_place(section: ttl.ComputeOp) -> bool:
    """Does a tile depend on its row and column?"""
    return any(is_matmul(op) or is_arranged(op) or is_broadcasting(op) for op in walk(section))


def even_part(size: int, most: int) -> int:
    """Return the largest of the fewest and most equal parts of `size` (rule EVEN)."""
    return ceil(size / ceil(size / most))


def best_rectangle(rows: int, columns: int, most: int, is_product: bool = True) -> tuple[int, int]:
    """Return the best sub-block of rows and columns (rule EVEN)."""

    def cost(part: tuple[int, int]) -> tuple[int, ...]:
        sections = ceil(rows / part[0]) * ceil(columns / part[1])
        left_over = (rows % part[0] > 0) + (columns % part[1] > 0)
        return sections, left_over, sum(part) if is_product else 0, -part[1]

    parts = [
        (r, c) for r in range(1, min(rows, most) + 1) for c in range(1, min(columns, most // r) + 1)
    ]
    return min(parts, key=cost)
