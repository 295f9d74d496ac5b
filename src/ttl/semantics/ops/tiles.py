"""The tile column: which calls of the chip's compute interface do an operation on tiles.

Spellings are those of device API 0.81. A number reaches the chip as the bits of a float32.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import pack

from .table import TileCall, TileForms

API = "0.81"
COMPUTE_API = "compute_kernel_api.h"
# The plain add and sub of the vector unit truncate in a 16-bit DST; the language rounds.
NEAREST = "<ckernel::DstRoundingMode::NearestEven>"


def bits(number: float) -> str:
    """As C++ text, for parameters that take a float by its bits."""
    return f"0x{int.from_bytes(pack('>f', number)):08x}u"


def all_bits(**numbers: float) -> tuple[str, ...]:
    """Every parameter, in the order of the table."""
    return tuple(bits(number) for number in numbers.values())


Encoding = Callable[..., tuple[str, ...]]


def vector(
    name: str,
    include: str = COMPUTE_API,
    *,
    init: str | None = None,
    template: str = "",
    arguments: Encoding | None = None,
    then: TileCall | None = None,
) -> dict[str, TileForms]:
    """The vector unit's `<name>_tile`, set up by `<name>_tile_init` unless it has another init."""
    call = TileCall(
        f"{name}_tile{template}",
        (init or f"{name}_tile_init") + (template if init is None else ""),
        include,
        arguments=arguments,
        then=then,
    )
    return {API: TileForms(in_dst=call)}


def binary_vector(name: str, include: str = "eltwise_binary_sfpu.h") -> dict[str, TileForms]:
    return vector(f"{name}_binary", include)


def arithmetic(name: str, template: str = NEAREST) -> dict[str, TileForms]:
    """Add, sub and mul, which the matrix unit can do too."""
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
        )
    }


def rounding(name: str, arguments: Encoding | None = None) -> dict[str, TileForms]:
    return vector(
        name, "eltwise_unary/rounding.h", init="rounding_op_tile_init", arguments=arguments
    )


FILL = TileCall("fill_tile", "fill_tile_init", "eltwise_unary/fill.h")
COPY = TileCall("copy_tile", "copy_init", "tile_move_copy.h")
DUPLICATE = TileCall("copy_dest_values", "copy_dest_values_init", "copy_dest_values.h")
