"""Branches and loops, and the C++ variables that they change."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from ttl.dialects import emitc, ttkernel

from ..module_pass import OVER_TILES, Maker, constant_of, terminator
from .cpp_expressions import is_inner, scalar_type
from .cpp_file import NOT_INLINED, UINT32, FileMaker

NO_VALUE = emitc.OpaqueAttr(StringAttr(""))  # of a variable without a start


def loop(file: FileMaker, op: scf.ForOp, make: Maker) -> None:
    variables = declare_variables(file, op.results, make, op.iter_args)
    bounds = [file.values[value] for value in (op.lb, op.ub, op.step)]
    if _is_unsigned(op):
        bounds = [file.literal(str(constant_of(value)), make, UINT32) for value in op.operands[:3]]
    body = Block(arg_types=[bounds[0].type])
    old = op.body.block
    file.name(old.args[0], body.args[0])
    inner = Maker.at_end(body, op)
    load_all(file, old.args[1:], variables, inner)
    file.convert_block(old, inner)
    assign_all(file, variables, terminator(old).operands, inner)
    inner.add(emitc.YieldOp.create())
    make.origin = op
    make.add(emitc.ForOp.create(operands=bounds, regions=[Region(body)]))
    load_all(file, op.results, variables, make)


def _is_unsigned(op: scf.ForOp) -> bool:
    """Is it a loop over tiles? RISC-V compilers generate less code for an unsigned counter.

    The program's own loops stay signed: the executor reports their overflows of 31 bits.
    """
    return OVER_TILES in op.attributes and _wraps_alike(op.body.block.args[0])


def _wraps_alike(value: SSAValue) -> bool:
    """Do only calls and sums use it, whose bits are the same with and without a sign?"""
    return all(
        isinstance(user, ttkernel.CallOp)
        or (isinstance(user, arith.IndexCastOp) and _wraps_alike(user.result))
        or (
            isinstance(user, (arith.AddiOp, arith.SubiOp, arith.MuliOp))
            and (not is_inner(user) or _wraps_alike(user.result))
        )
        for user in (use.operation for use in value.uses)
    )


def branch(file: FileMaker, op: scf.IfOp, make: Maker) -> None:
    variables = declare_variables(file, op.results, make)
    condition = file.values[op.cond]
    regions = [_branch_region(file, region, variables, op) for region in op.regions]
    make.origin = op
    make.add(emitc.IfOp.create(operands=[condition], regions=regions))
    load_all(file, op.results, variables, make)


def _branch_region(
    file: FileMaker, region: Region, variables: Sequence[SSAValue], op: Operation
) -> Region:
    if not region.blocks:
        return Region()
    new = Block()
    inner = Maker.at_end(new, op)
    file.convert_block(region.block, inner)
    assign_all(file, variables, terminator(region.block).operands, inner)
    inner.add(emitc.YieldOp.create())
    return Region(new)


def while_loop(file: FileMaker, op: scf.WhileOp, make: Maker) -> None:
    """Convert a loop whose test passes on its variables unchanged, as the frontend makes it."""
    variables = declare_variables(file, op.results, make, op.arguments)
    test, body = op.before_region.block, op.after_region.block
    condition = test.last_op
    assert isinstance(condition, scf.ConditionOp) and list(condition.args) == list(test.args)
    new_test, new_body = Block(), Block()
    inner = Maker.at_end(new_test, op)
    load_all(file, test.args, variables, inner)
    file.convert_block(test, inner)
    inner.add(emitc.YieldOp.create(operands=[file.values[condition.condition]]))
    inner = Maker.at_end(new_body, op)
    load_all(file, body.args, variables, inner)
    file.convert_block(body, inner)
    assign_all(file, variables, terminator(body).operands, inner)
    inner.add(emitc.YieldOp.create())
    make.origin = op
    make.add(emitc.WhileOp.create(regions=[Region(new_test), Region(new_body)]))
    load_all(file, op.results, variables, make)


# Variables ----------------------------------------------------------------------------------------


def declare_variables(
    file: FileMaker, results: Sequence[SSAValue], make: Maker, starts: Sequence[SSAValue] = ()
) -> list[SSAValue]:
    """Declare C++ variables for the values that a branch or loop changes."""
    variables = []
    for position, result in enumerate(results):
        type = emitc.LValueType(scalar_type(result.type))
        variable = make.new(emitc.VariableOp, (), type, result.name_hint, value=NO_VALUE)
        if starts:
            make.add(emitc.AssignOp.create(operands=[variable, file.values[starts[position]]]))
        variables.append(variable)
    return variables


def load_all(
    file: FileMaker, values: Sequence[SSAValue], variables: Sequence[SSAValue], make: Maker
) -> None:
    """Map `values` to the variables' contents."""
    for value, variable in zip(values, variables, strict=True):
        file.load(value, variable, make)


def assign_all(
    file: FileMaker, variables: Sequence[SSAValue], values: Sequence[SSAValue], make: Maker
) -> None:
    """Assign at once: copy a variable that another one reads after its assignment."""
    new = [file.values[value] for value in values]
    for position, (variable, value) in enumerate(zip(variables, new, strict=True)):
        owner = value.owner
        if isinstance(owner, emitc.LoadOp) and owner.operand in variables[:position]:
            new[position] = copy_value(value, make)
        elif isinstance(owner, emitc.LoadOp) and owner.operand is variable:
            new[position] = variable  # unchanged
    for variable, value in zip(variables, new, strict=True):
        if value is not variable:
            make.add(emitc.AssignOp.create(operands=[variable, value]))


def copy_value(value: SSAValue, make: Maker) -> SSAValue:
    block = Block(arg_types=[value.type])
    Maker.at_end(block, make.origin).add(emitc.YieldOp.create(operands=[block.args[0]]))
    expression = emitc.ExpressionOp.create(
        operands=[value], properties=NOT_INLINED, regions=[Region(block)], result_types=[value.type]
    )
    return make.value(expression, value.name_hint)
