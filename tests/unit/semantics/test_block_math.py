"""The native arithmetic on blocks gives the bits that numpy gives, or leaves it to numpy."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from native_modules import arithmetic
from ttl.semantics import block_math, memory
from ttl.semantics.dtypes import bfloat16, round_to
from ttl.semantics.ops import BLOCK_OPS
from ttl.semantics.ops.special_values import (
    LEAST_NORMAL,
    clear_nan_signs,
    larger,
    largest,
    narrow_product,
    smaller,
)

BF16 = ml_dtypes.bfloat16
MEANINGS: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": larger,
    "min": smaller,
    "narrow_mul": narrow_product,
}
# Shapes of two operands: alike, and one that counts for all columns, all rows or all elements.
SHAPES = (
    ((32, 64), (32, 64)),
    ((32, 64), (32, 1)),
    ((32, 1), (32, 64)),
    ((32, 64), (1, 64)),
    ((1, 64), (32, 64)),
    ((32, 64), (1, 1)),
    ((32, 64), ()),
    ((), (32, 64)),
    ((3, 32, 32), (3, 32, 1)),
    ((32, 1088), (32, 1088)),
    ((2, 1088), (2, 1)),
    ((32, 1), (32, 1)),
)
PRODUCTS = ((32, 32, 32), (64, 96, 32), (32, 288, 96), (96, 7, 64))  # rows, inner, columns
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 3.4e38, -3.4e38, 1.0039062, 1.0)


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return arithmetic(tmp_path_factory.mktemp("native"))


@pytest.fixture(params=("portable", "avx2", "avx512"))
def native(module: Any, request: pytest.FixtureRequest) -> Any:
    """With the loops of each instruction set, or of the best one below it that there is."""
    module.use_loops(request.param)
    yield module
    module.use_loops("avx512")


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


def values(shape: tuple[int, ...], seed: int, dtype: Any = np.float32) -> Any:
    """Numbers of all sizes, with special ones among them."""
    random = np.random.default_rng(seed)
    exponents = random.integers(-40, 40, shape)
    found = np.asarray(np.ldexp(random.uniform(-2, 2, shape), exponents), np.float32)
    is_special = random.random(shape) < 0.3
    chosen = np.asarray(random.choice(SPECIAL, shape), np.float32)
    return np.where(is_special, chosen, found).astype(np.float32).astype(dtype)


def bits(array: Any) -> Any:
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def same(found: Any, expected: Any) -> bool:
    expected = np.asarray(expected)
    return found.shape == expected.shape and np.array_equal(bits(found), bits(expected))


def expected_of(operation: str, a: Any, b: Any) -> Any:
    found = np.asarray(MEANINGS[operation](a, b))
    op = BLOCK_OPS[operation.removeprefix("narrow_")]
    return clear_nan_signs(found) if op.computes else found


def carried(array: Any, rounds: bool) -> Any:
    """As an expression reads a block of bfloat16, or as the value of another."""
    if array.dtype != BF16:
        return array
    wide = array.astype(np.float32)
    return wide if rounds else wide + np.float32(0)


@pytest.mark.parametrize("rounds", (False, True))
@pytest.mark.parametrize("dtypes", list(itertools.product((np.float32, BF16), repeat=2)))
@pytest.mark.parametrize("operation", MEANINGS)
def test_operations_have_numpys_bits(
    native: Any, operation: str, dtypes: tuple[Any, Any], rounds: bool
) -> None:
    for seed, shapes in enumerate(SHAPES):
        a = values(shapes[0], 2 * seed, dtypes[0])
        b = values(shapes[1], 2 * seed + 1, dtypes[1])
        found = native.binary(block_math.OPERATIONS.index(operation), a, b, rounds)
        expected = expected_of(operation, carried(a, rounds), carried(b, rounds))
        expected = round_to(expected, bfloat16) if rounds else expected
        assert found is not None and same(found, expected), shapes


def in_order(a: Any, b: Any) -> Any:
    """Each sum over k in order, in exact products of bfloat16, rounded once a step."""
    sums = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1]):
        sums = sums + a[:, k, None] * b[None, k]
    return sums


@pytest.mark.parametrize("sizes", PRODUCTS, ids=repr)
@pytest.mark.parametrize("rounds", [False, True])
@pytest.mark.parametrize("is_held", [False, True], ids=["single", "bfloat16"])
def test_products_go_over_k_in_order(native: Any, sizes: Any, rounds: bool, is_held: bool) -> None:
    rows, inner, columns = sizes
    random = np.random.default_rng(1)
    a = random.standard_normal((rows, inner)).astype(BF16)
    b = random.standard_normal((inner, columns)).astype(BF16)
    wide = a.astype(np.float32), b.astype(np.float32)
    expected = in_order(*wide)
    if rounds:
        expected = round_to(expected, bfloat16)
    operands = (a, b) if is_held else wide
    transposed = [np.asfortranarray(each) for each in wide]
    for left, right in (operands, transposed):
        found = product(native, left, right, rounds)
        assert found is None or same(found, expected)


def product(native: Any, a: Any, b: Any, rounds: bool = False) -> Any:
    """None where the instruction set has no fused sums, and there only."""
    found = native.binary(block_math.OPERATIONS.index("matmul"), a, b, rounds)
    assert (found is None) == (native.loops_in_use() == "portable")
    return found


def test_products_of_singles_round_once(native: Any) -> None:
    """Product and sum are one step: 1 - (1 - 2^-24) (1 + 2^-23) is exact, and not 0."""
    a, b = np.zeros((32, 32), np.float32), np.zeros((32, 32), np.float32)
    a[0, :2], b[:2, 0] = (1, 1 - 2**-24), (-1, 1 + 2**-23)
    found = product(native, a, b)
    if found is not None:
        assert found[0, 0] == np.float32(2**-24 - 2**-47)
        assert not found[1:].any()


def test_nan_of_a_product_has_no_sign(native: Any) -> None:
    a, b = np.ones((32, 32), np.float32), np.ones((32, 32), np.float32)
    a[3, 4] = -np.nan
    b[5, 6] = np.inf
    a[7, 5] = -np.inf
    found = product(native, a, b)
    if found is not None:
        assert same(found, clear_nan_signs(in_order(a, b)))
        assert not np.signbit(found[np.isnan(found)]).any()


def test_factors_that_are_no_tiles_are_left_to_numpy(native: Any) -> None:
    number = block_math.OPERATIONS.index("matmul")
    whole, held = np.ones((32, 32), np.float32), np.ones((32, 32), BF16)
    for a, b in (
        (whole[:31], whole),
        (whole, whole[:, :31]),
        (whole[:, :31], whole),
        (whole[0], whole),
        (whole, np.ones((64, 32), np.float32)),
        (whole.astype(np.float64), whole),
        (whole, 1.0),
        (held.T, held),
        (held, held.T),
        (whole[:, :0], whole[:0]),
        (whole, whole.astype(">f4")),
    ):
        assert native.binary(number, a, b, False) is None


def test_every_pair_of_special_values(native: Any) -> None:
    pairs = np.array(list(itertools.product(SPECIAL, repeat=2)), np.float32)
    a, b = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    for number, operation in enumerate(MEANINGS):
        assert same(native.binary(number, a, b, False), expected_of(operation, a, b)), operation


@pytest.mark.parametrize("adds_zero", (False, True))
def test_every_bfloat16_becomes_the_same_single(native: Any, adds_zero: bool) -> None:
    block = np.arange(2**16, dtype=np.uint16).view(BF16).reshape(64, 1024)
    found = np.empty(block.shape, np.float32)
    assert native.widened(block, found, adds_zero)
    assert same(found, carried(block, rounds=not adds_zero))


def test_rounding_to_bfloat16(native: Any) -> None:
    upper = np.arange(2**16, dtype=np.uint32) << 16  # every bfloat16, and its ties and neighbours
    single = np.concatenate([upper + low for low in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)])
    single = single.astype(np.uint32).view(np.float32)
    found = np.empty(single.shape, BF16)
    assert native.stored(single, found)
    assert same(found, single.astype(BF16))


def test_flush(native: Any) -> None:
    array = np.abs(values((64, 64), 5))
    expected = np.where(array < LEAST_NORMAL, np.float32(0), array)
    assert native.flushed(array) and same(array, expected)


@pytest.mark.parametrize("nan", (np.nan, -np.nan))
@pytest.mark.parametrize("shape", ((64, 33), (3, 32, 32), (1,), ()))
def test_one_nan_is_found_wherever_it_is(native: Any, shape: Any, nan: float) -> None:
    array = np.full(shape, np.inf, np.float32)
    assert native.has_nan(array) is native.has_nan(array.T) is False
    for place in {0, array.size // 2, array.size - 1}:
        one = array.copy()
        one.reshape(-1)[place] = nan
        assert native.has_nan(one) is native.has_nan(one.T) is True
        assert not np.signbit(clear_nan_signs(one)).any()
    assert native.has_nan(np.empty((0, 32), np.float32)) is False


@pytest.mark.parametrize("shape", ((32, 32), (32, 1024), (2, 32, 96), (64,)))
def test_rows(native: Any, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    finite = np.random.default_rng(3).normal(size=shape).astype(np.float32)
    with monkeypatch.context() as numpy_only:
        for name in ("_row_sum", "row_max"):
            numpy_only.setattr(block_math, name, lambda *_: None)
        for array in (values(shape, 7), finite, np.full(shape, -0.0, np.float32)):
            assert same(native.row_max(array), largest(array, (array.ndim - 1,)))
            assert same(native.row_sum(array), block_math.row_sum(array))


@pytest.mark.parametrize("dtype", (np.float32, BF16))
@pytest.mark.parametrize("shape", ((32, 32), (32, 1024), (64, 2080), (2, 32, 96)))
@pytest.mark.parametrize("name", block_math.ROW_REDUCTIONS)
def test_reduced_rows_in_tiles(
    native: Any, name: str, shape: Any, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for other in ("_row_sum", "row_max"):
        monkeypatch.setattr(block_math, other, lambda *_: None)
    zeros = np.full(shape, -0.0, np.float32).astype(dtype)
    finite = np.random.default_rng(4).normal(size=shape).astype(dtype)
    for array in (values(shape, 8, dtype), finite, zeros):
        found = native.row_reduced(block_math.ROW_REDUCTIONS.index(name), array)
        meaning = BLOCK_OPS[name].meaning
        expected = meaning(carried(array, rounds=False), np.float32(1), dims=(-1,), shape=None)
        assert same(found, expected)
    assert native.row_reduced(0, np.ones((32, 33), np.float32)) is None
    assert native.row_reduced(2, finite) is None
    assert native.row_reduced(0, finite[0, ..., 0]) is None


@pytest.mark.parametrize("dtype", (np.uint8, np.uint16, np.uint32))
def test_tiles_of_a_matrix(native: Any, dtype: Any) -> None:
    matrix = np.arange(128 * 160).astype(dtype).reshape(128, 160)
    block = np.zeros((64, 32), dtype)
    assert native.loaded(block, matrix, (2, 3))
    assert np.array_equal(block, matrix[64:128, 96:128])
    copy = np.zeros_like(matrix)
    assert native.saved(block, copy, (1, 0))
    assert np.array_equal(copy[32:96, :32], block) and np.count_nonzero(copy[96:]) == 0
    for outside in ((3, 3), (0, 5), (-1, 0)):
        assert native.loaded(block, matrix, outside) is None
        assert native.saved(block, matrix, outside) is None


def test_blocks_of_one_row_and_of_none(native: Any) -> None:
    """numpy gives a single row any stride."""
    matrix = np.arange(64 * 96, dtype=np.uint16).reshape(64, 96)
    rows = np.zeros((4, 96), np.uint16)
    single = rows[::4, :32]
    assert single.flags.c_contiguous
    native.loaded(single, matrix, (0, 1))
    assert np.array_equal(rows[0], [*matrix[0, 32:64], *[0] * 64]) and not rows[1:].any()
    native.loaded(np.zeros((32, 0), np.uint16), matrix, (0, 0))


@pytest.mark.parametrize("at_line", (True, False))
def test_tiles_of_a_matrix_that_no_cache_holds(native: Any, at_line: bool) -> None:
    """They are written past the caches if their rows are lines of them."""
    words = memory.zeros((4097, 2560), np.dtype(np.uint16))
    matrix = words.reshape(-1)[0 if at_line else 5 :][: 4096 * 2560].reshape(4096, 2560)
    block = np.arange(64 * 96, dtype=np.uint16).reshape(64, 96)
    assert matrix.nbytes > 16 * 2**20
    assert native.saved(block, matrix, (3, 70))
    assert np.array_equal(matrix[96:160, 2240:2336], block)
    matrix[96:160, 2240:2336] = 0
    assert not words.any()


@pytest.mark.parametrize("dtype", (np.uint8, np.uint16))
@pytest.mark.parametrize(
    ("shape", "starts", "sizes"),
    (
        ((9,), (3,), (4,)),
        ((6, 7), (2, 3), (3, 4)),
        ((6, 7), (5, 0), (1, 7)),
        ((3, 4, 5), (1, 0, 2), (2, 3, 3)),
        ((2, 2, 3, 4), (0, 1, 1, 1), (2, 1, 2, 3)),
    ),
)
def test_boxes_of_maps(native: Any, shape: Any, starts: Any, sizes: Any, dtype: Any) -> None:
    box = tuple(slice(start, start + size) for start, size in zip(starts, sizes, strict=True))
    found, expected = np.zeros(shape, dtype), np.zeros(shape, dtype)
    expected[box] = 200
    assert native.claimed(found, starts, sizes, 200) is True and same(found, expected)
    assert native.claimed(found, starts, sizes, 3) is False and same(found, expected)
    expected[box] = 3
    assert native.marked(found, starts, sizes, 3) is True and same(found, expected)


def test_boxes_outside_of_a_map_are_left_to_numpy(native: Any) -> None:
    units = np.zeros((4, 4), np.uint8)
    outside = (
        ((3, 3), (1, 2)),
        ((-1, 0), (1, 1)),
        ((0, 0), (0, 1)),
        ((0,), (1,)),
        ((4, 0), (1, 1)),
        (((1 << 62), 0), (1, 1)),
        ((0, 0), (1 << 62, 1)),
    )
    for function in (native.claimed, native.marked):
        for starts, sizes in outside:
            assert function(units, starts, sizes, 1) is None
        assert function(units.astype(np.uint32), (0, 0), (1, 1), 1) is None
        assert function(units.T[::2], (0, 0), (1, 1), 1) is None
        with pytest.raises(TypeError):
            function(units, (0, "0"), (1, 1), 1)
    assert not units.any()


def test_fill(native: Any) -> None:
    words = np.zeros((32, 32), np.uint16)
    assert native.filled(words, 0xFFFF) and np.all(words == 0xFFFF)
    assert native.filled(np.zeros((32, 32), np.uint32), 1) is None


def test_what_it_does_not_know_is_left_to_numpy(native: Any) -> None:
    single = np.ones((32, 32), np.float32)
    others = (
        np.ones((32, 32), np.int32),
        np.ones((32, 32), np.float16),
        single[:, ::2],
        1.0,
        np.ones(32, np.float32),
        np.ones((32, 32), np.float64),
    )
    for other in (np.int32(1), np.ones((32, 32), BF16), others[1], others[2], 1.0, others[-1]):
        assert native.has_nan(other) is None
    for other in others:
        assert native.binary(0, single, other, False) is None
        assert native.binary(0, other, single, False) is None
    assert native.stored(single, np.ones((32, 32), np.float16)) is None
    assert native.stored(single[:, :1], np.ones((32, 32), BF16)) is None
    assert native.flushed(np.float32(1)) is None
    assert native.row_sum(np.ones((2, 33), np.float32)) is None
    for empty in ((0, 32), (32, 0)):
        assert native.row_sum(np.ones(empty, np.float32)) is None
        assert native.row_max(np.ones(empty, np.float32)) is None


def test_arrays_that_cannot_be_written_stay_as_they_are(native: Any) -> None:
    single = np.ones((32, 32), np.float32)
    kept = {dtype: np.zeros((32, 32), dtype) for dtype in (BF16, np.float32, np.uint16, np.uint32)}
    for array in kept.values():
        array.flags.writeable = False
    assert native.widened(single.astype(BF16), kept[np.float32], False) is None
    assert native.stored(single, kept[BF16]) is None
    assert native.filled(kept[np.uint16], 1) is None
    assert native.loaded(kept[np.uint32], single.view(np.uint32), (0, 0)) is None
    assert native.saved(single.view(np.uint32), kept[np.uint32], (0, 0)) is None
    assert native.flushed(kept[np.float32]) is None
    assert not any(bits(array).any() for array in kept.values())


def test_arrays_that_c_cannot_read_are_left_to_numpy(native: Any) -> None:
    single = np.ones((32, 32), np.float32)
    swapped = single.astype(single.dtype.newbyteorder())
    unaligned = np.zeros(32 * 32 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(32, 32)
    for other in (swapped, unaligned):
        assert native.binary(0, single, other, False) is None
        assert native.row_sum(other) is None and native.row_max(other) is None
        assert native.flushed(other) is None and native.has_nan(other) is None


def test_mistakes_are_told(native: Any) -> None:
    words = np.zeros((32, 32), np.uint16)
    for function in (native.loaded, native.saved):
        with pytest.raises(TypeError):
            function(words, words, (0, "1"))
    with pytest.raises(TypeError):
        native.binary("add", words, words, False)
