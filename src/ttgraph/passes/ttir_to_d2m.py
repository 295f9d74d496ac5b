"""ttir-to-d2m: each operation of a graph becomes a program, the threads of cores that do it.

The graph's function calls them in order, each with its inputs and a tensor for its result.
rule AFFINE a program is in affine form, on one core: d2m-grid-selection gives it more cores
rule BATCH  products of a batch are in explicit form, because their maps are not affine: cores for
            rows and columns of each matrix. A thread reads the blocks that core (y, x) needs: row y
            of the left and column x of the right, in order along the inner dimension
rule KEEP   a reduction keeps its dimension; the host removes it
The host first rearranges operations of other forms: ttir_arrangements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    bf16,
    f32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from pykernel.dialects import d2m
from pykernel.dialects.linalg_math import linalg_generic
from pykernel.passes.d2m_generic_generate_datamovement import acquire, read_block
from pykernel.passes.d2m_grid_selection import most_cores
from pykernel.passes.marks import D2M_MARK
from ttgraph.dialects import ttir
from ttgraph.dialects.graph import MathOp, Tensor, shape_of
from ttl.diagnostics import codes
from ttl.dialects.metal import MetalLayoutAttr
from ttl.dialects.ttcore import TileType, tensor_of
from ttl.passes.arithmetic import add, times
from ttl.passes.module_pass import Maker, cannot_compile, integers, replace_by, target_of
from ttl.passes.registered_device import ARCH, arch_of
from ttl.semantics.dtypes import DType, bfloat16, float32
from ttl.semantics.metal_layout import MetalLayout
from ttl.semantics.ops import BLOCK_OPS
from ttl.semantics.types import Shape
from ttl.target import TARGETS

from .ttir_arrangements import OF_HOST, arrange

ELEMENTS: dict[object, DType] = {f32: float32, bf16: bfloat16}
# Names in the table of graphs that differ from the table of blocks.
NAMES = {
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "maximum": "max",
    "minimum": "min",
    "log1p": "logp1",
    "sum": "reduce_sum",
    "max": "reduce_max",
}
REDUCTIONS = ("reduce_sum", "reduce_max")


def apply(op: ModuleOp, *, target: str = "", use_tile_matmul: bool = True) -> None:
    """Run the pass; the default target is the module's device, if it has one."""
    math = [each for each in op.walk() if isinstance(each, MathOp)]
    found = [each for each in math if each.ENTRY.name not in OF_HOST]
    cores = target_of(op).default_grid[::-1]
    left = [part for each in found for part in arrange(each, cores[0])]
    attributes: dict[str, Attribute] = {
        ARCH: StringAttr(target or arch_of(op) or TARGETS[0]),
        D2M_MARK: BoolAttr.from_bool(use_tile_matmul),
    }
    for number, part in enumerate(left):
        _replace(part, _plan(part, cores), f"{part.ENTRY.ttir}_{number}", op, attributes)


def _replace(
    op: MathOp, plan: _Plan, name: str, module: ModuleOp, attributes: dict[str, Attribute]
) -> None:
    grid = {"ttl.launch_grid": integers(plan.grid[::-1])}
    program = ModuleOp([_function(plan, name)], grid | attributes, StringAttr(name))
    module.body.block.add_op(program)
    make = Maker.before(op)
    operands, type = [*op.inputs, make.new(d2m.EmptyOp, (), plan.types[-1])], plan.types[-1]
    symbol = SymbolRefAttr(name)
    result = make.new(d2m.CallOp, operands, type, op.result.name_hint, program=symbol)
    if result.type != op.result.type:  # rule KEEP
        kept, shape = op.result.type, list(shape_of(op.result))
        result = make.value(ttir.MATH["reshape"].of([result], kept, shape=shape))
    replace_by(op, result)


@dataclass(frozen=True, slots=True)
class _Part:
    """Tensor of the operation as a grid of blocks; one block along repeated dimensions."""

    layout: MetalLayout
    grid: Shape
    repeated: Shape = ()  # the block's dimensions whose first row or column is repeated


@dataclass(frozen=True, slots=True)
class _Plan:
    """Operation with the data that its threads need."""

    op: MathOp
    name: str  # in the table of blocks
    types: tuple[Tensor, ...]  # of inputs and result
    parts: tuple[_Part, ...]  # of inputs and result
    dtype: DType
    dims: Shape = ()  # reduced dimensions
    steps: int = 1  # of the products of a batch, along the inner dimension

    @property
    def is_batch(self) -> bool:
        return self.name == "matmul" and prod(self.parts[-1].layout.logical_shape[:-2]) > 1

    @property
    def affine(self) -> d2m.Affine | None:
        """rules AFFINE and BATCH"""
        if self.is_batch:
            return None
        if self.name == "matmul":
            kinds = ("parallel", "parallel", "reduction")
            return d2m.Affine((1, 1, 1), ((0, 2), (2, 1), (0, 1)), kinds)
        maps = tuple(
            tuple(None if dim - 2 in part.repeated else dim for dim in range(2))
            for part in self.parts[:-1]
        )
        output = tuple(None if dim - 2 in self.dims else dim for dim in range(2))
        named = tuple("reduction" if dim is None else "parallel" for dim in output)
        return d2m.Affine((1, 1), (*maps, output), named)

    @property
    def grid(self) -> Shape:
        return self.parts[-1].grid

    def device_type(self, position: int, is_view: bool = False) -> Tensor:
        part = self.parts[position]
        shape = part.layout.device_shape(part.grid)
        view = f"map({len(shape)})" if is_view else ""
        return TensorType(TileType.of(self.dtype), shape, MetalLayoutAttr.of(part.layout, view))

    def block_type(self, position: int) -> Tensor:
        part = self.parts[position]
        return tensor_of(part.layout.shard_shape(part.grid), self.dtype)

    @property
    def count(self) -> int:
        return len(self.parts)


def _plan(op: MathOp, cores: Shape) -> _Plan:
    name = NAMES.get(op.ENTRY.name, op.ENTRY.name)
    types = [value.type for value in (*op.inputs, op.result)]
    assert all(isinstance(type, TensorType) for type in types)
    elements = {type.element_type for type in types}  # type: ignore[attr-defined]
    entry = BLOCK_OPS.get(name)
    is_simple = entry is not None and not [p for p in entry.parameters if name not in REDUCTIONS]
    if not is_simple or len(elements) != 1 or not elements <= ELEMENTS.keys():
        raise _make_refusal(op, "there is no tile operation for it and these element types")
    dims = _find_reduced_dims(op) if name in REDUCTIONS else ()
    if dims:
        types[-1] = TensorType(elements.copy().pop(), _keep_dims(shape_of(op.inputs[0]), dims))
    shapes = [tuple(type.get_shape()) for type in types]  # type: ignore[attr-defined]
    if not all(shapes):
        raise _make_refusal(op, "a tensor without dimensions")
    layouts = [MetalLayout(shape) for shape in shapes]
    steps = 1
    if name == "matmul":
        parts, steps = _product(op, layouts, cores)
    elif dims:
        parts = tuple(_Part(layout, (1, 1)) for layout in layouts)
    else:
        parts = tuple(_operand(layout, layouts[-1]) for layout in layouts)
    return _Plan(op, name, tuple(types), parts, ELEMENTS[elements.pop()], dims, steps)  # type: ignore[arg-type]


def _keep_dims(shape: Shape, dims: Shape) -> Shape:
    kept = list(shape)
    for dim in dims:
        kept[dim] = 1
    return tuple(kept)


def _find_reduced_dims(op: MathOp) -> Shape:
    """Return the reduced dimensions, counted from the end: -1 are columns, -2 rows."""
    shape, values = shape_of(op.inputs[0]), op.values()
    rank = len(shape)
    dims = tuple(sorted(dim % rank - rank for dim in values["dim_arg"] or range(rank)))
    return dims


def _make_refusal(op: MathOp, why: str) -> Exception:
    broken = codes.GRAPH_NOT_LOWERED.broken(
        f"`{op.name}` does not become threads of cores: {why}",
        "compile it for ttnn: shlo-to-ttir, ttir-to-ttnn",
    )
    return cannot_compile(broken, op)


# How tensors are divided --------------------------------------------------------------------------


def _operand(layout: MetalLayout, result: MetalLayout) -> _Part:
    whole, shape = result.matrix_shape, layout.matrix_shape
    shape = (1,) * (len(whole) - len(shape)) + shape
    repeats = (shape[:-1] != whole[:-1], shape[-1] != whole[-1])
    return _Part(layout, (1, 1), tuple(dim - 2 for dim, repeat in enumerate(repeats) if repeat))


def _product(op: MathOp, layouts: list[MetalLayout], cores: Shape) -> tuple[tuple[_Part, ...], int]:
    """Divide a product; the matrices of a batch are stacked vertically. rule BATCH"""
    if any(len(layout.logical_shape) < 2 for layout in layouts):
        raise _make_refusal(op, "a product of vectors")
    batches = [prod(layout.logical_shape[:-2]) for layout in layouts]
    most = batches[-1]
    if most == 1:
        return tuple(_Part(layout, (1, 1)) for layout in layouts), 1
    (height, inner), (_, columns) = layouts[0].physical_shape, layouts[-1].physical_shape
    rows = most_cores(height // batches[0], cores[0] // most)
    wide, steps = most_cores(columns, cores[1]), most_cores(inner, min(cores))
    grids = [(batches[0] * rows, steps), (batches[1] * steps, wide), (most * rows, wide)]
    parts = tuple(_Part(layout, grid) for layout, grid in zip(layouts, grids, strict=True))
    return parts, steps


# The function -------------------------------------------------------------------------------------


def _function(plan: _Plan, name: str) -> func.FuncOp:
    op, types = plan.op, plan.types
    block = Block(arg_types=types)
    for position, argument in enumerate(block.args):
        argument.name_hint = "out" if position == plan.count - 1 else f"in{position}"
    make = Maker.at_end(block, op)
    inputs = []
    for position in range(plan.count - 1):
        type = plan.device_type(position)
        value = _layout(make, d2m.ToLayoutOp, block.args[position], type, type)
        view = plan.device_type(position, is_view=True)
        inputs.append(_layout(make, d2m.StreamLayoutOp, value, type, view))
    output = make.new(d2m.EmptyOp, (), plan.device_type(plan.count - 1))
    regions = [_region(plan, inputs, _calculate)]
    kinds = ["compute"]
    if plan.is_batch:
        regions.insert(0, _region(plan, inputs, _read))
        kinds.insert(0, "datamovement")
    for region, kind in zip(regions, kinds, strict=True):
        region.block.name_hint = f"{kind}0"
    generic = d2m.GenericOp.of(inputs, output, plan.grid, kinds, regions, plan.affine)
    make.add(generic)
    back = make.new(d2m.ToLayoutOp, [generic.ends[0], block.args[-1]], types[-1])
    make.add(func.ReturnOp(back))
    function = func.FuncOp(name, FunctionType.from_lists(types, [types[-1]]), Region(block))
    function.attributes["d2m.moves"] = DictionaryAttr(
        {"filled": ArrayAttr([]), "written": BoolAttr.from_bool(True)}
    )
    return function


def _layout(
    make: Maker, kind: type[Operation], value: SSAValue, room: Attribute, result: Attribute
) -> SSAValue:
    return make.new(kind, [value, make.new(d2m.EmptyOp, (), room)], result)


Thread = Callable[[_Plan, Maker, list[SSAValue], list[SSAValue]], None]


def _region(plan: _Plan, inputs: list[SSAValue], thread: Thread) -> Region:
    block = Block(arg_types=[d2m.CBType(plan.block_type(n)) for n in range(plan.count)])
    for position, argument in enumerate(block.args):
        argument.name_hint = "out_cb" if position == plan.count - 1 else f"in{position}_cb"
    thread(plan, Maker.at_end(block, plan.op), list(block.args), inputs)
    return Region(block)


def _read(plan: _Plan, make: Maker, cbs: list[SSAValue], inputs: list[SSAValue]) -> None:
    """rule BATCH"""
    core = [make.value(d2m.CoreIndexOp.of(dim)) for dim in range(2)]
    starts = _starts(plan, make, core[0])

    def read_step(inner: Maker, k: SSAValue) -> None:
        read_block(inner, inputs[0], [starts[0], k], cbs[0])
        read_block(inner, inputs[1], [add(inner, starts[1], k), core[1]], cbs[1])

    make.for_each(0, plan.steps, "k", read_step)


def _starts(plan: _Plan, make: Maker, y: SSAValue) -> list[SSAValue]:
    """Return a product's row of blocks of the left, and the first one of the right."""
    left, right, result = (part.grid[0] for part in plan.parts)
    batch = prod(plan.parts[-1].layout.logical_shape[:-2])
    rows = make.index(result // batch)
    row = y if left == result else make.value(arith.RemSIOp(y, rows))
    if right == plan.steps:
        return [row, make.index(0)]
    number = make.value(arith.FloorDivSIOp(y, rows))
    return [row, times(make, number, make.index(plan.steps))]


def _calculate(plan: _Plan, make: Maker, cbs: list[SSAValue], inputs: list[SSAValue]) -> None:
    output = acquire(make, d2m.ReserveOp, cbs[-1])

    def calculate(inner: Maker) -> None:
        operands = [acquire(inner, d2m.WaitOp, cb) for cb in cbs[:-1]]
        operands = [_repeat(plan, inner, n, block) for n, block in enumerate(operands)]
        properties: dict[str, Attribute] = {}
        if plan.name in REDUCTIONS:
            type, one = tensor_of((1, 1), plan.dtype), FloatAttr(1.0, f32)
            operands.append(inner.new(d2m.FullOp, (), type, value=one))
            properties["parameters"] = DictionaryAttr({"dims": integers(plan.dims)})
        empty = inner.new(d2m.EmptyOp, (), plan.block_type(plan.count - 1))
        value = inner.value(linalg_generic(plan.name, operands, empty, properties))
        inner.add(d2m.StoreOp.create(operands=[value, output]))

    if plan.is_batch:
        make.for_each(0, plan.steps, "k", lambda inner, k: calculate(inner))
    else:
        calculate(make)
    acquire(make, d2m.WaitOp, cbs[-1])
    if not plan.is_batch:
        make.add(d2m.YieldOp.create())


def _repeat(plan: _Plan, make: Maker, position: int, block: SSAValue) -> SSAValue:
    """Repeat a block's first row or column to the result's shape."""
    dims = plan.parts[position].repeated
    if not dims:
        return block
    empty = make.new(d2m.EmptyOp, (), plan.block_type(plan.count - 1))
    properties = {"parameters": DictionaryAttr({"dims": integers(dims)})}
    return make.value(linalg_generic("broadcast", [block], empty, properties))
