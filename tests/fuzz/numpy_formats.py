"""What the element types can hold, in a few lines of numpy, written without `ttl`.

Integers wrap around. The 16 elements of a group of a block float share the exponent of the largest
one; each has a sign and a whole number of steps, of which the packer takes the nearest, of two the
one that is further from zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from property.expressions import FORMATS, Approximate

Array = np.ndarray[Any, Any]

INTEGERS = {"int32": (32, True), "uint32": (32, False), "uint16": (16, False), "uint8": (8, False)}
BLOCK_FLOATS = {"bfloat8_b": 7, "bfloat4_b": 3}  # bits of a number of steps
GROUP = 16
LARGEST_HALF = 65504.0
SMALLEST_NORMAL = 2.0**-126


def wrapped(values: Array, dtype: str) -> Array:
    """Of Python's ints."""
    bits, is_signed = INTEGERS[dtype]
    least = -(2 ** (bits - 1)) if is_signed else 0
    return (values - least) % 2**bits + least


def stored(held: Approximate, dtype: str) -> Approximate:
    """Floats on their way from registers into a buffer."""
    if dtype in BLOCK_FLOATS:
        return _in_groups(held, BLOCK_FLOATS[dtype])
    return _half(held) if dtype == "float16" else held.rounded(dtype)


def is_known(dtype: str) -> bool:
    return dtype in FORMATS or dtype in BLOCK_FLOATS or dtype == "float16"


def _half(held: Approximate) -> Approximate:
    values = held.values.astype(np.float16).astype(np.float32)
    off = held.error + 2.0**-10 * (np.abs(values) + held.error) + 2.0**-24  # the least of them
    off = np.where(held.error == 0, 0.0, off)
    far = ~(np.abs(values) + off <= LARGEST_HALF)
    return Approximate(np.where(far, np.float32(0), values), np.where(far, np.inf, off))


def _in_groups(held: Approximate, bits: int) -> Approximate:
    """Where an element of a group may be off, its exponent may be the next one."""
    values = held.values.reshape(*held.values.shape[:-1], -1, GROUP).astype(np.float64)
    error = np.broadcast_to(held.error, held.values.shape).reshape(values.shape)
    largest = np.abs(values).max(axis=-1, keepdims=True)
    is_there = largest >= SMALLEST_NORMAL
    exponent = np.frexp(np.where(is_there, largest, 1.0))[1] - 1
    step = np.where(is_there, np.ldexp(1.0, exponent - (bits - 1)), 0.0)
    steps = np.floor(np.abs(values) / np.where(is_there, step, 1.0) + 0.5)
    found = np.copysign(np.minimum(steps, 2**bits - 1) * step, values) + 0.0
    reach = (np.abs(values) + error).max(axis=-1, keepdims=True)
    widest = np.ldexp(1.0, np.frexp(np.where(np.isfinite(reach), reach, 1.0))[1] - (bits - 1))
    is_off = (error != 0).any(axis=-1, keepdims=True)
    off = np.where(is_off, np.where(np.isfinite(reach), error + widest, np.inf), 0.0)
    shape = held.values.shape
    return Approximate(found.reshape(shape).astype(np.float32), off.reshape(shape))
