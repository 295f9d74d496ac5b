"""ttl-insert-cb-sync: release blocks at the end of their `with`, or where the program does not.

The frontend marks these places (`ttl.scope_end`, by source/facts/releases.py).
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ttl.dialects import ttl
from ttl.dialects.building import walk

from ..module_pass import Maker, erase


def apply(op: ModuleOp) -> None:
    for scope_end in [o for o in walk(op) if isinstance(o, ttl.ScopeEndOp)]:
        _release_blocks(scope_end)


def _release_blocks(scope_end: ttl.ScopeEndOp) -> None:
    """Release oldest first: releases of one buffer take effect in the order of acquisition."""
    make = Maker.before(scope_end)
    for block in scope_end.handles:
        if isinstance(block.owner, ttl.AcquireOp):
            _release(block.owner, make)
    erase(scope_end)


def _release(acquire: ttl.AcquireOp, make: Maker) -> None:
    release = ttl.PushOp if isinstance(acquire, ttl.ReserveOp) else ttl.PopOp
    make.origin = acquire
    op = make.add(release.create(operands=[acquire.buffer]))
    if (number := acquire.attributes.get("number")) is not None:
        op.attributes["number"] = number
