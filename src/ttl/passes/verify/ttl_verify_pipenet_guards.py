"""ttl-verify-pipenet-guards: nodes use pipes, and what comes out of them, only in their roles."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from . import raise_errors
from .guards import check_guards
from .walk import walk_module


class TtlVerifyPipenetGuards(ModulePass):
    name = "ttl-verify-pipenet-guards"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise_errors(check_guards(walk_module(op)))
