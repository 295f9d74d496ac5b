"""d2m-generic-hw-thread-selection: a core moves data with two processors.

The second processor runs all further data movement threads, one after the other. Each stays a
region, which releases its blocks at its end.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Block, Region

from pykernel.dialects import d2m

MOVERS = 2


def apply(op: ModuleOp) -> None:
    for generic in d2m.generics_of(op):
        _select(generic)


def _select(generic: d2m.GenericOp) -> None:
    pairs = list(zip(generic.threads, generic.bodies, strict=True))
    movers = [region for thread, region in pairs if thread.kind.data == "datamovement"]
    shared = movers[MOVERS - 1 :]
    if len(shared) < 2:
        return
    body = Block(arg_types=[argument.type for argument in shared[0].block.args])
    for new, old in zip(body.args, shared[0].block.args, strict=True):
        new.name_hint = old.name_hint
    for region in shared:
        body.add_op(_scope(region, body))
    body.name_hint = f"datamovement{MOVERS - 1}"
    shared[0].add_block(body)
    generic.properties["threads"] = ArrayAttr(
        [thread for thread, region in pairs if region not in shared[1:]]
    )
    for region in shared[1:]:
        generic.detach_region(region)


def _scope(region: Region, body: Block) -> scf.ExecuteRegionOp:
    """Move a thread's body into a region with the arguments of the processor's body."""
    block = region.detach_block(0)
    for argument in reversed(block.args):
        argument.replace_all_uses_with(body.args[argument.index])
        block.erase_arg(argument)
    block.name_hint = None
    block.add_op(scf.YieldOp())
    return scf.ExecuteRegionOp([], Region(block))
