"""Element types: sizes, rounding, wrap-around, and block floats bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

from ttl.artifact import PAGE_BYTES
from ttl.semantics.dtypes import (
    DTYPES,
    DType,
    bfloat4_b,
    bfloat8_b,
    bfloat16,
    can_hold,
    float16,
    float32,
    int32,
    round_to,
    uint8,
    uint16,
    uint32,
)
from ttl.semantics.kernel_config import dest_dtype, needs_fp32_dest

INF, NAN = np.inf, np.nan


def rounded(values: object, dtype: DType) -> list[float]:
    with np.errstate(all="ignore"):
        return round_to(np.array(values), dtype).tolist()


def group(*values: float) -> np.ndarray:
    """16 elements that share an exponent, the others zero."""
    return np.array([*values, *[0.0] * (16 - len(values))], np.float32)


# Sizes


@pytest.mark.parametrize(
    ("dtype", "tile_bytes"),
    [
        (bfloat16, 2048),
        (float16, 2048),
        (float32, 4096),
        (bfloat8_b, 1088),
        (bfloat4_b, 576),
        (int32, 4096),
        (uint32, 4096),
        (uint16, 2048),
        (uint8, 1024),
    ],
)
def test_the_bytes_of_a_tile(dtype: DType, tile_bytes: int) -> None:
    assert dtype.tile_bytes == tile_bytes
    assert dtype.to_bytes(np.zeros((3, 1024), dtype.carrier)).shape == (3, tile_bytes)


def test_artifacts_and_element_types_have_the_same_formats() -> None:
    assert {dtype.data_format: dtype.tile_bytes for dtype in DTYPES.values()} == PAGE_BYTES


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_pages_are_read_back(dtype: DType) -> None:
    values = np.random.default_rng(0).normal(0, 40, (2, 1024)) ** 2
    held = round_to(values, dtype)
    assert held.dtype == dtype.carrier
    assert np.array_equal(dtype.from_bytes(dtype.to_bytes(held)), held)
    assert np.array_equal(round_to(held, dtype), held)


# Rounding


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2049.0, 2048.0),  # halfway: to even, down
        (2051.0, 2052.0),  # halfway: to even, up
        (65519.0, 65504.0),  # the largest
        (65520.0, INF),
        (2.0**-25, 0.0),  # half of the least denormal
        (1.5 * 2.0**-24, 2.0**-23),  # denormals round too
    ],
)
def test_float16(value: float, expected: float) -> None:
    assert rounded([value], float16) == [expected]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-7),  # f32 would make a tie of it
        (1 + 2.0**-8 - 2.0**-40, 1.0),
        ((1 << 30) + (1 << 22) + 1, (1 << 30) + (1 << 23)),
        (3, 3.0),
    ],
)
def test_doubles_and_integers_are_rounded_once(value: float, expected: float) -> None:
    assert rounded([value], bfloat16) == [expected]


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        (int32, 2**31, -(2**31)),
        (int32, -(2**31) - 1, 2**31 - 1),
        (uint32, -1, 2**32 - 1),
        (uint32, 2**32 + 5, 5),
        (uint32, (2**32 - 1) * 2, 2**32 - 2),
        (uint16, 65536 + 7, 7),
        (uint16, -2, 65534),
        (uint8, 300, 44),
        (uint8, -1, 255),
    ],
)
def test_integers_wrap_around(dtype: DType, value: int, expected: int) -> None:
    assert rounded([value], dtype) == [expected]


def test_products_of_uint32_are_right_before_they_wrap() -> None:
    largest = round_to(np.array([2**32 - 1, 2**31 + 3]), uint32)
    product = round_to(largest * largest, uint32)
    assert product.tolist() == [1, (2**31 + 3) ** 2 % 2**32]


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        (int32, 2.9, 2),
        (int32, -2.9, -2),
        (int32, 1e20, 2**31 - 1),
        (int32, -INF, -(2**31)),
        (uint8, 255.7, 255),
        (uint8, -3.0, 0),
        (uint32, 4294967040.0, 4294967040),
        (uint16, NAN, 0),
    ],
)
def test_floats_lose_their_fraction_and_saturate(dtype: DType, value: float, expected: int) -> None:
    assert rounded(np.array([value], np.float32), dtype) == [expected]


# Block floats


@pytest.mark.parametrize(
    ("dtype", "values", "expected"),
    [
        # 1.0 has its one at the top of 7 (3) bits: steps of 2**-6 (2**-2)
        (bfloat8_b, (1.0, 0.015625, 0.01), (1.0, 0.015625, 0.015625)),
        (bfloat8_b, (1.0, 0.0078125), (1.0, 0.0)),  # half a step: to even, down
        (bfloat8_b, (1.0, 0.0234375), (1.0, 0.03125)),  # one and a half: to even, up
        (bfloat8_b, (1.999,), (1.984375,)),  # 127 steps, not 128: the exponent is chosen before
        (bfloat8_b, (-3.0, 0.03125, 0.01), (-3.0, 0.03125, 0.0)),
        (bfloat4_b, (1.0, 0.25, 0.125, 0.375), (1.0, 0.25, 0.0, 0.5)),
        (bfloat4_b, (1.99, -0.3), (1.75, -0.25)),
        (bfloat4_b, (7.0, 3.0, 0.4), (7.0, 3.0, 0.0)),
        (bfloat8_b, (INF, 1.0, -INF), (INF, 0.0, -INF)),  # exponent 255 is too far from 1.0
        (bfloat8_b, (2.0**-126, 2.0**-132), (2.0**-126, 2.0**-132)),
        (bfloat8_b, (2.0**-127,), (0.0,)),  # below the least exponent
    ],
)
def test_a_group_shares_the_largest_exponent(
    dtype: DType, values: tuple[float, ...], expected: tuple[float, ...]
) -> None:
    assert rounded(group(*values), dtype)[: len(expected)] == list(expected)


def test_groups_do_not_share_with_each_other() -> None:
    """A large element spoils the small ones of its own 16 and no others."""
    row = np.full(32, 0.01, np.float32)
    row[15] = 1000.0
    held = round_to(row, bfloat8_b)
    assert held[:15].tolist() == [0.0] * 15
    assert np.allclose(held[16:], 0.01, rtol=2**-7)
    assert np.array_equal(round_to(np.stack([row, row]), bfloat8_b)[1], held)


def test_elements_behind_the_end_of_a_row_count_as_zeros() -> None:
    short = np.array([[3.3, 0.1, 5.0]] * 2, np.float32)
    padded = np.pad(short, [(0, 0), (0, 13)])
    assert np.array_equal(round_to(short, bfloat4_b), round_to(padded, bfloat4_b)[:, :3])
    assert round_to(np.array(3.3, np.float32), bfloat4_b).shape == ()


def test_there_is_no_negative_zero() -> None:
    assert not np.signbit(round_to(group(1.0, -0.001, -0.0), bfloat8_b)).any()


def test_nan_stays() -> None:
    held = round_to(group(NAN, 1.0), bfloat4_b)
    assert np.isnan(held[0]) and held[1] == 0.0


@pytest.mark.parametrize(
    ("dtype", "values", "exponent", "codes"),
    [
        # sign, then 7 bits; 2.0 is 64 steps of 2**-5
        (bfloat8_b, (2.0, -1.0, 0.03125), 128, [0x40, 0x80 | 0x20, 0x01]),
        # two to a byte, the first in the low half; 2.0 is 4 steps of 0.5
        (bfloat4_b, (2.0, -1.0, 0.5, 3.5), 128, [0xA4, 0x71]),
        (bfloat8_b, (INF, -INF), 255, [0x40, 0xC0]),
        (bfloat8_b, (NAN,), 255, [0x60]),
    ],
)
def test_the_bytes_of_a_group(
    dtype: DType, values: tuple[float, ...], exponent: int, codes: list[int]
) -> None:
    tile = np.zeros((1, 1024), np.float32)
    tile[0, 32 : 32 + len(values)] = values  # the third group
    page = dtype.to_bytes(tile)[0]
    assert page[:64].nonzero()[0].tolist() == [2]
    assert page[2] == exponent
    start = 64 + (32 if dtype is bfloat8_b else 16)
    assert page[start : start + len(codes)].tolist() == codes
    assert np.count_nonzero(page[64:]) == len(codes)
    assert np.array_equal(dtype.from_bytes(page[np.newaxis]), tile, equal_nan=True)


# Memory that nobody has written


def test_poison_is_not_a_number_or_a_pattern_of_bytes() -> None:
    for dtype in DTYPES.values():
        poison = np.full((1, 1024), dtype.poison, dtype.carrier)
        if dtype.is_float:
            assert np.isnan(poison).all()
        else:
            assert set(dtype.to_bytes(poison).ravel()) == {0xA5}
            assert np.array_equal(round_to(poison, dtype), poison)


# DST


@pytest.mark.parametrize(
    ("explicit", "dtypes", "expected"),
    [
        (None, [bfloat16], bfloat16),
        (None, [float16], float32),
        (None, [bfloat8_b], bfloat16),
        (None, [float16, bfloat16], float32),
        (None, [float16, bfloat4_b], float32),
        (None, [float16, uint16], float32),
        (None, [bfloat16, int32], float32),
        (None, [uint32], float32),
        (None, [uint8], float32),
        (False, [float32], bfloat16),
        (False, [float16, float32], float16),
        (False, [float16, bfloat16], bfloat16),
        (True, [float16], float32),
    ],
)
def test_the_format_of_dst(explicit: bool | None, dtypes: list[DType], expected: DType) -> None:
    assert dest_dtype(needs_fp32_dest(explicit, (), dtypes), dtypes) is expected


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
@pytest.mark.parametrize("dest", [bfloat16, float16, float32], ids=str)
def test_can_hold_says_whether_rounding_changes_anything(dest: DType, dtype: DType) -> None:
    if dtype.is_float:
        values = np.random.default_rng(0).normal(0, 1, 4096) * 2.0 ** np.repeat(range(-64, 64), 32)
        with np.errstate(all="ignore"):
            held = round_to(values.astype(np.float32), dtype)
            assert can_hold(dest, dtype) == np.array_equal(round_to(held, dest), held)
