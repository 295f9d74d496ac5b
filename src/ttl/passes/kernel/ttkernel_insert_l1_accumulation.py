"""ttkernel-insert-l1-accumulation: whether the packer adds to what is in L1, where it changes.

rule SUM      the packer overwrites when a kernel starts, and again when it ends.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from ..module_pass import kernels
from .settings import Holds, Needs, Setting, ensure, insert_settings, needed_settings

SUM = "sum"


def apply(op: ModuleOp) -> None:
    for kernel in kernels(op, "compute"):
        _insert(kernel.body.block)


def _insert(body: Block) -> None:
    needs: Needs = {}
    needed_settings(body, _needs, needs)
    holds: Holds = {SUM: False}
    insert_settings(body, needs, holds)
    if holds.get(SUM) is not False and body.last_op is not None:
        ensure(_summing(body.last_op, False), holds, body.last_op)  # rule SUM


def _needs(op: Operation) -> Iterator[Setting]:
    if op.name == "ttkernel.pack_tile":
        yield _summing(op, "accumulate" in op.attributes)


def _summing(op: Operation, adds: bool) -> Setting:
    return Setting(SUM, adds, "pack_reconfig_l1_acc", (), op, (str(int(adds)),))
