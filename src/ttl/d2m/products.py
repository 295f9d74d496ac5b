"""Stores of which only the running kernel knows whether their value is a product.

`store(a @ b)` adds, any other replaces, and a kernel is compiled for the one or the other. A value
that a branch or a loop carries may be a product on one path only.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, SSAValue

from ttl.diagnostics import Diagnostic, RuleBroken, codes
from ttl.dialects import ttl
from ttl.dialects.locations import span_of

PRODUCT = ttl.BLOCK_MATH["matmul"]


def undecided_stores(body: Block) -> list[Diagnostic]:
    stores = [op for op in body.walk() if isinstance(op, ttl.StoreOp)]
    return [_undecided().at(span_of(op.location)) for op in stores if _is_undecided(op.value)]


def _undecided() -> RuleBroken:
    return codes.NOT_COMPILED_YET.broken(
        "the compiler does not translate store() of a product that a branch or loop carries yet",
        "store the product in the body that makes it: store(a @ b) adds to the block",
    )


def _is_undecided(value: SSAValue) -> bool:
    seen: set[SSAValue] = set()
    left = list(_handed_on(value))
    while left:
        each = left.pop()
        if isinstance(each.owner, PRODUCT):
            return True
        if each not in seen:
            seen.add(each)
            left += _handed_on(each)
    return False


def _handed_on(value: SSAValue) -> Iterator[SSAValue]:
    """What the value may be, if a branch or a loop gives it."""
    owner = value.owner
    if isinstance(owner, scf.IfOp):
        for region in owner.regions:
            yield _yielded(region.block, owner.results.index(value))
    elif isinstance(owner, scf.ForOp):
        yield from _of_loop(owner, owner.results.index(value), runs=_runs(owner))
    elif isinstance(owner, Block) and isinstance(loop := owner.parent_op(), scf.ForOp):
        yield from _of_loop(loop, owner.args.index(value) - 1, runs=False)


def _of_loop(loop: scf.ForOp, position: int, runs: bool) -> Iterator[SSAValue]:
    yield _yielded(loop.body.block, position)
    if not runs:
        yield loop.iter_args[position]


def _runs(loop: scf.ForOp) -> bool:
    """At least once, for all that is known."""
    start, stop = _constant(loop.lb), _constant(loop.ub)
    return start is not None and stop is not None and start < stop


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def _yielded(block: Block, position: int) -> SSAValue:
    assert block.last_op is not None
    return block.last_op.operands[position]
