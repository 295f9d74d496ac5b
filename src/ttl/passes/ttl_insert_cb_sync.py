"""ttl-insert-cb-sync: blocks are released at the end of their `with`, or where it is left out.

Which releases are left out the frontend says (`implicit_release`, by semantics/implicit_sync).
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ttl.dialects import ttl

from .module_pass import Maker, body_end, erase, kernels, not_yet


class TtlInsertCbSync(ModulePass):
    name = "ttl-insert-cb-sync"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for scope_end in [o for o in op.walk() if isinstance(o, ttl.ScopeEndOp)]:
            _release_blocks(scope_end)
        for acquire in [o for o in op.walk() if isinstance(o, ttl.AcquireOp)]:
            if acquire.attributes.pop("implicit_release", None) is not None:
                _release(acquire, Maker.before(body_end(acquire)))
        for kernel in kernels(op):
            _check_held_blocks(kernel)


def _release_blocks(scope_end: ttl.ScopeEndOp) -> None:
    """Oldest first: releases of one buffer take effect in the order of acquisition."""
    make = Maker.before(scope_end)
    for block in scope_end.blocks:
        assert isinstance(block.owner, ttl.AcquireOp)
        _release(block.owner, make)
    erase(scope_end)


def _release(acquire: ttl.AcquireOp, make: Maker) -> None:
    release = ttl.PushOp if isinstance(acquire, ttl.ReserveOp) else ttl.PopOp
    make.origin = acquire
    make.add(release.create(operands=[acquire.buffer]))


def _check_held_blocks(kernel: func.FuncOp) -> None:
    """The chip's calls address the first block of a buffer's ends, so each end holds one block."""
    held: dict[tuple[SSAValue, bool], Operation] = {}
    for op in kernel.walk():
        if isinstance(op, ttl.AcquireOp):
            if held.setdefault((op.buffer, isinstance(op, ttl.ReserveOp)), op) is not op:
                raise not_yet(
                    "two blocks of one dataflow buffer held at once",
                    op,
                    "release the first block before the next one, or use larger blocks",
                )
        elif isinstance(op, ttl.ReleaseOp):
            held.pop((op.buffer, isinstance(op, ttl.PushOp)), None)
