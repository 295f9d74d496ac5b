"""Blocks that a loop or a condition gives another name: what they hold stands for them.

That is the same as long as nothing is stored into them: a store is seen by every name of a block.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import scf

from ttl.diagnostics import Diagnostic, codes
from ttl.dialects import ttl

from .emission import span_of_place
from .hir import Body, HeldBlock

CARRYING = (scf.YieldOp, scf.ForOp, scf.WhileOp)


def stores_under_aliases(body: Body) -> Iterator[Diagnostic]:
    """Stores into a block that a loop or branch carries."""
    carried = {v for op in body.walk() if op.becomes in CARRYING for v in op.operands}
    for op in body.walk():
        if op.becomes is not ttl.StoreOp or op.operands[1] not in carried:
            continue
        block = op.operands[1]
        if isinstance(block, HeldBlock) and block.is_waited:
            broken = codes.NOT_COMPILED_YET.broken(
                "the compiler does not translate a store into a block that a condition or a loop "
                "gives another name yet",
                "use one name for the block, or store before it gets another",
            )
            yield broken.at(span_of_place(op.place))
