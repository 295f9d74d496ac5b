"""shlo-inline-calls: the private functions that jax makes are put where they are called.

Also removes operations that change no number: barriers, and shardings on a mesh of one device.
Rejects larger meshes.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from ttgraph.dialects import stablehlo
from ttl.diagnostics import codes
from ttl.dialects.locations import span_of
from ttl.passes.module_pass import cannot_compile, erase, replace_by

from .shardings import refuse_shardings


def apply(op: ModuleOp) -> None:
    refuse_shardings(op)
    for each in list(op.body.walk()):
        if isinstance(each, stablehlo.CompositeOp):
            _name_composite(each)
        elif isinstance(each, (stablehlo.ShardingConstraintOp, stablehlo.OptimizationBarrierOp)):
            replace_by(each, *each.operands)
        elif isinstance(each, stablehlo.MeshOp):
            erase(each)
    functions = {each.sym_name.data: each for each in op.ops if isinstance(each, func.FuncOp)}
    for function in functions.values():
        if not _is_private(function):
            _inline_all(function, functions)
    for function in functions.values():
        if _is_private(function):
            erase(function)


def _name_composite(op: stablehlo.CompositeOp) -> None:
    """Turn a composite with a chlo name into that operation, any other into a call."""
    kind = stablehlo.chlo_operations().get(op.composite_name.data)
    types = [value.type for value in op.outputs]
    made: Operation
    if kind is not None:
        given = op.composite_attributes.data if op.composite_attributes is not None else {}
        made = kind.create(operands=list(op.inputs), result_types=types, properties=given)
    else:
        made = func.CallOp(op.decomposition, list(op.inputs), types)
    made.location = op.location
    Rewriter.insert_op(made, InsertPoint.before(op))
    replace_by(op, *made.results)


def _is_private(function: func.FuncOp) -> bool:
    return function.sym_visibility is not None and function.sym_visibility.data == "private"


def _inline_all(function: func.FuncOp, functions: dict[str, func.FuncOp]) -> None:
    """Inline all calls. Assumes no recursive function: StableHLO has none."""
    chain: dict[func.CallOp, tuple[str, ...]] = {}
    while calls := [each for each in function.body.walk() if isinstance(each, func.CallOp)]:
        for call in calls:
            name = call.callee.root_reference.data
            before = chain.pop(call, ())
            callee = functions.get(name)
            if callee is None or callee.is_declaration or name in before:
                problem = "calls itself" if name in before else "has no body"
                broken = codes.GRAPH_NOT_LOWERED.broken(f"function @{name} {problem}")
                raise cannot_compile(broken, call)
            inlined = _inline(call, callee)
            chain.update(dict.fromkeys(inlined, (*before, name)))


def _inline(call: func.CallOp, callee: func.FuncOp) -> list[func.CallOp]:
    """Put a copy of the body in the place of the call; the calls in it."""
    block = callee.body.clone().block
    for each in block.walk():
        if span_of(each.location) is None:  # jax shares one function among its callers
            each.location = call.location
    inner = [each for each in block.walk() if isinstance(each, func.CallOp)]
    end = block.last_op
    assert isinstance(end, func.ReturnOp)
    for result, value in zip(call.results, list(end.operands), strict=True):
        result.replace_all_uses_with(value)
    erase(end)
    for argument, value in zip(block.args, call.operands, strict=True):
        argument.replace_all_uses_with(value)
    while block.args:
        block.erase_arg(block.args[-1])
    Rewriter.inline_block(block, InsertPoint.before(call))
    erase(call)
    return inner
