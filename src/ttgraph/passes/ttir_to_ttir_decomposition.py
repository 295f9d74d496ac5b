"""ttir-to-ttir-decomposition: TTIR as tt-mlir writes it, in operations of the table of graphs.

rule OUT   output buffers are dropped: results are values
rule MESH  a program for several devices computes the parts of all of them
rule PLACE an in-place write makes a new value, which all later operations use
rule NAMED an operation that no rule decomposes is rejected by name, with the missing part
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ttgraph.dialects import ttir
from ttgraph.dialects.graph import MathOp, Tensor, shape_of
from ttl.diagnostics import CompileError, codes
from ttl.dialects.building import around
from ttl.dialects.foreign.kept import KeptOp
from ttl.dialects.foreign.ttir import FormOp
from ttl.passes.module_pass import Maker, cannot_compile, erase, replace_by

from . import (
    decompose_caches,
    decompose_elementwise,
    decompose_products,
    decompose_quantized,
    decompose_shapes,
    decompose_training,
    decompose_windows,
)
from .decompose_call import FormCall, result_type
from .decompose_elementwise import same
from .decompose_quantized import refuse_quantized, store_quantized, store_results
from .graph_maker import Graph
from .mesh_devices import unroll_meshes

_RULES: dict[str, Callable[[Graph, FormCall], SSAValue | list[SSAValue]]] = {
    **decompose_elementwise.RULES,
    **decompose_shapes.RULES,
    **decompose_products.RULES,
    **decompose_windows.RULES,
    **decompose_caches.RULES,
    **decompose_quantized.RULES,
    **decompose_training.RULES,
    **decompose_shapes.MORE_RESULTS,
    **decompose_windows.MORE_RESULTS,
    **decompose_training.MORE_RESULTS,
}
_TABLE = {kind.name for kind in ttir.MATH.values()}
_SAME = ("bitcast_convert", "logical_left_shift", "right_shift")


def apply(op: ModuleOp, *, in_tiles: bool = False) -> None:
    """Run the pass; `in_tiles` decomposes into tile operations, for ttir-to-d2m."""
    unroll_meshes(op, not_computed)
    types = {each: tuple(v.type for v in each.operands) for each in op.walk()}
    store_quantized(op)
    for found in types:
        if isinstance(found, FormOp):
            _replace(found, FormCall(found, (), {}, types[found], in_tiles))
        elif in_tiles and isinstance(found, _WHOLE):
            _replace(found, _call_of(found))
        elif isinstance(found, ttir.ConstantOp) and len(found.value) == 1:
            _fill(found)
        elif isinstance(found, KeptOp) and found.name == "ttir.empty":
            _make_empty(found)
        elif isinstance(found, KeptOp) and found.dialect_name() == "ttir":
            raise not_computed(found)
        elif isinstance(found, MathOp):
            _store(found, types[found])
    for found in [each for each in op.walk() if isinstance(each, ttir.MATH["empty"])]:
        if not any(found.result.uses):  # rule OUT
            erase(found)


_WHOLE = tuple(ttir.MATH[name] for name in ("linear", "softmax", "layer_norm", "rms_norm"))


def _call_of(op: MathOp) -> FormCall:
    """Make the call of an operation of the table, as if it had tt-mlir's form."""
    values, last = op.values(), shape_of(op.inputs[0])[-1]
    missing = {"transpose_a": False, "normalized_shape": [last], "dimension": values.get("dim")}
    inputs: list[SSAValue | None] = [*op.inputs, None, None]
    return FormCall(op, tuple(inputs[:3]), {**values, **missing}, in_tiles=True)


def _store(op: MathOp, types: tuple[Attribute, ...]) -> None:
    try:
        store_results(op, types)
    except ValueError as error:
        raise not_computed(op, str(error)) from None


def _replace(op: Operation, call: FormCall) -> None:
    before = op.prev_op
    try:
        if isinstance(op, FormOp):
            call = replace(call, inputs=tuple(op.inputs()), values=op.values())
        refuse_quantized(call)
        results = _decompose(Graph(Maker.before(op)), call)
        for made in _find_between(before, op):
            made.verify(verify_nested_ops=False)
    except (ValueError, VerifyException) as error:  # rule NAMED
        raise not_computed(op, str(error)) from None
    except (LookupError, ArithmeticError):  # a missing dimension, a step of 0
        raise not_computed(op, "its attributes do not fit its operands") from None
    if not op.results:
        _use_from_here(op, results)
        results = []
    replace_by(op, *results)


def _use_from_here(op: Operation, results: list[SSAValue]) -> None:
    """rule PLACE"""
    written, (new,) = op.operands[0], results
    later = [use for use in written.uses if _is_after(use.operation, op)]
    if not later:
        raise not_computed(op, "it writes in place what nothing after it reads")
    for use in later:
        use.operation.operands[use.index] = new


def _is_after(op: Operation, before: Operation) -> bool:
    """Does it come after `before`, in its block or nested in it?"""
    found = next((each for each in (op, *around(op)) if each.parent is before.parent), None)
    return found is not None and before.is_before_in_block(found)


def _find_between(first: Operation | None, last: Operation) -> list[Operation]:
    """Return the operations that were added before an operation."""
    found = []
    op = last.prev_op
    while op is not None and op is not first:
        found.append(op)
        op = op.prev_op
    return found


def _decompose(graph: Graph, call: FormCall) -> list[SSAValue]:
    op, name = call.op, call.name
    rule = _RULES.get(name)
    if rule is None and (op.name in _TABLE or name in _SAME):
        rule = same
    if rule is None:
        raise ValueError("")
    found = rule(graph, call)
    values = found if isinstance(found, list) else [found]
    if not op.results:
        return values
    return [
        _of_type(graph, value, result_type(result.type))
        for value, result in zip(values, op.results, strict=True)
    ]


def _of_type(graph: Graph, value: SSAValue, type: Tensor) -> SSAValue:
    if shape_of(value) != tuple(type.get_shape()):
        raise ValueError(f"it gives the shape {shape_of(value)}, and not {type}")
    return graph.cast(value, type.element_type)


def _fill(op: ttir.ConstantOp) -> None:
    """Turn the constant into one with the same value for all elements."""
    (value,) = op.value.get_values()
    replace_by(op, Graph(Maker.before(op)).full(value, result_type(op.result.type)))


def _make_empty(op: KeptOp) -> None:
    type = result_type(op.results[0].type)
    made = ttir.MATH["empty"].of([], type, shape=list(type.get_shape()))
    replace_by(op, Maker.before(op).value(made))


def not_computed(op: Operation, what: str = "") -> CompileError:
    """Make the error for an operation that is parsed and kept, but that nothing here computes."""
    reason = f": {what}" if what else ""
    message = f"`{op.name}` is read, but not computed{reason}"
    help_text = "write it with other operations, or as a TT-Lang operation"
    return cannot_compile(codes.GRAPH_NOT_LOWERED.broken(message, help_text), op)
