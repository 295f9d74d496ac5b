"""ttl-verify-pipenet-schedule: all kernels come to their ends."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from . import raise_errors
from .pipes import check_pipe_types
from .schedule import check_schedule
from .walk import walk_module


class TtlVerifyPipenetSchedule(ModulePass):
    name = "ttl-verify-pipenet-schedule"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        walked = walk_module(op)
        raise_errors([*check_pipe_types(walked), *check_schedule(walked)])
