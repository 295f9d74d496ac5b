"""Stores whose value may or may not be a product when the kernel runs.

`store(a @ b)` adds, any other replaces, and a kernel is compiled for one of these. A branch or a
loop may carry a product on one path only.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, SSAValue

from ttl.diagnostics import Diagnostic, codes
from ttl.dialects import ttl
from ttl.dialects.locations import span_of

PRODUCT = ttl.BLOCK_MATH["matmul"]


def undecided_stores(body: Block) -> list[Diagnostic]:
    carried: set[SSAValue] = set()
    left = [op.results[0] for op in body.walk() if isinstance(op, PRODUCT)]
    while left:
        found = {*_carried_on(left.pop())} - carried
        carried |= found
        left += found
    broken = codes.NOT_COMPILED_YET.broken(
        "the compiler does not translate store() of a product that a branch or loop carries yet",
        "store the product in the body that makes it: store(a @ b) adds to the block",
    )
    stores = [op for op in body.walk() if isinstance(op, ttl.StoreOp) and op.value in carried]
    return [broken.at(span_of(op.location)) for op in stores]


def _carried_on(value: SSAValue) -> Iterator[SSAValue]:
    """Yield the results and arguments that a branch or a loop makes of the value."""
    for use in value.uses:
        op, parent = use.operation, use.operation.parent_op()
        if isinstance(op, scf.YieldOp) and isinstance(parent, (scf.IfOp, scf.ForOp)):
            yield parent.results[use.index]
            if isinstance(parent, scf.ForOp):
                yield parent.body.block.args[1 + use.index]
        elif isinstance(op, scf.ForOp):  # the bounds and the step come first
            yield op.body.block.args[use.index - 2]
            if not _runs(op):
                yield op.results[use.index - 3]


def _runs(loop: scf.ForOp) -> bool:
    """Is it known to run at least once?"""
    bounds = [each.owner for each in (loop.lb, loop.ub)]
    known = [
        owner.value.value.data
        for owner in bounds
        if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr)
    ]
    return len(known) == 2 and known[0] < known[1]
