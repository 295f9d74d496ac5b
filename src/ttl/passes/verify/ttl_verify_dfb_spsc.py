"""ttl-verify-dfb-spsc: a buffer has one producer and one consumer on each node."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from . import raise_errors
from .ends import check_ends
from .walk import walk_module


class TtlVerifyDfbSpsc(ModulePass):
    name = "ttl-verify-dfb-spsc"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise_errors(check_ends(walk_module(op)))
