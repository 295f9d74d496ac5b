"""The tile column: the calls of the chip's compute interface for each operation.

Spellings are those of device API 0.81. A number reaches the chip as the bits of a float32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from struct import pack
from typing import Any

from .. import dtypes
from .table import TileCall, TileForms

API = "0.81"
COMPUTE_API = "compute_kernel_api.h"
# The plain add and sub of the vector unit truncate in a 16-bit DST; the language rounds.
NEAREST = "<ckernel::DstRoundingMode::NearestEven>"


def bits(number: float) -> str:
    """Return a float's bits as C++ text."""
    return f"0x{int.from_bytes(pack('>f', number)):08x}u"


def all_bits(**numbers: float) -> tuple[str, ...]:
    """Return every parameter's bits, in the order of the table."""
    return tuple(bits(number) for number in numbers.values())


def all_words(**numbers: float) -> tuple[str, ...]:
    """Return every integer parameter in two's complement, like all_bits() for floats."""
    return tuple(f"{int(number) % 2**32}u" for number in numbers.values())


Encoding = Callable[..., tuple[str, ...]]
Tiles = dict[str, TileForms]


def vector(
    name: str,
    include: str = COMPUTE_API,
    *,
    init: str | None = None,
    template: str = "",
    arguments: Encoding | None = None,
    then: TileCall | None = None,
) -> dict[str, TileForms]:
    """Return the vector unit's `<name>_tile`, with `<name>_tile_init` unless `init` is given."""
    call = TileCall(
        f"{name}_tile{template}",
        (init or f"{name}_tile_init") + (template if init is None else ""),
        include,
        arguments=arguments,
        then=then,
    )
    return {API: TileForms(in_dst=call)}


def binary_vector(name: str) -> dict[str, TileForms]:
    return vector(f"{name}_binary", "eltwise_binary_sfpu.h")


def arithmetic(name: str, template: str = NEAREST) -> dict[str, TileForms]:
    """Return the forms of add, sub and mul, which the matrix unit can do too."""
    reuse = "EltwiseBinaryReuseDestType"
    return {
        API: TileForms(
            from_buffers=TileCall(
                f"{name}_tiles",
                f"{name}_init",
                "eltwise_binary.h",
                accumulates=name == "mul",
            ),
            in_dst=TileCall(
                f"{name}_binary_tile{template}",
                f"{name}_binary_tile_init",
                "eltwise_binary_sfpu.h",
            ),
            left_in_dst=TileCall(
                f"{name}_reuse_dest_tiles<{reuse}::DEST_TO_SRCA>",
                f"{name}_reuse_dest_init<{reuse}::DEST_TO_SRCA>",
                "eltwise_binary.h",
            ),
            right_in_dst=TileCall(
                f"{name}_reuse_dest_tiles<{reuse}::DEST_TO_SRCB>",
                f"{name}_reuse_dest_init<{reuse}::DEST_TO_SRCB>",
                "eltwise_binary.h",
            ),
            with_broadcast={
                dims: TileCall(
                    f"{name}_tiles_bcast_{form}",
                    f"{name}_bcast_{form}_init",
                    "bcast.h",
                    accumulates=name == "mul",
                )
                for dims, form in (((-1,), "cols"), ((-2,), "rows"), ((-2, -1), "scalar"))
            },
        )
    }


def rounding(name: str, arguments: Encoding | None = None) -> dict[str, TileForms]:
    return vector(
        name, "eltwise_unary/rounding.h", init="rounding_op_tile_init", arguments=arguments
    )


# Integers -----------------------------------------------------------------------------------------

# A uint16 or uint8 is an int32 in a register, so arithmetic must drop its upper bits.
SIGNED, UNSIGNED = "int32", "uint32"
NARROW = tuple(dtype.spelling for dtype in dtypes.NARROW)
REGISTER_FORMATS = {SIGNED: "Int32", UNSIGNED: "UInt32"} | dict.fromkeys(NARROW, "Int32")
INTEGERS = tuple(REGISTER_FORMATS)


def low_bits(count: int) -> TileCall:
    """Return the call that keeps the bits of a narrow integer."""
    return TileCall(
        "bitwise_and_tile<DataFormat::{format}>",
        "bitwise_and_tile_init",
        "eltwise_unary/bitwise.h",
        arguments=lambda: (f"{2**count - 1}u",),
    )


WRAP = {dtype.spelling: low_bits(count) for dtype, count in dtypes.NARROW.items()}


def composed(composition: Callable[..., object]) -> Tiles:
    return {API: TileForms(composition=composition)}


def with_integers(floats: Mapping[str, TileForms], *groups: Mapping[str, TileForms]) -> Tiles:
    """Return a tile column with forms for floats, and for integers by element type."""
    forms = floats.get(API, TileForms())
    return {API: replace(forms, integers={k: v for group in groups for k, v in group.items()})}


def for_integers_too(forms: TileForms) -> Tiles:
    """Return the tile column of an operation that only moves elements, of any type."""
    return {API: replace(forms, integers=dict.fromkeys(REGISTER_FORMATS, forms))}


def whole(
    name: str, include: str, *, init: str | None = None, wraps: bool = False, **columns: Any
) -> dict[str, TileForms]:
    """Return the forms of a call with the data format as its template, for all integers."""
    call = TileCall(
        f"{name}_tile<DataFormat::{{format}}>", init or f"{name}_tile_init", include, **columns
    )
    found = dict.fromkeys(INTEGERS, TileForms(in_dst=call))
    for dtype in NARROW if wraps else ():
        found[dtype] = TileForms(in_dst=replace(call, then=WRAP[dtype]))
    return found


def one_call(
    dtypes: tuple[str, ...], call: str, include: str, *, init: str | None = None, **columns: Any
) -> dict[str, TileForms]:
    forms = TileForms(in_dst=TileCall(call, init or f"{call}_init", include, **columns))
    return dict.fromkeys(dtypes, forms)


def whole_composed(
    composition: Callable[..., object], dtypes: tuple[str, ...] = INTEGERS
) -> dict[str, TileForms]:
    return dict.fromkeys(dtypes, TileForms(composition=composition))


NOT_NEGATIVE = (UNSIGNED, *NARROW)
UNCHANGED = dict.fromkeys(NOT_NEGATIVE, TileForms(is_nothing=True))

FILL_WHOLE = TileCall(
    "fill_tile_int<DataFormat::{format}>", "fill_tile_init", "eltwise_unary/fill.h"
)
FILL = TileCall("fill_tile", "fill_tile_init", "eltwise_unary/fill.h")
COPY = TileCall("copy_tile", "copy_init", "tile_move_copy.h")
DUPLICATE = TileCall("copy_dest_values", "copy_dest_values_init", "copy_dest_values.h")
