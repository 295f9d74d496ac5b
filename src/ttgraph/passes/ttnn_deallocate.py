"""ttnn-deallocate: ttnn.deallocate after the last use of every tensor.

A result of a TT-Lang operation shares the buffer of the operand it is tied to: both live until the
last use of either. Returned tensors are not freed.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue

from ttgraph.dialects import ttnn
from ttl.passes.module_pass import Maker


def apply(op: ModuleOp) -> None:
    for function in [each for each in op.body.walk() if isinstance(each, func.FuncOp)]:
        if not function.is_declaration:
            _deallocate(function.body.block)


def _deallocate(block: Block) -> None:
    values = [*block.args, *(result for op in block.ops for result in op.results)]
    positions = {op: position for position, op in enumerate(block.ops)}
    for value in values:
        has_buffer = not isinstance(value.owner, ttnn.TTLangOp)
        if isinstance(value.type, TensorType) and has_buffer:
            last = max(_users(value), key=positions.__getitem__, default=None)
            if last is None and isinstance(value.owner, Operation):
                last = value.owner
            if last is not None and not isinstance(last, func.ReturnOp):
                Maker.after(last).add(ttnn.DeallocateOp(operands=[value]))


def _users(value: SSAValue) -> list[Operation]:
    """Return the users of the value, and of results that are written to it."""
    found: list[Operation] = []
    for use in value.uses:
        found.append(use.operation)
        if isinstance(use.operation, ttnn.TTLangOp):
            op = use.operation
            result = use.index - (len(op.inputs) - len(op.outputs))
            if result >= 0:
                found += _users(op.outputs[result])
    return found
