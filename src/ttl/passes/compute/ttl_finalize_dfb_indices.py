"""ttl-finalize-dfb-indices: give dataflow buffers their circular buffers.

The user's are numbered in order of declaration, the compiler's after them; some share one
(shared_buffers).

rule ROOM    rows of a row-major buffer have room at their end if a copy needs it (row_copies), or
             if rows of a buffer it exchanges blocks with have room.
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnitAttr, i64

from ttl.dialects import ttl
from ttl.dialects.building import walk

from ..kernel.row_copies import rows_of
from ..module_pass import kernels
from .shared_buffers import share_buffers


def apply(op: ModuleOp) -> None:
    share_buffers(op)
    declarations = [o for o in op.ops if isinstance(o, ttl.DeclareBufferOp)]
    declarations.sort(key=lambda declaration: declaration.compiler_allocated is not None)
    indices: dict[str, IntegerAttr] = {}
    for declaration in declarations:
        index = IntegerAttr(len(indices), i64)
        declaration.properties["index"] = indices[declaration.sym_name.data] = index
    roomy = _buffers_with_room(op)
    for declaration in declarations:
        if declaration.sym_name.data in roomy:
            declaration.properties["row_room"] = UnitAttr()
    for bind in walk(op):
        if isinstance(bind, ttl.BindBufferOp):
            name = bind.buffer.root_reference.data
            bind.properties["index"] = indices[name]
            if name in roomy:
                bind.properties["row_room"] = UnitAttr()
    _move_accessor_arguments(op, len(declarations))


def _buffers_with_room(module: ModuleOp) -> set[str]:
    """Find the buffers whose rows have room at their end (rule ROOM)."""
    found: set[str] = set()
    alike: dict[Hashable, set[str]] = {}  # buffers by what connects them
    for kernel in kernels(module):
        for op in walk(kernel):
            if not isinstance(op, ttl.CopyOp):
                continue
            blocks = [end for end in op.operands if isinstance(end.owner, ttl.AcquireOp)]
            buffers = {ttl.buffer_name_of(block) for block in blocks}
            if op.pipe is not None:
                assert isinstance(op.pipe.type, ttl.PipeType)
                alike.setdefault(op.pipe.type.net, set()).update(buffers)
            elif len(buffers) == 2:
                alike[op] = buffers
            elif (rows := rows_of(op, kernel)) and rows.needs_room:
                found |= buffers
    for _ in alike:  # the longest chain of connections
        found |= {name for group in alike.values() if group & found for name in group}
    return found


def _move_accessor_arguments(module: ModuleOp, count: int) -> None:
    """Move accessor arguments after the buffer indices."""
    for kernel in kernels(module):
        if "ttl.base_cta_index" in kernel.attributes:
            kernel.attributes["ttl.base_cta_index"] = IntegerAttr(count, i64)
