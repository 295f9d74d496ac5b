"""ttl-round-up-block-counts: keep blocks from wrapping around their buffer in a compute kernel.

The calls of a compute kernel count tiles from the first block that the kernel holds, without
wrapping around to the start of the buffer. A kernel that holds two blocks at a time of a buffer of
three holds the last and the first one in the second round. In a buffer of four it never does. The
checks before this pass have seen the program with its declared blocks, so more of them only let a
producer continue earlier.

rule FIXED  a buffer in a tensor cannot grow; and a buffer that a kernel polls for room must keep
            its answers
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.rewriter import Rewriter

from ttl.dialects import ttl
from ttl.dialects.building import walk

from ..module_pass import kernels
from .block_offsets import BlockOffsets
from .united_buffers import bindings, declarations_of

MOST = 2  # factor for blocks: enough for a kernel that always holds the same number


def apply(op: ModuleOp) -> None:
    for kernel in kernels(op, "compute"):
        if _holds_several(kernel):
            for name in sorted(_over_edge(kernel) - _fixed(op)):
                _widen(op, kernel, name)


def _holds_several(kernel: func.FuncOp) -> bool:
    """Can it hold two blocks of a buffer? Most kernels cannot."""
    ends = [ttl.end_of(op) for op in walk(kernel) if isinstance(op, ttl.AcquireOp)]
    return len({*ends}) < len(ends)


def _over_edge(kernel: func.FuncOp) -> set[str]:
    return {ttl.buffer_name_of(block) for _, block in BlockOffsets(kernel).over_edge}


def _fixed(module: ModuleOp) -> set[str]:
    """Find the buffers that keep their size (rule FIXED)."""
    declared = declarations_of(module)
    asked = {
        ttl.buffer_name(op.buffer)
        for kernel in kernels(module)
        for op in walk(kernel)
        if isinstance(op, ttl.CanAcquireOp)
    }
    return asked | {name for name in declared if declared[name].tensor is not None}


def _widen(module: ModuleOp, kernel: func.FuncOp, name: str) -> None:
    """Give the buffer the fewest blocks that work, or its own number if none works."""
    count = declarations_of(module)[name].type.block_count.value.data
    for blocks in range(count + 1, MOST * count + 1):
        _set_blocks(module, name, blocks)
        if name not in _over_edge(kernel):
            return
    _set_blocks(module, name, count)


def _set_blocks(module: ModuleOp, name: str, blocks: int) -> None:
    declaration = declarations_of(module)[name]
    known = declaration.type
    type = ttl.DataflowBufferType(known.shape, known.tile, IntegerAttr(blocks, i64))
    declaration.properties["type"] = type
    for kernel in kernels(module):
        for bind in bindings(kernel):
            if ttl.buffer_name(bind.result) == name:
                Rewriter.replace_value_with_new_type(bind.result, type)
