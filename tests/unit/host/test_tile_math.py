"""Every variant of the tile loops gives the same bits."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from ttl.host.build import build_runtime
from ttl.host.toolchain import find_compiler

ROUNDINGS = range(3)
BINARY = {
    "add": 3,
    "subtract": 4,
    "multiply": 5,
    "multiply_zero_wins": 6,
    "multiply_accumulate": 7,
}


@pytest.fixture(scope="module")
def tables(cache_dir):
    library = ctypes.CDLL(str(build_runtime(find_compiler(), cache_dir)))
    found = []
    for name in ("ttl_portable_tile_math", "ttl_avx2_tile_math", "ttl_chosen_tile_math"):
        getattr(library, name).restype = ctypes.POINTER(ctypes.c_void_p)
        found.append(getattr(library, name)())
    return found


def _random(seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    values = (random.normal(size=1024) * 2.0 ** random.integers(-60, 60, 1024)).astype(np.float32)
    values[:6] = [0.0, -0.0, np.inf, -np.inf, 1e-40, -3.4e38]
    return random.permutation(values)


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _assert_alike(results: list[np.ndarray]) -> None:
    """Not-a-number may differ in its bits, never in its place."""
    for result in results[1:]:
        both_nan = np.isnan(results[0].view(np.float32)) & np.isnan(result.view(np.float32))
        np.testing.assert_array_equal(results[0][~both_nan], result[~both_nan])
        assert not both_nan.all()


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("name", BINARY)
def test_binary(tables, name, rounding):
    results = []
    for table in tables:
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int)(table[BINARY[name]])
        a, b, out = _random(1), _random(2), _random(3)
        function(_pointer(a), _pointer(b), _pointer(out), rounding)
        results.append(out.view(np.uint32))
    _assert_alike(results)


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_matmul(tables, rounding):
    """In place and from other sums, which it leaves alone."""
    results = []
    for table in tables:
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int)(table[8])
        a, b, before, out = _random(1), _random(2), _random(3), _random(4)
        function(_pointer(a), _pointer(b), _pointer(before), _pointer(out), rounding)
        np.testing.assert_array_equal(before, _random(3))
        function(_pointer(a), _pointer(b), _pointer(before), _pointer(before), rounding)
        np.testing.assert_array_equal(before, out)
        results.append(out.view(np.uint32))
    _assert_alike(results)


def test_one_nan_among_sums(tables):
    """Loses its sign, wherever it is."""
    for table in tables:
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(table[15])
        for place in range(1024):
            values = _random(1)
            expected = values.view(np.uint32).copy()
            expected[place], values.view(np.uint32)[place] = 0x7FC00000, 0xFFC00001
            function(_pointer(values))
            np.testing.assert_array_equal(values.view(np.uint32), expected)


def test_plus_zero(tables):
    for table in tables:
        values = np.array([-0.0, 0.0, -1.5, np.inf] * 256, np.float32)
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(table[10])(_pointer(values))
        bits = np.array([0.0, 0.0, -1.5, np.inf] * 256, np.float32).view(np.uint32)
        np.testing.assert_array_equal(values.view(np.uint32), bits)


def _bits_of_bfloat16(seed: int) -> np.ndarray:
    """Zeros of both signs, infinities, subnormal numbers and not-a-numbers among others."""
    bits = np.random.default_rng(seed).integers(0, 1 << 16, 1024, dtype=np.uint16)
    bits[:6] = [0, 0x8000, 0x7F80, 0xFF80, 1, 0x7FC1]
    return np.random.default_rng(seed).permutation(bits)


def _widened(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)


@pytest.mark.parametrize(("position", "is_sum"), ((11, True), (12, False)))
@pytest.mark.parametrize("other", (2, 1))
def test_sums_of_bfloat16(tables, position, is_sum, other):
    """As unpacked, without minus zeros, and then added; a number minus itself, too."""
    a, b = _bits_of_bfloat16(1), _bits_of_bfloat16(other)
    with np.errstate(all="ignore"):
        left, right = _widened(a) + np.float32(0), _widened(b) + np.float32(0)
        expected = left + right if is_sum else left - right
    for table in tables:
        out = _random(3)
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(table[position])
        function(_pointer(a), _pointer(b), _pointer(out))
        _assert_alike([expected.view(np.uint32), out.view(np.uint32)])


def test_unpacked_bfloat16(tables):
    for table in tables:
        tile, values = _bits_of_bfloat16(1), _random(3)
        ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2)(table[0])(_pointer(tile), _pointer(values))
        np.testing.assert_array_equal(values.view(np.uint32), _widened(tile).view(np.uint32))


@pytest.mark.parametrize("has_nan", (False, True))
def test_packed_bfloat16(tables, has_nan):
    """Ties go to even; a not-a-number does not become an infinity, and is quiet."""
    values = _random(1)
    values[7:11] = np.array([0x3F808000, 0x3F818000, 0x7F7FFFFF, 0x80000001], np.uint32).view("f4")
    values[11:14] = np.array(
        [0x7F800001, 0xFFC00000, 0x7FFFFFFF] if has_nan else [0, 1, 2], np.uint32
    ).view("f4")
    bits = values.view(np.uint32)
    rounded = (bits.astype(np.uint64) + 0x7FFF + (bits >> 16 & 1)) >> 16
    expected = np.where(np.isnan(values), bits >> 16 | 0x40, rounded).astype(np.uint16)
    for table in tables:
        tile = np.zeros(1024, np.uint16)
        ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2)(table[1])(_pointer(values), _pointer(tile))
        np.testing.assert_array_equal(tile, expected)


@pytest.mark.parametrize("element", ("u2", "u4"))
def test_tiles_of_rows(tables, element):
    """Two tiles side by side become pages of four faces each, and one of them goes back."""
    rows = np.arange(32 * 96, dtype=element).reshape(32, 96)
    faces = [rows[i : i + 16, j : j + 16] for k in (0, 32) for i in (0, 16) for j in (k, k + 16)]
    expected = np.concatenate([face.ravel() for face in faces])
    size = np.dtype(element).itemsize
    for table in tables:
        pages, back = np.zeros(2048, element), np.zeros_like(rows)
        to_pages = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, *[ctypes.c_uint32] * 2)
        to_rows = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32)
        load = ctypes.CFUNCTYPE(None, *to_pages)(table[13])
        load(_pointer(rows), 96 * size, _pointer(pages), 2, size)
        np.testing.assert_array_equal(pages, expected)
        ctypes.CFUNCTYPE(None, *to_rows)(table[14])(
            _pointer(pages), _pointer(back), 96 * size, size
        )
        np.testing.assert_array_equal(back[:, :32], rows[:, :32])
        assert not back[:, 32:].any()


@pytest.mark.parametrize("rounding", (0, 1))
def test_exponential(tables, rounding):
    results = []
    for table in tables:
        signature = (ctypes.c_void_p, ctypes.c_uint32, ctypes.c_float, ctypes.c_int)
        values = np.linspace(-120, 100, 1024, dtype=np.float32)
        ctypes.CFUNCTYPE(None, *signature)(table[9])(_pointer(values), 1024, 1.0, rounding)
        results.append(values.view(np.uint32))
    for result in results[1:]:
        np.testing.assert_array_equal(results[0], result)
    assert (results[0] == 0).any() and (results[0] == 0x7F800000).any()
