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


def test_plus_zero(tables):
    for table in tables:
        values = np.array([-0.0, 0.0, -1.5, np.inf] * 256, np.float32)
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(table[10])(_pointer(values))
        bits = np.array([0.0, 0.0, -1.5, np.inf] * 256, np.float32).view(np.uint32)
        np.testing.assert_array_equal(values.view(np.uint32), bits)


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
