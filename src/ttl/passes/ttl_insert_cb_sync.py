"""ttl-insert-cb-sync: the end of a `with` becomes the release of each of its blocks."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ttl.dialects import ttl

from .module_pass import Maker, erase


@dataclass(frozen=True)
class TtlInsertCbSync(ModulePass):
    name = "ttl-insert-cb-sync"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for scope_end in [o for o in op.walk() if isinstance(o, ttl.ScopeEndOp)]:
            _release_blocks(scope_end)


def _release_blocks(scope_end: ttl.ScopeEndOp) -> None:
    """Oldest first: releases of one buffer take effect in the order of acquisition."""
    make = Maker.before(scope_end)
    for block in scope_end.blocks:
        acquire = block.owner
        release = ttl.PushOp if isinstance(acquire, ttl.ReserveOp) else ttl.PopOp
        assert isinstance(acquire, ttl.AcquireOp)
        make.origin = acquire
        make.add(release.create(operands=[acquire.buffer]))
    erase(scope_end)
