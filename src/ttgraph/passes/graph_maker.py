"""Adds ttir operations, for the parts of shlo-to-ttir."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partialmethod
from math import inf, prod

from xdsl.dialects.builtin import TensorType, i1, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ttgraph.dialects import ttir
from ttgraph.dialects.graph import Tensor
from ttgraph.dialects.stablehlo import element_of, shape_of
from ttgraph.graph_ops import GRAPH_OPS
from ttgraph.graph_shapes import broadcast_shape
from ttl.diagnostics import CompileError, codes
from ttl.passes.module_pass import Maker, cannot_compile

# For each reducer, the table's operation and the neutral value.
REDUCERS: dict[str, tuple[str, float]] = {
    "add": ("add", 0),
    "multiply": ("multiply", 1),
    "maximum": ("maximum", -inf),
    "minimum": ("minimum", inf),
    "or": ("maximum", 0),
    "and": ("minimum", 1),
}


class Graph:
    """Adds ttir operations at a point."""

    def __init__(self, maker: Maker):
        self.maker = maker

    def add(
        self, name: str, inputs: list[SSAValue], type: Tensor, **attributes: object
    ) -> SSAValue:
        return self.maker.value(ttir.MATH[name].of(inputs, type, **attributes))

    def add_by_table(self, name: str, inputs: list[SSAValue], **attributes: object) -> SSAValue:
        """Add an operation with the table's shape and the first input's element type."""
        shape = GRAPH_OPS[name].shape([shape_of(each) for each in inputs], attributes)
        return self.add(name, inputs, tensor_like(inputs[0], shape), **attributes)

    def full(self, value: float, type: Tensor) -> SSAValue:
        return self.add("full", [], type, shape=list(type.get_shape()), fill_value=float(value))

    def number(self, value: float, like: SSAValue) -> SSAValue:
        """Add a scalar with the element type of `like`."""
        return self.full(value, tensor_like(like, ()))

    def reshape(self, value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        if shape_of(value) == shape:
            return value
        return self.add("reshape", [value], tensor_like(value, shape), shape=list(shape))

    def expand(self, value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        if shape_of(value) == shape:
            return value
        return self.add("expand", [value], tensor_like(value, shape), shape=list(shape))

    def permute(self, value: SSAValue, order: tuple[int, ...]) -> SSAValue:
        if order == tuple(range(len(order))):
            return value
        sizes = shape_of(value)
        result = tensor_like(value, tuple(sizes[dim] for dim in order))
        return self.add("permute", [value], result, permutation=list(order))

    def unary(self, name: str, value: SSAValue) -> SSAValue:
        return self.add(name, [value], tensor_like(value, shape_of(value)))

    def binary(
        self, name: str, a: SSAValue, b: SSAValue | float, element: Attribute | None = None
    ) -> SSAValue:
        """Add an operation on tensors whose shapes broadcast, or on a tensor and a number."""
        second = b if isinstance(b, SSAValue) else self.number(b, a)
        shape = broadcast_shape([shape_of(a), shape_of(second)], {})
        return self.add(name, [a, second], TensorType(element or element_of(a), shape))

    def compare(self, name: str, a: SSAValue, b: SSAValue | float) -> SSAValue:
        return self.binary(name, a, b, i1)

    def where(self, truth: SSAValue, yes: SSAValue | float, no: SSAValue) -> SSAValue:
        on_true = yes if isinstance(yes, SSAValue) else self.number(yes, no)
        shape = broadcast_shape([shape_of(each) for each in (truth, on_true, no)], {})
        return self.add("where", [truth, on_true, no], tensor_like(no, shape))

    def concat(self, parts: Sequence[SSAValue], dim: int) -> SSAValue:
        if len(parts) == 1:
            return parts[0]
        sizes = list(shape_of(parts[0]))
        sizes[dim] = sum(shape_of(part)[dim] for part in parts)
        return self.add("concat", list(parts), tensor_like(parts[0], tuple(sizes)), dim=dim)

    def slice(
        self, value: SSAValue, begins: Sequence[int], ends: Sequence[int], step: Sequence[int] = ()
    ) -> SSAValue:
        steps = list(step or [1] * len(begins))
        pairs = zip(begins, ends, steps, strict=True)
        shape = tuple(max(0, -(-(end - begin) // by)) for begin, end, by in pairs)
        if shape == shape_of(value):
            return value
        type, lists = tensor_like(value, shape), {"begins": list(begins), "ends": list(ends)}
        return self.add("slice", [value], type, **lists, step=steps)

    def slice_along(
        self, value: SSAValue, dim: int, begin: int, end: int, step: int = 1
    ) -> SSAValue:
        shape = shape_of(value)
        begins, ends, steps = [0] * len(shape), list(shape), [1] * len(shape)
        begins[dim], ends[dim], steps[dim] = begin, end, step
        return self.slice(value, begins, ends, steps)

    def number_i32(self, value: int) -> SSAValue:
        return self.full(value, TensorType(i32, ()))

    def iota(self, size: int) -> SSAValue:
        """Add the list 0, 1, 2 and so on."""
        return self.add("arange", [], TensorType(i32, (size,)), shape=[size], dim=0)

    def cast(self, value: SSAValue, element: Attribute) -> SSAValue:
        if element_of(value) == element:
            return value
        return self.add("typecast", [value], TensorType(element, shape_of(value)))

    def reduce(self, name: str, value: SSAValue, dims: Sequence[int], keep: bool) -> SSAValue:
        sizes = shape_of(value)
        shape = tuple(
            1 if dim in dims else size for dim, size in enumerate(sizes) if keep or dim not in dims
        )
        type = tensor_like(value, shape)
        return self.add(name, [value], type, dim_arg=list(dims), keep_dim=keep)

    def mean(self, value: SSAValue, dims: Sequence[int]) -> SSAValue:
        """Add the mean along dimensions, which are kept with size 1."""
        count = prod(shape_of(value)[dim] for dim in dims)
        return self.binary("multiply", self.reduce("sum", value, dims, True), 1 / count)

    def rows(self, table: SSAValue, numbers: SSAValue) -> SSAValue:
        """Add a lookup of a table's rows by number."""
        shape = (*shape_of(numbers), shape_of(table)[1])
        return self.add("embedding", [numbers, table], tensor_like(table, shape))

    def take(self, value: SSAValue, dim: int, numbers: SSAValue) -> SSAValue:
        """Add a lookup of elements along one dimension by a list of numbers."""
        shape = shape_of(value)
        others = tuple(d for d in range(len(shape)) if d != dim)
        left = tuple(shape[d] for d in others)
        table = self.reshape(self.permute(value, (dim, *others)), (shape[dim], prod(left)))
        found = self.reshape(self.rows(table, numbers), (*shape_of(numbers), *left))
        order = [*range(1, dim + 1), 0, *range(dim + 1, len(shape))]
        return self.permute(found, tuple(order))


@dataclass(frozen=True, slots=True, eq=False)
class GraphTerm:
    """Tensor in a formula: expressions with it add operations to the graph.

    `x.log()`, and so on, are the table's functions of one tensor.
    """

    graph: Graph
    value: SSAValue

    def __getattr__(self, name: str) -> Callable[[], GraphTerm]:
        if name not in ttir.MATH:
            raise AttributeError(name)
        return lambda: GraphTerm(self.graph, self.graph.unary(name, self.value))

    def number(self, value: float) -> GraphTerm:
        return GraphTerm(self.graph, self.graph.number(value, self.value))

    def with_(
        self, name: str, other: GraphTerm | float, element: Attribute | None = None
    ) -> GraphTerm:
        """Add an operation on two tensors, or on a tensor and a number."""
        second = other.value if isinstance(other, GraphTerm) else other
        return GraphTerm(self.graph, self.graph.binary(name, self.value, second, element))

    def where(self, yes: GraphTerm | float, no: GraphTerm) -> GraphTerm:
        on_true = yes.value if isinstance(yes, GraphTerm) else yes
        return GraphTerm(self.graph, self.graph.where(self.value, on_true, no.value))

    def clamp(self, low: float, high: float) -> GraphTerm:
        return self.with_("maximum", low).with_("minimum", high)

    __add__ = partialmethod(with_, "add")
    __sub__ = partialmethod(with_, "subtract")
    __mul__ = partialmethod(with_, "multiply")
    __truediv__ = partialmethod(with_, "divide")
    __and__ = partialmethod(with_, "bitwise_and")
    __or__ = partialmethod(with_, "bitwise_or")
    __rshift__ = partialmethod(with_, "logical_right_shift")
    __lt__ = partialmethod(with_, "lt", element=i1)
    __ge__ = partialmethod(with_, "ge", element=i1)
    equals = partialmethod(with_, "eq", element=i1)

    def __rsub__(self, other: float) -> GraphTerm:
        return self.number(other) - self

    def __rtruediv__(self, other: float) -> GraphTerm:
        return self.number(other) / self


def tensor_like(like: SSAValue, shape: tuple[int, ...]) -> Tensor:
    return TensorType(element_of(like), shape)


def no_counterpart(op: Operation, what: str = "") -> CompileError:
    types = ", ".join(str(value.type) for value in (*op.operands, *op.results))
    message = f"{what or op.name} ({types}) is not among the operations that are lowered to ttnn"
    help_text = "write it with other operations, or as a TT-Lang operation"
    return cannot_compile(codes.GRAPH_NOT_LOWERED.broken(message, help_text), op)
