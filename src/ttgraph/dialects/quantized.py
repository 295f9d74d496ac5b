"""Elements of quantized tensors: numbers in steps of a scale, from a zero point on.

`!quant.uniform<i8:f32:1, {0.1:3, 0.2:0}>` is stored in 8 bits, in steps of 0.1 from 3 on and of 0.2
from 0 on along dimension 1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from xdsl.dialects.builtin import ContainerType, TensorType, UnregisteredAttr, i32
from xdsl.ir import Attribute

from ttl.dialects.foreign.kept import text_of

_TEXT = re.compile(
    r"(?P<sign>u?)i(?P<bits>\d+)(?:<[^>]*>)?\s*:\s*\w+(?:\s*:\s*(?P<axis>\d+))?\s*,(?P<steps>.*)"
)


@dataclass(frozen=True, slots=True)
class Steps:
    """Scales and zero points: one for each position along an axis, or one for all."""

    scales: tuple[float, ...]
    zeros: tuple[int, ...]
    axis: int | None
    low: int
    high: int


def steps_of(type: Attribute) -> Steps | None:
    """Return the steps of a quantized tensor; raise ValueError if they cannot be read."""
    element = type.get_element_type() if isinstance(type, ContainerType) else type
    if not isinstance(element, UnregisteredAttr) or element.attr_name.data != "quant.uniform":
        return None
    found = _TEXT.fullmatch(text_of(element) or "")
    if found is None:
        raise ValueError(f"{element} is not read")
    pairs = [each.partition(":") for each in found["steps"].strip(" {}").split(",")]
    bits = int(found["bits"])
    low = 0 if found["sign"] else -(1 << bits - 1)
    return Steps(
        tuple(float(scale) for scale, _, _ in pairs),
        tuple(int(zero or 0) for _, _, zero in pairs),
        int(found["axis"]) if found["axis"] else None,
        low,
        low + (1 << bits) - 1,
    )


def stored(type: Attribute) -> Attribute:
    """Return the type that stores a quantized tensor: counts of steps, in 32 bits."""
    if not isinstance(type, TensorType) or steps_of(type) is None:
        return type
    return TensorType(i32, type.get_shape())
