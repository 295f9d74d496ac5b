"""d2m-insert-explicit-streams: nothing. Streams are in the IR from the start.

The pass exists because other pipelines name it between bufferization and allocation.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp


def apply(op: ModuleOp) -> None:
    pass
