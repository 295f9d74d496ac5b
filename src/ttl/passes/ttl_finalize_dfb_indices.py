"""ttl-finalize-dfb-indices: dataflow buffers get their circular buffer, in order of declaration."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.passes import ModulePass

from ttl.dialects import ttl


class TtlFinalizeDfbIndices(ModulePass):
    name = "ttl-finalize-dfb-indices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        indices: dict[str, IntegerAttr] = {}
        for declaration in op.ops:
            if isinstance(declaration, ttl.DeclareBufferOp):
                index = IntegerAttr(len(indices), i64)
                declaration.properties["index"] = indices[declaration.sym_name.data] = index
        for bind in op.walk():
            if isinstance(bind, ttl.BindBufferOp):
                bind.properties["index"] = indices[bind.buffer.root_reference.data]
