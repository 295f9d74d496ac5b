"""ttir-to-d2m: each operation of a graph becomes a function with the threads that do it.

The graph's function calls them in order, each with its inputs and a tensor for its result.
rule GRID   elementwise: the most cores that divide the tiles; a product: a square of them, whose
            side divides rows, columns and the inner dimension; a reduction: cores along the
            dimension that stays
rule BLOCKS a thread reads the blocks of the inputs that core (y, x) needs: its own, or of a product
            row y of the left and column x of the right, one after the other
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    bf16,
    f32,
    i64,
)
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ttl.diagnostics import RuleBroken, codes
from ttl.dialects import d2m
from ttl.dialects.graph import MathOp
from ttl.dialects.linalg_math import linalg_generic
from ttl.dialects.metal import MetalLayoutAttr
from ttl.dialects.ttcore import TileType, tensor_of
from ttl.semantics.dtypes import DType, bfloat16, float32
from ttl.semantics.metal_layout import MetalLayout
from ttl.semantics.ops import BLOCK_OPS
from ttl.semantics.types import Shape

from .module_pass import D2M_MARK, Maker, cannot_compile, erase

MOST_CORES = 8  # along a side; all chips have as many
ELEMENTS: dict[Any, DType] = {f32: float32, bf16: bfloat16}
# The table of graphs has some other names than the table of blocks.
NAMES = {
    "subtract": "sub", "multiply": "mul", "divide": "div", "maximum": "max", "minimum": "min",
    "log1p": "logp1", "sum": "reduce_sum", "max": "reduce_max",
}  # fmt: skip
REDUCTIONS = ("reduce_sum", "reduce_max")


@dataclass(frozen=True)
class TtirToD2m(ModulePass):
    name = "ttir-to-d2m"

    target: str = "wormhole_b0"
    use_tile_matmul: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.attributes["ttl.target_arch"] = StringAttr(self.target)
        op.attributes[D2M_MARK] = BoolAttr.from_bool(self.use_tile_matmul)
        found = [each for each in op.walk() if isinstance(each, MathOp)]
        for number, each in enumerate(found):
            _replace(each, number, op)


def _replace(op: MathOp, number: int, module: ModuleOp) -> None:
    plan = _plan(op)
    name = f"{op.ENTRY.ttir}_{number}"
    module.body.block.add_op(_function(plan, name))
    make = Maker.before(op)
    empty = make.value(d2m.EmptyOp.create(result_types=[op.result.type]))
    call = func.CallOp(name, [*op.inputs, empty], [op.result.type])
    op.result.replace_all_uses_with(make.value(call, op.result.name_hint))
    erase(op)


@dataclass(frozen=True, slots=True)
class _Plan:
    """An operation with what its threads need to know."""

    op: MathOp
    name: str  # in the table of blocks
    grid: Shape
    layouts: tuple[MetalLayout, ...]  # of the inputs, then of the result
    dtype: DType
    dims: Shape = ()

    def device_type(self, position: int, is_view: bool = False) -> TensorType[Any]:
        layout = self.layouts[position]
        shape = layout.device_shape(self.grid)
        view = f"map({len(shape)})" if is_view else ""
        return TensorType(TileType.of(self.dtype), shape, MetalLayoutAttr.of(layout, view))

    def block_type(self, position: int) -> TensorType[Any]:
        return tensor_of(self.layouts[position].shard_shape(self.grid), self.dtype)

    @property
    def count(self) -> int:
        return len(self.layouts)


def _plan(op: MathOp) -> _Plan:
    name = NAMES.get(op.ENTRY.name, op.ENTRY.name)
    types = [value.type for value in (*op.inputs, op.result)]
    elements = {type.element_type for type in types if isinstance(type, TensorType)}
    entry = BLOCK_OPS.get(name)
    is_simple = entry is not None and not [p for p in entry.parameters if name not in REDUCTIONS]
    if not is_simple or len(elements) != 1 or not elements <= ELEMENTS.keys():
        raise _refused(op, "there is no tile operation for it and these element types")
    shapes = [tuple(type.get_shape()) for type in types if isinstance(type, TensorType)]
    if any(len(shape) != 2 for shape in shapes):
        raise _refused(op, "only tensors of two dimensions are divided among cores here")
    layouts = tuple(MetalLayout(shape) for shape in shapes)
    dims: Shape = ()
    if name in REDUCTIONS:
        dims = _reduced(op, shapes[0])
    elif name != "matmul" and len(set(shapes)) > 1:
        raise _refused(op, "operands of different shapes")
    return _Plan(op, name, _grid(name, layouts, dims), layouts, ELEMENTS[elements.pop()], dims)


def _reduced(op: MathOp, shape: Shape) -> Shape:
    values = op.values()
    dims = tuple(dim % 2 for dim in values["dim_arg"])
    if not values["keep_dim"] or len(dims) != 1:
        raise _refused(op, "reductions keep their dimension and have one")
    if shape[dims[0]] % 32 and op.ENTRY.name == "max":
        raise _refused(op, "the largest element along a dimension that is not whole tiles")
    return dims


def _refused(op: MathOp, why: str) -> Exception:
    broken = RuleBroken(
        codes.GRAPH_NOT_LOWERED,
        f"`{op.name}` does not become threads of cores: {why}",
        helps=("use the road of ttnn: shlo-to-ttir, ttir-to-ttnn",),
    )
    return cannot_compile(broken, op)


def _grid(name: str, layouts: tuple[MetalLayout, ...], dims: Shape) -> Shape:
    """rule GRID"""
    sizes = layouts[0].physical_shape if name in REDUCTIONS else layouts[-1].physical_shape
    if name == "matmul":
        side = _cores(gcd(*sizes, layouts[0].physical_shape[1]))
        return side, side
    rows, columns = (1 if dim in dims else _cores(size) for dim, size in enumerate(sizes))
    return rows, columns


def _cores(size: int) -> int:
    return max(n for n in range(1, MOST_CORES + 1) if size % n == 0)


# The function -------------------------------------------------------------------------------------


def _function(plan: _Plan, name: str) -> func.FuncOp:
    op = plan.op
    types = [value.type for value in (*op.inputs, op.result)]
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
    output = make.value(d2m.EmptyOp.create(result_types=[plan.device_type(plan.count - 1)]))
    regions = [_region(plan, inputs, _read), _region(plan, inputs, _calculate)]
    kinds = ["datamovement", "compute"]
    for region, kind in zip(regions, kinds, strict=True):
        region.block.name_hint = f"{kind}0"
    generic = d2m.GenericOp.of(inputs, output, plan.grid, kinds, regions)
    make.add(generic)
    back = d2m.ToLayoutOp.create(
        operands=[generic.ends[0], block.args[-1]], result_types=[types[-1]]
    )
    make.add(func.ReturnOp(make.value(back)))
    function = func.FuncOp(name, FunctionType.from_lists(types, [types[-1]]), Region(block))
    function.attributes["d2m.moves"] = DictionaryAttr(
        {"filled": ArrayAttr([]), "written": BoolAttr.from_bool(True)}
    )
    return function


def _layout(
    make: Maker, kind: type[Operation], value: SSAValue, room: Any, result: Any
) -> SSAValue:
    empty = make.value(d2m.EmptyOp.create(result_types=[room]))
    return make.value(kind.create(operands=[value, empty], result_types=[result]))


Thread = Callable[[_Plan, Maker, list[SSAValue], list[SSAValue]], None]


def _region(plan: _Plan, inputs: list[SSAValue], thread: Thread) -> Region:
    block = Block(arg_types=[d2m.CBType(plan.block_type(n)) for n in range(plan.count)])
    for position, argument in enumerate(block.args):
        argument.name_hint = "out_cb" if position == plan.count - 1 else f"in{position}_cb"
    thread(plan, Maker.at_end(block, plan.op), list(block.args), inputs)
    return Region(block)


def _acquire(make: Maker, kind: type[Operation], cb: SSAValue) -> SSAValue:
    assert isinstance(cb.type, d2m.CBType)
    return make.value(kind.create(operands=[cb], result_types=[cb.type.underlying]))


def _read(plan: _Plan, make: Maker, cbs: list[SSAValue], inputs: list[SSAValue]) -> None:
    """rule BLOCKS"""
    y, x = (
        make.value(
            d2m.CoreIndexOp.create(
                properties={"dim": IntegerAttr(dim, i64)}, result_types=[IndexType()]
            )
        )
        for dim in range(2)
    )

    def read(inner: Maker, position: int, index: list[SSAValue]) -> None:
        block = _acquire(inner, d2m.ReserveOp, cbs[position])
        dma = d2m.DmaOp.build(
            operands=[inputs[position], index, block, [], [], []],
            result_types=[d2m.MemTxType()],
        )
        inner.add(d2m.DmaWaitOp.create(operands=[inner.value(dma)]))

    def read_step(inner: Maker, k: SSAValue) -> None:
        read(inner, 0, [y, k])
        read(inner, 1, [k, x])

    if plan.name == "matmul":
        _steps(plan, make, read_step)
        return
    for position in range(len(inputs)):
        read(make, position, [y, x])


def _calculate(plan: _Plan, make: Maker, cbs: list[SSAValue], inputs: list[SSAValue]) -> None:
    output = _acquire(make, d2m.ReserveOp, cbs[-1])

    def calculate(inner: Maker) -> None:
        operands = [_acquire(inner, d2m.WaitOp, cb) for cb in cbs[:-1]]
        properties: dict[str, Any] = {}
        if plan.name in REDUCTIONS:
            scaler = d2m.FullOp.create(
                properties={"value": FloatAttr(1.0, f32)},
                result_types=[tensor_of((1, 1), plan.dtype)],
            )
            operands.append(inner.value(scaler))
            dims = ArrayAttr([IntegerAttr(dim, i64) for dim in plan.dims])
            properties["parameters"] = DictionaryAttr({"dims": dims})
        empty = inner.value(d2m.EmptyOp.create(result_types=[plan.block_type(plan.count - 1)]))
        value = inner.value(linalg_generic(plan.name, operands, empty, properties))
        inner.add(d2m.StoreOp.create(operands=[value, output]))

    if plan.name == "matmul":
        _steps(plan, make, lambda inner, k: calculate(inner))
    else:
        calculate(make)
    _acquire(make, d2m.WaitOp, cbs[-1])


def _steps(plan: _Plan, make: Maker, body: Callable[[Maker, SSAValue], None]) -> None:
    """The blocks along the inner dimension of a product."""
    block = Block(arg_types=[IndexType()])
    block.args[0].name_hint = "k"
    body(Maker.at_end(block, plan.op), block.args[0])
    block.add_op(scf.YieldOp())
    first, last, step = (
        make.value(arith.ConstantOp(IntegerAttr(n, IndexType()))) for n in (0, plan.grid[0], 1)
    )
    make.add(scf.ForOp(first, last, step, [], Region(block)))
