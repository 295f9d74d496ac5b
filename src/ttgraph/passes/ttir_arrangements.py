"""Host operations around programs of ttir-to-d2m, so that threads can run each program.

rule NUMBER a scalar gets as many dimensions as the result
rule REPEAT a tensor that is repeated along only some leading dimensions is expanded in full
rule LAST   dimensions that are not last are reduced as one, the last of two
rule PAD    for max, partial tiles are filled with copies of an existing column
rule LEAST  min is the negated max of the negated elements
rule BATCH  products of a batch longer than the device's rows become several programs
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from ttgraph.dialects import ttir
from ttgraph.dialects.graph import MathOp, shape_of
from ttgraph.graph_ops import BINARY, REDUCTIONS
from ttl.passes.module_pass import Maker, replace_by
from ttl.semantics.types import TILE_SIZE, Shape

OF_HOST = ("reshape", "expand", "permute", "concat", "slice", "full", "arange", "empty", "typecast")


def arrange(op: MathOp, rows: int) -> list[MathOp]:
    """Return the operations left for programs; `op` itself if nothing needs arranging.

    `rows` is the number of rows of cores.
    """
    name = op.ENTRY.name
    graph = _Graph(Maker.before(op))
    made: SSAValue | None = None
    if name in (*BINARY, "where"):
        _give_dimensions(graph, op)
        made = _expand_repeated(graph, op)
    elif name in REDUCTIONS:
        made = _arrange_reduction(graph, op)
    elif name == "matmul":
        made = _arrange_products(graph, op, rows)
    if made is None:
        return [op]
    replace_by(op, made)
    if name == "min":
        return [left for each in graph.made for left in arrange(each, rows)]
    return [each for each in graph.made if each.ENTRY.name not in OF_HOST]


class _Graph:
    """Adds operations before the one that they replace."""

    def __init__(self, make: Maker):
        self.make = make
        self.made: list[MathOp] = []

    def do(self, name: str, *inputs: SSAValue, **attributes: object) -> SSAValue:
        kind = ttir.MATH[name]
        shape = kind.ENTRY.result_shape([shape_of(each) for each in inputs], attributes)
        type = inputs[0].type
        assert isinstance(type, TensorType)
        op = kind.of(inputs, TensorType(type.element_type, shape), **attributes)
        self.made.append(op)
        return self.make.value(op)

    def reshape(self, value: SSAValue, shape: Shape) -> SSAValue:
        return value if shape_of(value) == shape else self.do("reshape", value, shape=list(shape))

    def expand(self, value: SSAValue, shape: Shape) -> SSAValue:
        return value if shape_of(value) == shape else self.do("expand", value, shape=list(shape))

    def part(self, value: SSAValue, dim: int, first: int, last: int) -> SSAValue:
        shape = shape_of(value)
        begins = [first if d == dim else 0 for d in range(len(shape))]
        ends = [last if d == dim else size for d, size in enumerate(shape)]
        return self.do("slice", value, begins=begins, ends=ends, step=[1] * len(shape))


def _give_dimensions(graph: _Graph, op: MathOp) -> None:
    """rule NUMBER"""
    rank = len(shape_of(op.result))
    for position, value in enumerate(op.inputs):
        if rank and not shape_of(value):
            op.operands[position] = graph.reshape(value, (1,) * rank)


def _expand_repeated(graph: _Graph, op: MathOp) -> SSAValue | None:
    """rule REPEAT"""
    whole = shape_of(op.result)

    def is_partly(shape: Shape) -> bool:
        leading = ((1,) * (len(whole) - len(shape)) + shape)[:-1]
        return leading != whole[:-1] and any(size != 1 for size in leading)

    if not any(is_partly(shape_of(each)) for each in op.inputs):
        return None
    inputs = [
        graph.expand(each, (*whole[:-1], shape_of(each)[-1])) if is_partly(shape_of(each)) else each
        for each in op.inputs
    ]
    return graph.do(op.ENTRY.name, *inputs)


def _arrange_reduction(graph: _Graph, op: MathOp) -> SSAValue | None:
    shape, values = shape_of(op.inputs[0]), op.values()
    rank = len(shape)
    dims = tuple(sorted(values["dim_arg"] or range(rank)))
    if op.ENTRY.name == "min":  # rule LEAST
        return graph.do("neg", graph.do("max", graph.do("neg", op.inputs[0]), **values))
    is_elsewhere = rank > 2 and dims != (rank - 1,)
    is_padded = op.ENTRY.name == "max" and any(shape[dim] % TILE_SIZE for dim in dims)
    if not is_elsewhere and not is_padded:
        return None
    kept = [dim for dim in range(rank) if dim not in dims]
    value, order = op.inputs[0], [*kept, *dims]
    if order != list(range(rank)):
        value = graph.do("permute", value, permutation=order)
    rows, columns = (prod(shape[dim] for dim in each) for each in (kept, dims))
    value = graph.reshape(value, (rows, columns))  # rule LAST
    missing = -columns % TILE_SIZE
    if missing and op.ENTRY.name == "max":  # rule PAD
        first = graph.part(value, 1, 0, 1)
        value = graph.do("concat", value, graph.expand(first, (rows, missing)), dim=1)
    value = graph.do(op.ENTRY.name, value, dim_arg=[1], keep_dim=True)
    return graph.reshape(value, shape_of(op.result))


def _arrange_products(graph: _Graph, op: MathOp, longest: int) -> SSAValue | None:
    """rules REPEAT and BATCH"""
    leading = [shape_of(each)[:-2] for each in (*op.inputs, op.result)]
    count, counts = prod(leading[-1]), [prod(each) for each in leading]
    if count <= longest and set(counts) <= {1, count}:
        return None
    inputs = [
        _batch(graph, each, leading[-1], is_one=number == 1)
        for each, number in zip(op.inputs, counts[:-1], strict=True)
    ]
    parts = []
    for first in range(0, count, longest):
        last = min(first + longest, count)
        pieces = [
            graph.part(each, 0, first, last) if len(shape_of(each)) == 3 else each
            for each in inputs
        ]
        parts.append(graph.do("matmul", *pieces))
    whole = parts[0] if len(parts) == 1 else graph.do("concat", *parts, dim=0)
    return graph.reshape(whole, shape_of(op.result))


def _batch(graph: _Graph, value: SSAValue, leading: Shape, is_one: bool) -> SSAValue:
    """Stack all matrices vertically; or return the one that all share."""
    matrix = shape_of(value)[-2:]
    if is_one:
        return graph.reshape(value, matrix)
    return graph.reshape(graph.expand(value, (*leading, *matrix)), (prod(leading), *matrix))
