"""Emits a functional FX graph of aten operations as a StableHLO module."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import torch
from torch import Tensor, fx
from torch._subclasses.fake_tensor import unset_fake_temporarily
from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FunctionType,
    IntegerType,
    ModuleOp,
    Signedness,
    TensorType,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tt_torch.decompositions import LIMITS
from ttgraph.dialects import stablehlo
from ttgraph.flatbuffer.names import attributes_of
from ttgraph.graph_ops import GRAPH_OPS
from ttl.diagnostics import CompileError, Span, codes
from ttl.diagnostics.frames import calling_span, is_user_file

ELEMENTS: dict[torch.dtype, Attribute] = {
    torch.float32: Float32Type(),
    torch.bfloat16: BFloat16Type(),
    torch.float16: Float16Type(),
    torch.float64: Float64Type(),
    torch.int64: IntegerType(64),
    torch.int32: IntegerType(32),
    torch.int16: IntegerType(16),
    torch.int8: IntegerType(8),
    torch.uint8: IntegerType(8, Signedness.UNSIGNED),
    torch.bool: IntegerType(1),
    torch.uint32: IntegerType(32, Signedness.UNSIGNED),  # only for random numbers
}
_SHORT = (torch.int16, torch.int8, torch.uint8)
aten = torch.ops.aten


# The argument that seeds all random numbers of a graph.
SEED = TensorType(ELEMENTS[torch.uint32], [2])
SEED_NAME = "random_seed"


class UnsupportedOperation(CompileError, NotImplementedError):
    """The graph has an operation without a lowering; the message has its name."""


# A lowering's arguments are the emitter, and the node's arguments with values for nodes.
Lowering = Callable[..., "SSAValue | list[SSAValue]"]
LOWERINGS: dict[Any, Lowering] = {}
PAIRS: dict[Any, Lowering] = {}  # lowerings of complex numbers
RANDOM: set[Any] = set()  # operations that draw random numbers


def lowers(*ops: Any, pairs: bool = False) -> Callable[[Lowering], Lowering]:
    """Register the decorated function for these operations; with `pairs`, also if complex."""

    def add(function: Lowering) -> Lowering:
        for op in ops:
            assert op not in LOWERINGS, op
            LOWERINGS[op] = function
        PAIRS.update(dict.fromkeys(ops if pairs else (), function))
        return function

    return add


def overloads(name: str) -> list[Any]:
    """Return the aten operations in a row of the table of graph operations."""
    return [reduce(getattr, each.split("."), torch.ops.aten) for each in GRAPH_OPS[name].aten]


# Names of boolean arithmetic; chips that store booleans as numbers must not add them.
_OF_BOOLEANS = {"add": "or", "maximum": "or", "multiply": "and", "minimum": "and"}


def _name_for(name: str, value: SSAValue) -> str:
    return _OF_BOOLEANS.get(name, name) if dtype_of(value) is torch.bool else name


class Emitter:
    """Builds the body of one function. Values are SSA values whose types know shape and dtype."""

    node: fx.Node  # being lowered

    def __init__(self, functional: bool = False, block: Block | None = None):
        self.block = Block() if block is None else block
        self.seed: SSAValue | None = None  # if the graph draws random numbers
        self.drawn = 0  # number of draws
        self.functional = functional  # custom calls without the "out" operands
        self.scalars: dict[tuple[Any, torch.dtype], SSAValue] = {}
        # Values in other shapes, which several layers ask for.
        self.arranged: dict[tuple[SSAValue, str, tuple[int, ...]], SSAValue] = {}

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the node's result; complex numbers are pairs."""
        result = self.node.meta["val"]
        return tuple(int(size) for size in as_pairs(result.shape, result.dtype)[0])

    @property
    def rank(self) -> int:
        return len(self.node.meta["val"].shape)

    @property
    def dtype(self) -> torch.dtype:
        """Type of the node's result, or of the parts of complex numbers."""
        return as_pairs((), self.node.meta["val"].dtype)[1]

    def add(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def _create(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute,
        properties: Mapping[str, Attribute] | None = None,
    ) -> SSAValue:
        made = kind.create(operands=operands, result_types=[result], properties=properties or {})
        return self.add(made)

    def unary(self, name: str, value: SSAValue) -> SSAValue:
        kind = stablehlo.UNARY.get(name) or stablehlo.CHLO[name]
        return self._create(kind, [value], value.type)

    def binary(self, name: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        name = _name_for(name, lhs)
        return self._create(stablehlo.BINARY[name], [lhs, rhs], lhs.type)

    def scalar(self, number: Any, dtype: torch.dtype) -> SSAValue:
        """Emit a scalar constant; equal ones are shared."""
        key = (repr(number), dtype)
        if key not in self.scalars:
            self.scalars[key] = self.constant(torch.tensor(number, dtype=dtype))
        return self.scalars[key]

    def constant(self, tensor: Tensor) -> SSAValue:
        if tensor.dtype.is_complex:
            tensor = torch.view_as_real(tensor.resolve_conj())
        type = tensor_type(tensor.shape, tensor.dtype)
        values = tensor.reshape(-1).tolist()
        dense: Any = DenseIntOrFPElementsAttr.from_list(type, values)
        return self.add(stablehlo.ConstantOp.of(dense))

    def full(self, shape: Sequence[int], number: Any, dtype: torch.dtype) -> SSAValue:
        return self.broadcast(self.scalar(number, dtype), shape)

    def convert(self, value: SSAValue, dtype: torch.dtype) -> SSAValue:
        element = ELEMENTS[dtype]
        if stablehlo.element_of(value) == element:
            return value
        if dtype is torch.bool:
            return self.compare(
                "NE", value, self.full(stablehlo.shape_of(value), 0, dtype_of(value))
            )
        if dtype in _SHORT and dtype_of(value).is_floating_point:  # wraps around, as on the CPU
            value = self.convert(value, torch.int32)
        result = TensorType(element, stablehlo.shape_of(value))
        return self._create(stablehlo.ConvertOp, [value], result)

    def compare(self, direction: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        element = stablehlo.element_of(lhs)
        kind = "FLOAT"
        if isinstance(element, IntegerType):
            is_unsigned = element.width.data == 1 or element.signedness.data is Signedness.UNSIGNED
            kind = "UNSIGNED" if is_unsigned else "SIGNED"
        return self.add(stablehlo.CompareOp.of(direction, lhs, rhs, kind))

    def select(self, condition: SSAValue, on_true: SSAValue, on_false: SSAValue) -> SSAValue:
        operands = [condition, on_true, on_false]
        return self._create(stablehlo.SelectOp, operands, on_true.type)

    def broadcast(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """Broadcast; dimensions align from the last, as in torch."""
        given = stablehlo.shape_of(value)
        if given == tuple(shape):
            return value
        key = value, "broadcast", tuple(shape)
        if key not in self.arranged:
            placed = range(len(shape) - len(given), len(shape))
            result = TensorType(stablehlo.element_of(value), shape)
            made = stablehlo.BroadcastInDimOp.of(value, placed, result)
            self.arranged[key] = self.add(made)
        return self.arranged[key]

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        if stablehlo.shape_of(value) == tuple(shape):
            return value
        key = value, "reshape", tuple(shape)
        if key not in self.arranged:
            result = TensorType(stablehlo.element_of(value), shape)
            self.arranged[key] = self._create(stablehlo.ReshapeOp, [value], result)
        return self.arranged[key]

    def transpose(self, value: SSAValue, order: Sequence[int]) -> SSAValue:
        shape = stablehlo.shape_of(value)
        if list(order) == list(range(len(shape))):
            return value
        result = TensorType(stablehlo.element_of(value), [shape[dim] for dim in order])
        return self.add(stablehlo.TransposeOp.of(value, order, result))

    def slice(self, value: SSAValue, ranges: Sequence[tuple[int, int, int]]) -> SSAValue:
        shape = [-(-(stop - start) // step) for start, stop, step in ranges]
        if tuple(shape) == stablehlo.shape_of(value):
            return value
        properties = stablehlo.SliceOp.properties_of(ranges)
        result = TensorType(stablehlo.element_of(value), shape)
        return self._create(stablehlo.SliceOp, [value], result, properties)

    def concatenate(self, parts: Sequence[SSAValue], dim: int) -> SSAValue:
        if len(parts) == 1:
            return parts[0]
        shape = list(stablehlo.shape_of(parts[0]))
        shape[dim] = sum(stablehlo.shape_of(part)[dim] for part in parts)
        result = TensorType(stablehlo.element_of(parts[0]), shape)
        return self.add(stablehlo.ConcatenateOp.of(parts, dim, result))

    def cut(self, value: SSAValue, dim: int, start: int, stop: int, step: int = 1) -> SSAValue:
        """Emit a slice along one dimension."""
        ranges = [(0, size, 1) for size in stablehlo.shape_of(value)]
        ranges[dim] = (start, stop, step)
        return self.slice(value, ranges)

    def positions(self, shape: Sequence[int], dim: int, dtype: torch.dtype) -> SSAValue:
        """Emit each element's position along a dimension."""
        return self.add(stablehlo.IotaOp.of([], dim, tensor_type(shape, dtype)))

    def reduce(
        self, name: str, value: SSAValue, dims: Sequence[int], init: Any, keep: bool = False
    ) -> SSAValue:
        shape = stablehlo.shape_of(value)
        left = [size for dim, size in enumerate(shape) if dim not in dims]
        result = TensorType(stablehlo.element_of(value), left)
        start = self.scalar(init, dtype_of(value))
        name = f"stablehlo.{_name_for(name, value)}"
        reduced = self.add(stablehlo.ReduceOp.of(value, start, name, sorted(dims), result))
        kept = [1 if dim in dims else size for dim, size in enumerate(shape)]
        return self.reshape(reduced, kept) if keep else reduced


def computation(types: Sequence[Attribute], compute: Callable[..., SSAValue]) -> Region:
    """Make a region from `compute(emitter, *scalars)` for scalars of these types."""
    emitter = Emitter(block=Block(arg_types=types))
    found = compute(emitter, *emitter.block.args)
    emitter.block.add_op(stablehlo.ReturnOp.create(operands=[found]))
    return Region(emitter.block)


def tensor_type(shape: Sequence[int], dtype: torch.dtype) -> TensorType[Any]:
    return TensorType(ELEMENTS[dtype], [int(size) for size in shape])


_DTYPES = {element: dtype for dtype, element in ELEMENTS.items()}


def dtype_of(value: SSAValue) -> torch.dtype:
    return _DTYPES[stablehlo.element_of(value)]


# Graphs -------------------------------------------------------------------------------------------


def emit_module(
    graph: fx.GraphModule,
    *,
    functional: bool = False,
    names: tuple[Sequence[str], Sequence[str]] | None = None,
) -> ModuleOp:
    """Emit a functional aten graph whose nodes have fake tensors in meta["val"] as StableHLO.

    `functional` leaves the "out" operands out of the calls of TT-Lang operations. `names` are the
    arguments' and the results' names. A graph that draws random numbers has a seed after its own
    arguments: see `draws`.
    Raises UnsupportedOperation for an aten operation that has no lowering.
    """
    emitter = Emitter(functional)
    with unset_fake_temporarily():  # constants have elements even while a graph is captured
        outputs = _emit_body(emitter, graph)
    inputs = [argument.type for argument in emitter.block.args]
    function = FuncOp("main", FunctionType.from_lists(inputs, outputs), Region(emitter.block))
    if names is not None:
        function.arg_attrs, function.res_attrs = (ArrayAttr(attributes_of(each)) for each in names)
    return ModuleOp([function])


def _emit_body(emitter: Emitter, graph: fx.GraphModule) -> list[Attribute]:
    """Emit the body and return the results' types."""
    values: dict[fx.Node, Any] = {}
    nodes = _seen(graph)
    given = [node for node in nodes if node.op == "placeholder"]
    for node in given:
        values[node] = _emit_node(emitter, graph, node, values)
    if any(is_random(node) for node in nodes):
        emitter.seed = emitter.block.insert_arg(SEED, len(emitter.block.args))
    for node in nodes[len(given) :]:
        if node.op == "output":
            flat = [values[each] for each in _flat(node.args[0]) if isinstance(each, fx.Node)]
            emitter.block.add_op(ReturnOp(*flat))
            return [value.type for value in flat]
        values[node] = _emit_node(emitter, graph, node, values)
    raise AssertionError("a graph ends with its output")


def draws(graph: fx.GraphModule) -> bool:
    """Do results of the graph depend on random numbers?"""
    return any(is_random(node) for node in _seen(graph))


def is_random(node: fx.Node) -> bool:
    """Does a node draw random numbers? A dropout that keeps everything does not."""
    if node.target is aten.native_dropout.default:
        _, rate, train = node.args
        return rate != 0 and train is not False
    return node.target in RANDOM


def _seen(graph: fx.GraphModule) -> list[fx.Node]:
    """Return all nodes except unused random numbers, which torch keeps, and nodes that only lead to
    them.
    """
    unseen: set[fx.Node] = set()
    for node in reversed(graph.graph.nodes):
        may_go = node.op == "call_function" and (node.users or node.target in RANDOM)
        if may_go and all(user in unseen for user in node.users):
            unseen.add(node)
    return [node for node in graph.graph.nodes if node not in unseen]


def _emit_node(
    emitter: Emitter, graph: fx.GraphModule, node: fx.Node, values: dict[fx.Node, Any]
) -> Any:
    if node.op == "placeholder":
        value = node.meta.get("val")
        if not isinstance(value, Tensor):  # a number that is part of the graph
            return value
        _check_dtype(node, value)
        type = tensor_type(*as_pairs(value.shape, value.dtype))
        return emitter.block.insert_arg(type, len(emitter.block.args))
    if node.op == "get_attr":
        from tt_torch.device import on_host

        held = getattr(graph, str(node.target))
        return emitter.constant(on_host(held)) if isinstance(held, Tensor) else held
    lowering = LOWERINGS.get(node.target)
    if is_complex(node) or any(is_complex(each) for each in node.all_input_nodes):
        lowering = PAIRS.get(node.target)
        if lowering is None:
            raise unsupported(f"no lowering for {_name(node)} of complex numbers", node)
    if lowering is None:
        limit = f" {LIMITS[node.target]}" if node.target in LIMITS else ""
        raise unsupported(f"no lowering for {_name(node)}{limit}", node)
    if node.kwargs.get("generator") is not None:
        raise unsupported(f"{_name(node)} has a generator of its own", node)
    for value in _flat(node.meta.get("val")):
        if isinstance(value, Tensor):
            _check_dtype(node, value)
    args = fx.map_arg(node.args, lambda each: values[each])
    kwargs = fx.map_arg(node.kwargs, lambda each: values[each])
    emitter.node = node
    return lowering(emitter, *args, **kwargs)


def _check_dtype(node: fx.Node, value: Tensor) -> None:
    if value.dtype.is_complex:
        return
    if value.dtype not in ELEMENTS or value.dtype is torch.uint32:
        raise unsupported(f"{_name(node)} has elements of type {value.dtype}", node)
    if any(not isinstance(size, int) for size in value.shape):
        raise unsupported(f"{_name(node)} has sizes that are not known: {value.shape}", node)


def is_complex(node: Any) -> bool:
    """Is a node's value complex?"""
    values = _flat(node.meta.get("val")) if isinstance(node, fx.Node) else []
    return any(isinstance(each, Tensor) and each.dtype.is_complex for each in values)


def as_pairs(shape: Sequence[int], dtype: torch.dtype) -> tuple[Sequence[int], torch.dtype]:
    """Return the shape and type of complex numbers as pairs."""
    return ((*shape, 2), dtype.to_real()) if dtype.is_complex else (shape, dtype)


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [leaf for each in value for leaf in _flat(each)]
    return [value]


def _name(node: fx.Node) -> str:
    return str(node.target) if node.op == "call_function" else f"`{node.name}`"


def unsupported(message: str, node: fx.Node | None = None) -> UnsupportedOperation:
    help_text = "write it with other operations, or compute it outside of the model"
    broken = codes.ATEN_OPERATION.broken(message, help_text)
    span = calling_span() if node is None else span_of(node) or calling_span()
    return UnsupportedOperation(broken.at(span))


def span_of(node: fx.Node) -> Span | None:
    """Return the innermost line of the user's program that the node comes from."""
    lines = (node.meta.get("stack_trace") or "").splitlines()
    for line in reversed(lines):
        file, _, rest = line.strip().removeprefix('File "').partition('", line ')
        number = rest.split(",")[0]
        if line.strip().startswith('File "') and number.isdecimal() and is_user_file(file):
            return Span(file, int(number), 1, int(number), 1 << 10)
    return None
