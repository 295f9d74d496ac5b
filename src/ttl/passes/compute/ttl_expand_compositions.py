"""ttl-expand-compositions: replace operations without a chip call by ones that have a call.

The op table defines the replacements. An integer value that is stored into a block of floats is
converted first. Integers need registers of 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import DictionaryAttr, FloatAttr, IntegerAttr, ModuleOp, f32, f64, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ttl.dialects import ttl
from ttl.dialects.building import walk
from ttl.dialects.ttcore import block_type, tensor_of
from ttl.semantics.dtypes import NARROW, DType, float16, float32, int32
from ttl.semantics.ops import TILE_OPS, ParameterKind, TileForms, refuse_integers
from ttl.semantics.ops.compositions import broadcast_in_parts, is_scale_of_exp, whole_broadcast
from ttl.semantics.types import BlockType, Shape

from ..module_pass import (
    Maker,
    cannot_compile,
    erase,
    first_after_bindings,
    integers,
    kernel_of,
    kernels,
    not_yet,
    numbers_in,
    replace_by,
    target_of,
)
from .arranged_tiles import inner_dims, is_view
from .compiler_buffers import FP32, CompilerBuffers, shape_of
from .ttl_set_compute_kernel_config import decide_fp32

WIDER = "write @ttl.operation(..., fp32_dest_acc_en=True)"
BY_RECIPROCALS = "ttl.divides_by_reciprocals"  # on a compute kernel
TRUTHS = ("lt", "le", "gt", "ge", "eq", "ne")


def apply(op: ModuleOp) -> None:
    target = target_of(op)
    api = target.device_api
    for kernel in kernels(op, "compute"):
        decide_fp32(kernel)
        _check_float16(kernel)
        is_wide = CompilerBuffers(op, kernel).unpacks_to_dst and not target.broadcasts_32_bits
        for inner in list(walk(kernel)):
            if isinstance(inner, (ttl.BlockMathOp, ttl.FillOp)):
                _check_width(kernel, inner)
            if isinstance(inner, ttl.BlockMathOp):
                _check_integers(inner, api)
                if is_wide and _is_broadcast_of_32_bits(inner):
                    _expand_broadcast(inner, api)
                else:
                    _expand(inner, api)
            elif isinstance(inner, ttl.StoreOp):
                _convert_stored(inner, api)


def _check_float16(kernel: func.FuncOp) -> None:
    """Refuse float16 in 16-bit registers: the chip's functions take these for bfloat16."""
    for op in kernel.body.block.ops if not bool(kernel.attributes[FP32]) else ():
        if isinstance(op, ttl.BindBufferOp) and op.result.type.tile.dtype == float16:
            raise not_yet("float16 in DST registers of 16 bits", op, WIDER)


def _check_width(kernel: func.FuncOp, op: ttl.BlockMathOp | ttl.FillOp) -> None:
    inputs = op.inputs if isinstance(op, ttl.BlockMathOp) else ()
    types = [block_type(value.type).dtype for value in (*inputs, op.result)]
    if bool(kernel.attributes[FP32]) or all(dtype is None or dtype.is_float for dtype in types):
        return
    raise not_yet("integers in DST registers of 16 bits", op, WIDER)


def _check_integers(op: ttl.BlockMathOp, api: str) -> None:
    """Refuse integers without a tile form, which only modules from other frontends contain."""
    dtype = block_type(op.inputs[0].type).dtype if op.inputs else None
    if dtype is not None and op.ENTRY.tile[api].of(dtype) is None:
        raise cannot_compile(refuse_integers(op.ENTRY, dtype), op)


def _expand(op: ttl.BlockMathOp, api: str) -> None:
    do = CompositionBuilder(Maker.before(op), api)
    forms = do.forms(op.ENTRY.name, op.inputs[0])
    if forms.by_dims and do.dtype(op.inputs[0]) in NARROW:
        return _move_as_words(op, do)
    parameters: dict[str, Any] = {
        name: value.value.data
        for name, value in (op.parameters.data if op.parameters else {}).items()
        if isinstance(value, (FloatAttr, IntegerAttr))
    } | op.given_types()
    if op.ENTRY.name == "exp" and (scaled := _scaled_operand(op)) is not None:
        return _fold_scale(op, do, *scaled)
    if op.ENTRY.name == "div" and _is_by_reciprocal(op):
        return _multiply_by_reciprocal(op, do)
    composition = composition_of(forms, parameters, op)
    if composition is None:
        return
    dtype = block_type(op.result.type).dtype
    assert dtype is not None
    source = do.dtype(op.inputs[0])
    if op.ENTRY.name == "typecast" and source.is_float and dtype.is_float:
        return  # the packer rounds, if needed
    replace_by(op, composition(do, *op.inputs, **parameters))


def _scaled_operand(op: ttl.BlockMathOp) -> tuple[SSAValue, float] | None:
    """Return x and c of exp(c * x), if the exp call can multiply without loss: the product is not
    rounded before, and a scale has 8 digits.
    """
    product = op.inputs[0].owner
    if not isinstance(product, ttl.BlockMathOp) or product.ENTRY.name != "mul":
        return None
    if not bool(kernel_of(op).attributes[FP32]) or len([*op.inputs[0].uses]) > 1:
        return None
    for x, factor in (product.inputs, tuple(product.inputs)[::-1]):
        fill = factor.owner
        if isinstance(fill, ttl.FillOp) and fill.value is not None:
            scale = fill.value.value.data
            if is_scale_of_exp(scale):
                return x, scale
    return None


def _fold_scale(op: ttl.BlockMathOp, do: CompositionBuilder, x: SSAValue, scale: float) -> None:
    product = op.inputs[0].owner
    replace_by(op, do("exp_of_scaled", x, scale=scale))
    assert isinstance(product, Operation)
    erase(product)


def _is_by_reciprocal(op: ttl.BlockMathOp) -> bool:
    divisor = op.inputs[1].owner
    is_broadcast = isinstance(divisor, ttl.BlockMathOp) and divisor.ENTRY.name == "broadcast"
    return is_broadcast and BY_RECIPROCALS in kernel_of(op).attributes


def _multiply_by_reciprocal(op: ttl.BlockMathOp, do: CompositionBuilder) -> None:
    """Compute x / broadcast(d) as x * broadcast(1 / d): fewer divisions."""
    x, spread = op.inputs
    broadcast = spread.owner
    assert isinstance(broadcast, ttl.BlockMathOp)
    reciprocal = do("recip", broadcast.inputs[0])
    factor = do.make.new(
        type(broadcast), [reciprocal], spread.type, spread.name_hint, **broadcast.properties
    )
    replace_by(op, do("mul", x, factor))
    if not [*spread.uses]:
        erase(broadcast)


def _is_broadcast_of_32_bits(op: ttl.BlockMathOp) -> bool:
    """Is it a broadcast inside a tile that does not read the user's buffer of 16-bit floats?"""
    if op.ENTRY.name != "broadcast" or not inner_dims(op):
        return False
    operand = op.inputs[0]
    while is_view(operand.owner):
        operand = operand.owner.inputs[0]  # type: ignore[union-attr]
    dtype = block_type(operand.type).dtype
    is_narrow = dtype is not None and dtype.is_float and dtype != float32
    return not is_narrow or not isinstance(operand.owner, ttl.WaitOp)


def _expand_broadcast(op: ttl.BlockMathOp, api: str) -> None:
    """Replace a broadcast that the chip does not have."""
    do, result = CompositionBuilder(Maker.before(op), api), block_type(op.result.type)
    assert result.shape is not None and result.dtype is not None and op.parameters is not None
    dims = tuple(numbers_in(op.parameters.data["dims"]))
    composition = broadcast_in_parts if result.dtype.is_float else whole_broadcast
    value = composition(do, op.inputs[0], dims, result.shape)
    if value.type != op.result.type:  # in registers all float types are equal
        value = do.add("add", value.owner.operands, result, {})
    replace_by(op, value)


def _move_as_words(op: ttl.BlockMathOp, do: CompositionBuilder) -> None:
    """Convert a tile of narrow integers before an operation moves it other than by a copy."""
    type = block_type(op.result.type)
    assert type.shape is not None
    inputs, words = [do("as_int32", op.inputs[0]), *op.inputs[1:]], tensor_of(type.shape, int32)
    moved = do.make.new(
        ttl.BLOCK_MATH[op.ENTRY.name], inputs, words, op.result.name_hint, **op.properties
    )
    replace_by(op, do(f"as_{type.dtype}", moved))


def _convert_stored(store: ttl.StoreOp, api: str) -> None:
    dtype = block_type(store.view.type).dtype
    do = CompositionBuilder(Maker.before(store), api)
    if do.dtype(store.value).is_float or dtype is None or not dtype.is_float:
        return
    store.operands[0] = do("typecast", store.value, dtype=dtype)


def composition_of(
    forms: TileForms, parameters: dict[str, object], op: Operation
) -> Callable[..., SSAValue] | None:
    """Return the composition, the exact one if requested; registers of 16 bits have no f32."""
    if forms.exact is None or not parameters.pop("exact_f32", False):
        return forms.composition
    return forms.exact if bool(kernel_of(op).attributes[FP32]) else forms.composition


class CompositionBuilder:
    """Builds the operations of a composition; see semantics/ops/compositions.py."""

    def __init__(self, make: Maker, api: str):
        self.make = make
        self.api = api

    def __call__(self, name: str, *operands: SSAValue, **parameters: object) -> SSAValue:
        composition = composition_of(self.forms(name, operands[0]), parameters, self.make.origin)
        if composition is not None:
            value: SSAValue = composition(self, *operands, **parameters)
            return value
        entry = TILE_OPS[name]
        deciding = {p.name: parameters[p.name] for p in entry.parameters if p.kind.decides_types}
        result = entry.type_rule(*(block_type(operand.type) for operand in operands), **deciding)
        return self.add(name, operands, result, self.attributes(name, operands[0], parameters))

    def add(
        self,
        name: str,
        operands: tuple[SSAValue, ...],
        result: BlockType,
        parameters: dict[str, Attribute],
    ) -> SSAValue:
        assert result.shape is not None and result.dtype is not None
        properties = {"parameters": DictionaryAttr(parameters)} if parameters else {}
        type = tensor_of(result.shape, result.dtype)
        return self.make.new(ttl.BLOCK_MATH[name], operands, type, None, **properties)

    def attributes(
        self, name: str, operand: SSAValue, parameters: dict[str, Any]
    ) -> dict[str, Attribute]:
        found: dict[str, Attribute] = {}
        for parameter in TILE_OPS[name].parameters:
            if parameter.kind is ParameterKind.FLAG:
                continue
            value = parameters[parameter.name]
            if parameter.kind is ParameterKind.DIMS:
                found[parameter.name] = integers(value)
            elif parameter.kind is ParameterKind.NUMBER:
                found[parameter.name] = self.float_attribute(value, self.dtype(operand))
            elif not parameter.kind.decides_types:
                found[parameter.name] = IntegerAttr(value, i64)
        return found

    def float_attribute(self, value: float, dtype: DType) -> FloatAttr:
        """Return a number's attribute; a double holds every integer that a register can."""
        return FloatAttr(float(value), f32 if dtype.is_float else f64)

    def number(self, value: float, like: SSAValue) -> SSAValue:
        return self.filled(value, self.shape(like), self.dtype(like))

    def filled(self, value: float, shape: Shape, dtype: DType) -> SSAValue:
        number = self.float_attribute(value, dtype)
        return self.make.new(ttl.FillOp, (), tensor_of(shape, dtype), value=number)

    def at_start(self) -> CompositionBuilder:
        make = Maker.before(first_after_bindings(kernel_of(self.make.origin)), self.make.origin)
        return CompositionBuilder(make, self.api)

    def constant(self, value: SSAValue) -> float | None:
        is_fill = isinstance(value.owner, ttl.FillOp)
        return float(value.owner.value.value.data) if is_fill else None  # type: ignore[union-attr]

    def rounded(self, value: SSAValue, dtype: DType) -> SSAValue:
        result = BlockType(block_type(value.type).shape, dtype)
        return self.add("typecast", (value,), result, {})

    def dtype(self, value: SSAValue) -> DType:
        dtype = block_type(value.type).dtype
        assert dtype is not None
        return dtype

    def shape(self, value: SSAValue) -> Shape:
        return shape_of(value)

    def is_truth(self, value: SSAValue) -> bool:
        op = value.owner
        return isinstance(op, ttl.BlockMathOp) and op.ENTRY.name in TRUTHS

    def forms(self, name: str, operand: SSAValue) -> TileForms:
        forms = TILE_OPS[name].tile[self.api].of(self.dtype(operand))
        assert forms is not None, f"{name} of {self.dtype(operand)}"
        return forms
