"""d2m-generic-regions-to-funcs: each thread becomes a kernel function.

Its arguments are the circular buffers and semaphores of the region, then the tensors it uses;
`d2m.operands` lists their numbers among the operands of the generic.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, StringAttr
from xdsl.ir import Region

from pykernel.dialects import d2m
from ttl.dialects.ttkernel import THREAD, ThreadAttr
from ttl.passes.module_pass import integers

OPERANDS = "d2m.operands"
THREADS = {"datamovement": "noc", "compute": "compute"}


def apply(op: ModuleOp) -> None:
    for generic in list(d2m.generics_of(op)):
        _outline(generic, op)


def _outline(generic: d2m.GenericOp, module: ModuleOp) -> None:
    threads = []
    taken = [op.sym_name.data for op in module.ops if isinstance(op, func.FuncOp)]
    for region, thread in zip(list(generic.bodies), generic.threads, strict=True):
        kind = thread.kind.data
        number = sum(name.startswith(f"{kind}_kernel") for name in taken)
        name = f"{kind}_kernel{number}"
        taken.append(name)
        module.body.block.add_op(_function(name, kind, region, generic))
        threads.append(d2m.ThreadAttr.of(kind, name))
    generic.properties["threads"] = ArrayAttr(threads)


def _function(name: str, kind: str, region: Region, generic: d2m.GenericOp) -> func.FuncOp:
    block = region.block
    block.name_hint = None
    operands = []
    for position, operand in enumerate(generic.operands):
        used = [use for use in operand.uses if region.is_ancestor(use.operation)]
        if used:
            operands.append(position)
            argument = block.insert_arg(operand.type, len(block.args))
            argument.name_hint = operand.name_hint
            for use in used:
                use.operation.operands[use.index] = argument
    block.add_op(func.ReturnOp())
    body = Region()
    region.move_blocks(body)
    types = FunctionType.from_lists([argument.type for argument in block.args], [])
    function = func.FuncOp(name, types, body)
    function.attributes[THREAD] = ThreadAttr(StringAttr(THREADS[kind]))
    function.attributes[OPERANDS] = integers(operands)
    return function
