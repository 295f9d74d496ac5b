"""convert-ttkernel-to-emitc: turn each kernel function into one C++ file."""

from __future__ import annotations

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ttl.dialects import emitc, ttkernel, ttl

from ..module_pass import Maker, kernels, nothing
from .cpp_arguments import (
    array,
    array_load,
    array_store,
    common_arg,
    compile_time_arg,
    runtime_arg,
    table,
    tensor_accessor,
    virtual_coordinate,
)
from .cpp_control_flow import branch, loop, while_loop
from .cpp_expressions import (
    ARITHMETIC,
    HELPERS,
    constant_text,
    expression_of,
    is_condition,
    is_inner,
    scalar_type,
)
from .cpp_file import NOT_INLINED, Conversions, FileMaker
from .cpp_reports import check, dprint, mark, scope

GRID = "ttl.launch_grid"  # of a module with kernels


def apply(op: ModuleOp) -> None:
    modules = [each for each in op.ops if isinstance(each, ModuleOp)]
    for module in (op, *(each for each in modules if GRID in each.attributes)):
        for kernel in list(kernels(module)):
            file = FileMaker(kernel, CONVERSIONS).make()
            kernel.detach()
            module.body.block.add_op(file)


def constant(file: FileMaker, op: arith.ConstantOp, make: Maker) -> None:
    result = op.results[0]
    file.values[result] = file.literal(constant_text(op), make, scalar_type(result.type))


def arithmetic(file: FileMaker, op: Operation, make: Maker) -> None:
    """Turn a tree of operations into one expression; only its root gets a variable."""
    if is_inner(op) or _is_renamed(file, op):
        return
    tree = expression_of(op, file.values)
    for each in tree.operations:
        file.helpers.update(HELPERS.get(type(each), ()))
    if not is_condition(op):
        tree.expression.properties.update(NOT_INLINED)
    file.name(op.results[0], make.value(tree.expression))


def _is_renamed(file: FileMaker, op: Operation) -> bool:
    """Is it only another name for its operand, which has a name of its own?"""
    if not isinstance(op, arith.IndexCastOp) or op.input not in file.values:
        return False
    file.values[op.result] = file.values[op.input]
    return True


CONVERSIONS: Conversions = {
    ttkernel.CompileTimeArgOp: compile_time_arg,
    ttkernel.RuntimeArgOp: runtime_arg,
    ttkernel.TensorAccessorOp: tensor_accessor,
    emitc.VerbatimOp: scope,
    ttkernel.MarkOp: mark,
    ttkernel.DprintOp: dprint,
    ttl.AssertOp: check,
    ttkernel.CommonArgOp: common_arg,
    ttkernel.TableOp: table,
    ttkernel.ArrayOp: array,
    ttkernel.ArrayLoadOp: array_load,
    ttkernel.ArrayStoreOp: array_store,
    ttkernel.VirtualCoordinateOp: virtual_coordinate,
    arith.ConstantOp: constant,
    **dict.fromkeys(ARITHMETIC, arithmetic),
    scf.ForOp: loop,
    scf.IfOp: branch,
    scf.WhileOp: while_loop,
    scf.YieldOp: nothing,
    scf.ConditionOp: nothing,
    func.ReturnOp: nothing,
}
