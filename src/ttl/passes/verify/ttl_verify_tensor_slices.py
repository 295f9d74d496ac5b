"""ttl-verify-tensor-slices: slices lie in their tensors on every node."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from . import raise_errors
from .slices import check_slices
from .walk import walk_module


class TtlVerifyTensorSlices(ModulePass):
    name = "ttl-verify-tensor-slices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise_errors(check_slices(walk_module(op)))
