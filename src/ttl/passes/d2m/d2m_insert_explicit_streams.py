"""d2m-insert-explicit-streams: nothing. Streams are in the IR from the start.

The pass is known by name, because pipelines of others have it between bufferization and allocation.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


class D2mInsertExplicitStreams(ModulePass):
    name = "d2m-insert-explicit-streams"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass
