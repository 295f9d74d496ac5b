"""ttir-fold-shapes: reshapes, expands and permutes that ttnn does not need go away.

rule CHAIN    two consecutive reshapes, expands or permutes are merged; those that change nothing
              are removed
rule LOOSE    operations that broadcast take operands before they were expanded, or got leading
              sizes of 1
rule SINK     elementwise operations, and those with a number for each column, move before a
              reshape to fewer dimensions, which may then meet another one
rule KEEP     a reduction whose dimensions come back with size 1 keeps them
rule PRODUCT  a matrix product takes tensors of more dimensions without a reshape
rule NEUTRAL  x * 1, integer x + 0, and boolean x & true are x
rule ONCE     equal operations are merged; unused ones are removed
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xdsl.dialects.builtin import AnyFloat, ModuleOp
from xdsl.ir import Block, SSAValue

from ttgraph.dialects.graph import MathOp, element_of, shape_of
from ttgraph.graph_ops import BINARY, GRAPH_OPS, REDUCTIONS, UNARY
from ttgraph.graph_shapes import broadcast_shape
from ttl.passes.module_pass import Maker

from .graph_maker import Graph, tensor_like
from .graph_match import find_maker, function_bodies, merge_equal, number_of, remove_unused

MOST_ROUNDS = 8  # each shortens chains; two or three are enough


def apply(op: ModuleOp) -> None:
    for block in function_bodies(op):
        for _ in range(MOST_ROUNDS):
            if not (_fold(block) | merge_equal(block)):
                break
        remove_unused(block)


def _fold(block: Block) -> bool:
    changed = False
    for op in list(block.ops):
        if not isinstance(op, MathOp) or not op.result.uses:
            continue
        rule = _RULES.get(op.ENTRY.name)
        found = None if rule is None else rule(Graph(Maker.before(op)), op)
        if found is not None:
            op.result.replace_all_uses_with(found)
            changed = True
    remove_unused(block)
    return changed


def _reshape(graph: Graph, op: MathOp) -> SSAValue | None:
    """rule CHAIN, rule KEEP"""
    value, shape = op.inputs[0], shape_of(op.result)
    if shape_of(value) == shape:
        return value
    if (full := find_maker(value, "full")) is not None:
        return graph.full(full.values()["fill_value"], tensor_like(value, shape))
    if (before := find_maker(value, "reshape")) is not None:
        return graph.reshape(before.inputs[0], shape)
    if (reduction := find_maker(value, *REDUCTIONS)) is not None:
        values = reduction.values()
        kept = GRAPH_OPS["sum"].shape([shape_of(reduction.inputs[0])], {**values, "keep_dim": True})
        if not values["keep_dim"] and kept == shape:
            name = reduction.ENTRY.name
            return graph.reduce(name, reduction.inputs[0], values["dim_arg"], True)
    return None


def _expand(graph: Graph, op: MathOp) -> SSAValue | None:
    """rule CHAIN"""
    value, shape = op.inputs[0], shape_of(op.result)
    if shape_of(value) == shape:
        return value
    if (before := find_maker(value, "expand")) is not None:
        return graph.expand(before.inputs[0], shape)
    return None


def _permute(graph: Graph, op: MathOp) -> SSAValue | None:
    """rule CHAIN"""
    order = op.values()["permutation"]
    if order == sorted(order):
        return op.inputs[0]
    if (before := find_maker(op.inputs[0], "permute")) is not None:
        first = before.values()["permutation"]
        return graph.permute(before.inputs[0], tuple(first[dim] for dim in order))
    return None


def _fold_broadcast(graph: Graph, op: MathOp) -> SSAValue | None:
    """rule NEUTRAL, rule LOOSE, rule SINK"""
    neutral, shape = _find_neutral(op), shape_of(op.result)
    if neutral is not None and shape_of(neutral) == shape:
        return neutral
    inputs = list(op.inputs)
    for position in range(len(inputs)):
        loose = _find_loose(inputs[position], shape)
        while loose is not None:
            tried = [*inputs[:position], loose, *inputs[position + 1 :]]
            if broadcast_shape([shape_of(each) for each in tried], {}) != shape:
                break
            inputs = tried
            loose = _find_loose(loose, shape)
    if inputs == list(op.inputs):
        return _sink(graph, op)
    return graph.add(op.ENTRY.name, inputs, op.result.type)


def _sink(graph: Graph, op: MathOp) -> SSAValue | None:
    """rule SINK"""
    shape, inputs = shape_of(op.result), list(op.inputs)
    whole = [n for n, each in enumerate(inputs) if shape_of(each) == shape and shape]
    if len(whole) != 1:
        return None
    others = [each for each in inputs if each is not inputs[whole[0]]]
    reshape = find_maker(inputs[whole[0]], "reshape")
    if reshape is None or any(prod(shape_of(each)[:-1]) != 1 for each in others):
        return None
    source = reshape.inputs[0]
    given = shape_of(source)
    rank = max((len(shape_of(each)) for each in others), default=0)
    if len(given) <= len(shape) or given[-1] != shape[-1] or rank > len(given):
        return None
    inputs[whole[0]] = source
    found = graph.add(op.ENTRY.name, inputs, tensor_like(op.result, given))
    return graph.reshape(found, shape)


def _find_loose(value: SSAValue, shape: tuple[int, ...]) -> SSAValue | None:
    """Return the value before it was expanded or got leading sizes of 1; None if it has the shape
    of the result.
    """
    if (expand := find_maker(value, "expand")) is not None:
        return expand.inputs[0]
    if (full := find_maker(value, "full")) is not None and shape_of(value):
        return Graph(Maker.before(full)).number(full.values()["fill_value"], value)
    if (reshape := find_maker(value, "reshape")) is not None:
        given, own = shape_of(reshape.inputs[0]), shape_of(value)
        more = len(own) - len(given)
        if more > 0 and own == (1,) * more + given and own != shape:
            return reshape.inputs[0]
    return None


def _find_neutral(op: MathOp) -> SSAValue | None:
    """rule NEUTRAL"""
    name = op.ENTRY.name
    if name not in ("multiply", "add", "logical_and"):
        return None
    wanted = 0.0 if name == "add" else 1.0
    if name == "add" and isinstance(element_of(op.result), AnyFloat):
        return None  # -0.0 + 0.0 is 0.0
    for value, other in ((op.inputs[0], op.inputs[1]), (op.inputs[1], op.inputs[0])):
        if number_of(other) == wanted:
            return value
    return None


def _matmul(graph: Graph, op: MathOp) -> SSAValue | None:
    """rule PRODUCT: merge the reshapes around it into one after it, which often meets another."""
    a, b = op.inputs
    before = find_maker(a, "reshape")
    if before is None:
        return None
    left = before.inputs[0]
    given, rows = shape_of(left), shape_of(a)
    if len(rows) == 2 and len(given) > 2 and given[-1] == rows[-1]:
        right, shape = b, (*given[:-1], shape_of(b)[-1])
    else:
        other = find_maker(b, "reshape")
        if other is None:
            return None
        if not _is_batch(given, rows) or len(given) == 3:
            return None
        right = graph.reshape(other.inputs[0], (*given[:-2], *shape_of(b)[-2:]))
        shape = (*given[:-1], shape_of(b)[-1])
    product = graph.add("matmul", [left, right], tensor_like(op.result, shape))
    return graph.reshape(product, shape_of(op.result))


def _is_batch(given: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Were only the dimensions before rows and columns flattened?"""
    return given[-2:] == shape[-2:] and len(shape) == 3 and prod(given[:-2]) == shape[0]


Rule = Callable[[Graph, MathOp], SSAValue | None]
_RULES: dict[str, Rule] = {
    "reshape": _reshape,
    "expand": _expand,
    "permute": _permute,
    "matmul": _matmul,
    "where": _fold_broadcast,
    **dict.fromkeys(UNARY, _sink),
    **dict.fromkeys(BINARY, _fold_broadcast),
}
