"""Block floats: 16 elements of a face row share one exponent, each has a sign and a mantissa.

The rules of the format:
A  the shared exponent is the largest of the group's f32 exponents;
B  a mantissa has no hidden bit: the largest element's first one is stored, the others shift down;
C  mantissas round to the nearest and do not overflow into the exponent: the largest one stays. The
   chip's packer rounds ties away from zero, as it does to bfloat16 (measured there; of block floats
   only that results are off by one step at most); on the host they go to even;
D  no negative zero; elements too small for an f32 exponent of their own are zero;
E  the shared exponent 255 stands for infinity and NaN, as in f32.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

GROUP = 16

Floats = NDArray[np.float32]


def quantise(values: Floats, mantissa_bits: int, by_packer: bool = False) -> Floats:
    """Round values to the nearest that the format can hold, with the packer's or the host's ties.

    Groups of 16 lie along the last axis. If it ends within a group, the missing elements count as
    zeros.
    """
    groups = _groups(values)
    exponents = _shared_exponents(groups)
    steps = _mantissas(groups, exponents, mantissa_bits, by_packer)
    scale = _step_exponent(exponents, mantissa_bits)
    with np.errstate(over="ignore"):
        held = np.where(np.isfinite(groups), np.ldexp(steps, scale), groups)  # rule E
    return held.reshape(*values.shape[:-1], -1)[..., : _last(values)].reshape(values.shape)


def pack(values: Floats, mantissa_bits: int) -> NDArray[np.uint8]:
    """Return the bytes of tiles: exponents first, then mantissas.

    `values` has a row for each tile, in chip order, already quantised. Two short mantissas share a
    byte, the first in its low half.
    """
    tiles = len(values)
    groups = np.ascontiguousarray(values, np.float32).reshape(tiles, -1, GROUP)
    exponents = _shared_exponents(groups)
    steps = np.abs(_mantissas(groups, exponents, mantissa_bits))
    top = 1 << (mantissa_bits - 1)
    steps = np.where(np.isinf(groups), top, np.where(np.isnan(groups), top | top >> 1, steps))
    signs = np.signbit(groups) & (steps != 0)
    codes = (steps.astype(np.uint8) | (signs << mantissa_bits).astype(np.uint8)).reshape(tiles, -1)
    if mantissa_bits == 3:
        codes = codes[:, ::2] | codes[:, 1::2] << 4
    return np.hstack([exponents.astype(np.uint8).reshape(tiles, -1), codes])


def unpack(pages: NDArray[np.uint8], mantissa_bits: int, elements: int) -> Floats:
    """Reverse pack(): return a row of `elements` values for each page."""
    exponents, codes = np.split(pages, [elements // GROUP], axis=1)
    if mantissa_bits == 3:
        codes = np.stack([codes & 15, codes >> 4], axis=2).reshape(len(pages), -1)
    mask = (1 << mantissa_bits) - 1
    steps = (codes & mask).astype(np.float32).reshape(len(pages), -1, GROUP)
    shared = exponents.astype(np.int32)[..., np.newaxis]
    with np.errstate(over="ignore"):
        values = np.ldexp(steps, _step_exponent(shared, mantissa_bits))
    top = 1 << (mantissa_bits - 1)
    values = np.where((shared == 255) & (steps > top), np.float32(np.nan), values)  # rule E
    signed = np.where(codes.reshape(values.shape) > mask, -values, values)
    return signed.reshape(len(pages), -1)


def _last(values: Floats) -> int:
    return values.shape[-1] if values.ndim else 1


def _groups(values: Floats) -> Floats:
    """Reshape to (.., group, element of the group), the last group filled with zeros."""
    rows = values.astype(np.float32, copy=False).reshape(*values.shape[:-1], _last(values))
    missing = -_last(values) % GROUP
    if missing:
        rows = np.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, missing)])
    return np.ascontiguousarray(rows).reshape(*rows.shape[:-1], -1, GROUP)


def _shared_exponents(groups: Floats) -> NDArray[np.int32]:
    exponents: NDArray[np.int32] = groups.view(np.int32) >> 23 & 255
    largest: NDArray[np.int32] = exponents.max(axis=-1, keepdims=True)  # rule A
    return largest


def _step_exponent(shared: NDArray[np.int32], mantissa_bits: int) -> NDArray[np.int32]:
    """Return the power of two that a mantissa of 1 stands for."""
    return shared - 127 - (mantissa_bits - 1)


def _away_from_zero(values: Floats) -> Floats:
    """Round to whole numbers, ties away from zero, without an addition that could round."""
    whole = np.trunc(values)
    nearest: Floats = whole + np.copysign(np.float32(1), values) * (np.abs(values - whole) >= 0.5)
    return nearest


def _mantissas(
    groups: Floats, exponents: NDArray[np.int32], mantissa_bits: int, by_packer: bool = False
) -> Floats:
    """Return the signed mantissas as whole numbers; undefined for infinities and NaN."""
    with np.errstate(invalid="ignore"):
        exact = np.ldexp(groups, -_step_exponent(exponents, mantissa_bits))
        steps = _away_from_zero(exact) if by_packer else np.rint(exact)
    largest = (1 << mantissa_bits) - 1
    clipped = np.clip(steps, -largest, largest)  # rule C
    return np.where(exponents == 0, np.float32(0), clipped) + np.float32(0)  # rule D
