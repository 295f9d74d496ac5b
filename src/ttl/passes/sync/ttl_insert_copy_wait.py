"""ttl-insert-copy-wait: wait for transfers where the program does not.

The frontend marks these places (`ttl.scope_end`, by source/facts/releases.py).
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ttl.dialects import ttl
from ttl.dialects.building import walk

from ..module_pass import Maker, erase


def apply(op: ModuleOp) -> None:
    for scope_end in [o for o in walk(op) if isinstance(o, ttl.ScopeEndOp)]:
        transfers = [h for h in scope_end.handles if isinstance(h.type, ttl.TransferType)]
        for transfer in transfers:
            Maker.before(scope_end).add(ttl.WaitTransferOp.create(operands=[transfer]))
        if transfers:
            erase(scope_end)
