"""Blocks that a loop or a condition gives another name: what they hold stands for them.

That is the same as long as nothing is stored into them: a store is seen by every name of a block.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import scf
from xdsl.ir import Block

from ttl.diagnostics import Diagnostic, RuleBroken, codes
from ttl.dialects import ttl
from ttl.dialects.locations import span_of

HANDING_ON = (scf.YieldOp, scf.ForOp, scf.WhileOp)


def stores_under_other_names(body: Block) -> Iterator[Diagnostic]:
    """Stores into a block that a loop or branch hands on."""
    for op in body.walk():
        if not isinstance(op, ttl.StoreOp) or not isinstance(op.view.owner, ttl.WaitOp):
            continue
        if any(isinstance(use.operation, HANDING_ON) for use in op.view.uses):
            broken = RuleBroken(
                codes.NOT_COMPILED_YET,
                "the compiler does not translate a store into a block that a condition or a loop "
                "gives another name yet",
                helps=("use one name for the block, or store before it gets another",),
            )
            yield broken.at(span_of(op.location))
