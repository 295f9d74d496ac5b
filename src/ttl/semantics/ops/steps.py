"""Operations of the chip that users cannot write: steps of compositions, conversions and tile
operations in IR that others make.

They work on registers only, so they need no meaning on arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

from ..dtypes import DType, float32, int32, uint8, uint16, uint32
from ..types import BlockType, Shape
from .meanings import with_dtype
from .rules import normal_dims, same_type, unchanged, whole_shape
from .table import BlockOp, Parameter, ParameterKind, TileForms
from .tiles import (
    API,
    COMPUTE_API,
    COPY,
    INTEGERS,
    SIGNED,
    UNSIGNED,
    WRAP,
    Tiles,
    all_bits,
    bits,
    for_integers_too,
    one_call,
    vector,
    whole,
    with_integers,
)

_EXP = "eltwise_unary/exp.h"


def _meaningless(*values: object, **parameters: object) -> NoReturn:
    raise AssertionError("a step has a meaning on the chip only")


def _step(name: str, operands: int, tile: Tiles, summary: str, **columns: Any) -> BlockOp:
    rule = unchanged if operands == 1 else same_type
    columns = {"type_rule": rule, **columns}
    return BlockOp(name, operands, meaning=_meaningless, summary=summary, tile=tile, **columns)


def _with_number(name: str, call: str, include: str, init: str, summary: str) -> BlockOp:
    """Make a step on a block and a number, which keeps all digits of a float32."""
    parameter = Parameter("factor" if name == "scaled" else "value", ParameterKind.NUMBER)
    tile = vector(call, include, init=init, arguments=all_bits)
    keeps_digits = {"bound": _meaningless}  # the number is not rounded to the registers' format
    return _step(name, 1, tile, summary, parameters=(parameter,), **keeps_digits)


def _scale_of_exp(scale: float) -> tuple[str, ...]:
    """Return the scale as the bits of a bfloat16."""
    return "VectorMode::RC", f"0x{int(bits(scale)[:-1], 16) >> 16:04x}u"


def _unclamped() -> Tiles:
    call = vector("exp", _EXP, template="<true, false, InputClamping::None>")[API].in_dst
    assert call is not None
    init = "exp_tile_init<true, 0x3F800000, InputClamping::None>"
    return {API: TileForms(in_dst=replace(call, init=init))}


def _comparison(name: str, short: str, sign: str) -> BlockOp:
    call, summary = f"unary_{short}", f"1 where x {sign} value, else 0"
    return _with_number(name, call, "eltwise_unary/comp.h", f"{call}_tile_init", summary)


ZERO = {"eqz": "==", "nez": "!=", "gtz": ">", "gez": ">=", "ltz": "<", "lez": "<="}


def _with_zero(name: str, sign: str) -> BlockOp:
    return _step(name, 1, vector(name, "eltwise_unary/comp.h"), f"1 where x {sign} 0, else 0")


def _whole_step(
    name: str, operands: int, forms: Mapping[str, TileForms], summary: str, **columns: object
) -> BlockOp:
    """Make a step for integers only."""
    return _step(name, operands, with_integers({}, forms), summary, **columns)


def _as(dtype: DType) -> dict[str, Callable[..., BlockType]]:
    return {"type_rule": partial(with_dtype, dtype=dtype)}


def _conversion(name: str, source: str, target: str, dtype: DType) -> BlockOp:
    template = f"<(uint32_t)DataFormat::{source}, (uint32_t)DataFormat::{target}>"
    tile = vector("typecast", "eltwise_unary/typecast.h", template=template)
    tile = with_integers(tile, dict.fromkeys(INTEGERS, tile[API]))
    return _step(name, 1, tile, f"{source} as {target}", **_as(dtype))


def _same_bits(dtype: DType) -> BlockOp:
    forms = dict.fromkeys(INTEGERS, TileForms(is_nothing=True))
    return _whole_step(f"as_{dtype}", 1, forms, f"the bits of x as {dtype}", **_as(dtype))


def _narrow(dtype: DType) -> BlockOp:
    count = 8 * dtype.element_bytes
    forms = dict.fromkeys(INTEGERS, TileForms(in_dst=WRAP[dtype.spelling]))
    return _whole_step(f"low_{count}_bits", 1, forms, f"x modulo 2**{count}", **_as(dtype))


def _bitwise(name: str, summary: str) -> BlockOp:
    call = f"bitwise_{name}_binary"
    forms = whole(call, "binary_bitwise_sfpu.h", init="binary_bitwise_tile_init")
    return _whole_step(f"bits_{name}", 2, forms, summary)


def _inside_tiles(name: str, pool: str, dim: str, summary: str) -> BlockOp:
    """Make the vector unit's reduction of one tile; the result is where the matrix unit puts it,
    and the rest of the tile is undefined."""
    call = f"sfpu_reduce<PoolType::{pool}, DataFormat::{{format}}, ReduceDim::REDUCE_{dim}>"
    init = f"sfpu_reduce_init<PoolType::{pool}, DataFormat::{{format}}>"
    forms = one_call(INTEGERS, call, COMPUTE_API, init=init)
    return _step(name, 1, with_integers({API: forms[SIGNED]}, forms), summary)


def _of_tiles(name: str, summary: str) -> BlockOp:
    """Make a reduction over whole tiles, element by element."""
    tile = for_integers_too(TileForms(by_dims={(): COPY}))
    dims = (Parameter("dims", ParameterKind.DIMS),)
    rule = _of_tiles_type
    return _step(name, 1, tile, summary, type_rule=rule, parameters=dims, elementwise=False)


def _of_tiles_type(x: BlockType, dims: Shape) -> BlockType:
    shape = whole_shape(x, "a reduction")
    reduced = normal_dims(dims, len(shape), "a reduction")
    return BlockType(tuple(1 if d in reduced else s for d, s in enumerate(shape)), x.dtype)


def _select() -> Tiles:
    call, include = "where", "eltwise_unary/where.h"
    floats = vector(call, include, template="<DataFormat::{format}>", init="where_tile_init")
    return with_integers(floats, whole(call, include, init="where_tile_init"))


_SCALAR = "eltwise_unary/binop_with_scalar.h"

STEPS: dict[str, BlockOp] = {
    op.name: op
    for op in (
        _comparison("greater_than", "gt", ">"),
        _comparison("less_than", "lt", "<"),
        _comparison("equal_to", "eq", "=="),
        _comparison("differs_from", "ne", "!="),
        *(_with_zero(name, sign) for name, sign in ZERO.items()),
        _whole_step(
            "bitwise_not",
            1,
            one_call((SIGNED,), "bitwise_not_tile", "eltwise_unary/bitwise_not.h"),
            "the other bits",
        ),
        _step(
            "exp_of_scaled",
            1,
            vector(
                "exp",
                _EXP,
                init="exp_tile_init",
                template="<false, true>",
                arguments=_scale_of_exp,
            ),
            "e to the power of scale * x",
            parameters=(Parameter("scale", ParameterKind.NUMBER),),
        ),
        _step("quick_exp", 1, vector("exp", _EXP, template="<true>"), "nearly e to the power of x"),
        _step("quick_exp_unclamped", 1, _unclamped(), "the same, wrong below -88"),
        _with_number("scaled", "mul_unary", _SCALAR, "binop_with_scalar_tile_init", "x * factor"),
        _step("fmod", 2, vector("fmod_binary", "binary_fmod.h"), "the rest, with a's sign"),
        _step("select", 3, _select(), "a, or b where all bits of c are 0"),
        _whole_step(
            "right_shift",
            2,
            whole("binary_logical_right_shift", "binary_shift.h", init="binary_shift_tile_init"),
            "the bits of a, b places down",
        ),
        _whole_step(
            "signed_quotient",
            2,
            one_call((UNSIGNED,), "div_int32_floor_tile", "div_int32_floor.h"),
            "a // b of numbers below 2**31",
        ),
        _bitwise("and", "the bits that a and b share"),
        _bitwise("or", "the bits of a and of b"),
        _inside_tiles("sum_of_columns", "SUM", "ROW", "sums of rows, in column 0"),
        _inside_tiles("sum_of_rows", "SUM", "COL", "sums of columns, in row 0"),
        _inside_tiles("max_of_columns", "MAX", "ROW", "the largest of rows, in column 0"),
        _inside_tiles("max_of_rows", "MAX", "COL", "the largest of columns, in row 0"),
        _of_tiles("sum_of_tiles", "the sum of tiles, element by element"),
        _of_tiles("max_of_tiles", "the largest elements of tiles"),
        *map(_narrow, (uint16, uint8)),
        *map(_same_bits, (int32, uint32, uint16, uint8)),
        _conversion("float_to_int32", "Float32", "Int32", int32),
        _conversion("float_to_uint32", "Float32", "UInt32", uint32),
        _conversion("int32_to_float", "Int32", "Float32", float32),
        _conversion("uint32_to_float", "UInt32", "Float32", float32),
        _conversion("uint16_to_int32", "UInt16", "Int32", int32),
        _conversion("int32_to_uint16", "Int32", "UInt16", int32),
        _conversion("int32_to_uint8", "Int32", "UInt8", int32),
    )
}
