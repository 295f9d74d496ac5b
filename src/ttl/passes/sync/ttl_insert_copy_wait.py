"""ttl-insert-copy-wait: copies that the program does not wait for are waited for.

Which these are the frontend says (`implicit_wait`, by source/implicit_sync): "at once" after
the copy, "end of body" at the end of the loop body or function body that contains it, or of the
branch: whatever is waited for earlier is done earlier. Releases that are left out come after the
waits: ttl-insert-cb-sync runs later.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint

from ttl.diagnostics import RuleBroken, codes
from ttl.dialects import ttl
from ttl.dialects.building import walk

from ..module_pass import Maker, branch_end, cannot_compile


def apply(op: ModuleOp) -> None:
    for copy in [o for o in walk(op) if isinstance(o, ttl.CopyOp)]:
        when = copy.attributes.pop("implicit_wait", None)
        if when == StringAttr("at once"):
            _wait(copy, Maker(InsertPoint.after(copy), copy))
        elif when is not None:
            _check_block_is_held(copy)
            _wait(copy, Maker(InsertPoint.before(branch_end(copy)), copy))


def _wait(copy: ttl.CopyOp, make: Maker) -> None:
    make.add(ttl.WaitTransferOp.create(operands=[copy.transfer]))


def _check_block_is_held(copy: ttl.CopyOp) -> None:
    """At the end of the body it is too late for a block whose `with` ends before."""
    following: Operation | None = copy.next_op
    while following is not None:
        if isinstance(following, ttl.ScopeEndOp) and {*following.blocks} & {*copy.operands}:
            broken = RuleBroken(
                codes.BLOCK_STATE,
                "the block of this copy is released before the copy is waited for",
                helps=("call wait() on the transfer before the end of the `with`",),
            )
            raise cannot_compile(broken, copy)
        following = following.next_op
