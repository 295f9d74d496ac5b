"""ttir-to-ttnn: the calls of ttnn. The attributes of a TT-Lang operation stay as they are.

A TT-Lang operation writes its results to its last operands. It must not write an operand that
another operation still reads, or that is passed twice: a new tensor replaces such an operand.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ttgraph.dialects import ttir, ttnn
from ttgraph.dialects.graph import MathOp, shape_of
from ttl.passes.module_pass import Maker, replace_by


def apply(op: ModuleOp) -> None:
    for function in [each for each in op.body.walk() if isinstance(each, func.FuncOp)]:
        for found in list(function.body.walk()):
            if isinstance(found, ttir.TTLangOp):
                _separate(found)
            if found.dialect_name() == "ttir":
                _convert(found)


_KINDS: dict[type[Operation], type[Operation]] = {
    ttir.TTLangOp: ttnn.TTLangOp,
    ttir.ConstantOp: ttnn.ConstantOp,
    ttir.WhileOp: ttnn.WhileOp,
    ttir.CaseOp: ttnn.CaseOp,
}


def _convert(op: Operation) -> None:
    kind = ttnn.MATH[op.ENTRY.name] if isinstance(op, MathOp) else _KINDS[type(op)]
    made = kind.create(
        operands=list(op.operands),
        result_types=[result.type for result in op.results],
        attributes=dict(op.attributes),
    )
    replace_by(op, *Maker.before(op).add(made).results)


def _separate(op: ttir.TTLangOp) -> None:
    first = len(op.inputs) - len(op.outputs)
    for position in range(first, len(op.inputs)):
        init = op.inputs[position]
        if _is_used_again(init, op, position):
            op.operands[position] = _own_buffer(init, op)


def _is_used_again(init: SSAValue, op: Operation, position: int) -> bool:
    for use in init.uses:
        if use.operation is op:
            if use.index != position:
                return True
        elif not use.operation.is_before_in_block(op):
            return True
    return False


def _own_buffer(init: SSAValue, op: Operation) -> SSAValue:
    maker, empty = Maker.before(op), init.owner
    if isinstance(empty, (ttir.MATH["empty"], ttnn.MATH["empty"])):
        return maker.value(ttnn.MATH["empty"].of([], init.type, shape=list(shape_of(init))))
    # A kernel may leave parts of its output unwritten.
    return maker.value(ttnn.MATH["assign"].of([init], init.type))
