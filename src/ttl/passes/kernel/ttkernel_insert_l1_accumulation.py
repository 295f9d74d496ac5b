"""ttkernel-insert-l1-accumulation: switch the packer between overwriting L1 and adding to it.

rule SUM      the packer overwrites when a kernel starts, and again when it ends.
rule FIRST    the first iteration of its loop overwrites a sum that starts with nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from ttl.dialects.building import around

from ..module_pass import kernels
from .settings import Holds, Needs, Setting, ensure, find_settings, insert_settings

SUM = "sum"


def apply(op: ModuleOp) -> None:
    for kernel in kernels(op, "compute"):
        _insert(kernel.body.block)


def _insert(body: Block) -> None:
    needs: Needs = {}
    find_settings(body, _needs, needs)
    holds: Holds = {SUM: False}
    insert_settings(body, needs, holds)
    if holds.get(SUM) is not False and body.last_op is not None:
        ensure(_summing(body.last_op, False), holds, body.last_op)  # rule SUM


def _needs(op: Operation) -> Iterator[Setting]:
    if op.name != "ttkernel.pack_tile":
        return
    if "after_first" in op.attributes:
        yield _summing_after_first(op)
    else:
        yield _summing(op, "accumulate" in op.attributes)


def _summing(op: Operation, adds: bool) -> Setting:
    return Setting(SUM, adds, "pack_reconfig_l1_acc", (), op, (str(int(adds)),))


def _summing_after_first(op: Operation) -> Setting:
    """Overwrite in the loop's first iteration, add in later ones (rule FIRST)."""
    loop = next(each for each in around(op) if isinstance(each, scf.ForOp))
    variable = loop.body.block.args[0]
    is_later = arith.CmpiOp(variable, loop.lb, "ne").result
    return Setting(SUM, loop, "pack_reconfig_l1_acc", (is_later,), op, within=loop)
