"""Reductions, broadcasts, transposition, fills: which elements go where, and every signature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ttl
from block_runs import run
from ttl import ttnn
from ttl.diagnostics import KernelFault

m = ttl.math
A = np.arange(64 * 96, dtype=np.float32).reshape(64, 96) % 251 - 100
BATCH = np.arange(2 * 32 * 64, dtype=np.float32).reshape(2, 32, 64) % 127 - 50
SCALER = np.full((32, 32), 77, np.float32)
SCALER[0, 0] = 3


def placed(values: np.ndarray, *shape: int) -> np.ndarray:
    """The values at the edge of tiles that are zero elsewhere."""
    tiles = np.zeros(shape, np.float32)
    tiles[tuple(slice(0, size) for size in values.shape)] = values
    return tiles


REDUCED = {
    -1: placed(A.sum(1, keepdims=True), 64, 32),
    -2: placed(A.sum(0, keepdims=True), 32, 96),
}
BOTH = placed(A.sum(keepdims=True), 32, 32)


@pytest.mark.parametrize("dim", [-1, -2])
@pytest.mark.parametrize(
    "call",
    [
        lambda x, dim: m.reduce_sum(x, 1, [dim]),
        lambda x, dim: m.reduce_sum(x, dims=[dim]),
        lambda x, dim: m.reduce_sum(x, dims=dim + 2),
        lambda x, dim: m.reduce_sum(x, [dim]),
        lambda x, dim: m.reduce_sum(x, dims=(dim,), shape=(2, 1) if dim == -1 else (1, 3)),
        lambda x, dim: m.reduce_sum(x, [dim], (2, 1) if dim == -1 else (1, 3)),
        lambda x, dim: m.reduce_sum(x, scaler=1, dims=[dim]),
    ],
)
def test_reduce_leaves_its_result_in_column_or_row_0(call: Any, dim: int) -> None:
    expected = REDUCED[dim]
    found = run(lambda x: call(x, dim), A, out_shape=expected.shape)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dims", [[-1, -2], [0, 1], (1, -2)])
def test_reduce_over_both_leaves_element_0_0(dims: Any) -> None:
    found = run(lambda x: m.reduce_sum(x, 1, dims), A, out_shape=(32, 32))
    np.testing.assert_array_equal(found, BOTH)


def test_reduce_max_of_negative_numbers_is_zero_outside_its_column() -> None:
    found = run(lambda x: m.reduce_max(x, dims=[-1]), A - 500, out_shape=(64, 32))
    np.testing.assert_array_equal(found, placed((A - 500).max(1, keepdims=True), 64, 32))


@pytest.mark.parametrize("dims", [[-1], [-2], [-1, -2]])
@pytest.mark.parametrize("reduce", ["reduce_sum", "reduce_max"])
def test_a_scaler_is_applied_once(reduce: str, dims: list[int]) -> None:
    numpy_reduce = {"reduce_sum": np.sum, "reduce_max": np.max}[reduce]
    values = 3 * numpy_reduce(A, axis=tuple(dims), keepdims=True)
    shape = (32 if -2 in dims else 64, 32 if -1 in dims else 96)
    expected = placed(values, *shape)
    number = run(lambda x: getattr(m, reduce)(x, 3, dims), A, out_shape=shape)
    block = run(lambda x, s: getattr(m, reduce)(x, s, dims), A, SCALER, out_shape=shape)
    np.testing.assert_array_equal(number, expected)
    np.testing.assert_array_equal(block, expected)


def test_reduce_over_a_leading_dimension() -> None:
    found = run(lambda x: m.reduce_sum(x, dims=[0]), BATCH, out_shape=(1, 32, 64))
    np.testing.assert_array_equal(found, BATCH.sum(0, keepdims=True))
    found = run(lambda x: m.reduce_max(x, dims=[0, 2]), BATCH, out_shape=(1, 32, 32))
    np.testing.assert_array_equal(found, placed(BATCH.max((0, 2), keepdims=True), 1, 32, 32))


def test_reduce_of_integers() -> None:
    whole = A.astype(np.int64)
    found = run(lambda x: m.reduce_sum(x, 2, [-1]), whole, dtype=ttnn.int32, out_shape=(64, 32))
    np.testing.assert_array_equal(found[:, 0], 2 * whole.sum(1))


COLUMN, ROW, CORNER = A[:, :32], A[:32, :], A[:32, :32]


@pytest.mark.parametrize(
    "call",
    [
        lambda x, a: a + m.broadcast(x, dims=[-1], shape=(2, 3)),
        lambda x, a: a + m.broadcast(x, [1], (2, 3)),
        lambda x, a: a + m.broadcast(x, a, [-1]),
        lambda x, a: a + m.broadcast(x, a, dims=-1),
        lambda x, a: a + m.broadcast(x, out_blk=a, dims=[-1]),
        lambda x, a: a + ttl.block.broadcast(x, dims=[-1]),
        lambda x, a: m.broadcast(x, dims=[-1]) + a,
        lambda x, a: m.abs(-m.broadcast(x, [-1])) * m.sign(m.broadcast(x, [-1])) + a,
    ],
)
def test_broadcast_of_column_0(call: Any) -> None:
    found = run(call, COLUMN, A, out_shape=(64, 96))
    np.testing.assert_array_equal(found, A + A[:, :1])


def test_broadcast_takes_its_shape_from_a_store() -> None:
    found = run(lambda x: m.broadcast(x, dims=[-2]), ROW, out_shape=(128, 96))
    np.testing.assert_array_equal(found, np.repeat(A[:1], 128, 0))
    found = run(lambda x: m.broadcast(x, dims=[-1, -2]), CORNER, out_shape=(64, 64))
    np.testing.assert_array_equal(found, np.full((64, 64), A[0, 0]))


def test_broadcasts_of_a_row_and_a_column_meet() -> None:
    found = run(
        lambda x, y: m.broadcast(x, dims=[-1]) * m.broadcast(y, dims=[-2]),
        COLUMN,
        ROW,
        out_shape=(64, 96),
    )
    np.testing.assert_array_equal(found, A[:, :1] * A[:1])


def test_broadcast_of_a_leading_dimension() -> None:
    found = run(lambda x: m.broadcast(x, dims=[0]), BATCH[:1], out_shape=(2, 32, 64))
    np.testing.assert_array_equal(found, np.repeat(BATCH[:1], 2, 0))


def test_broadcast_is_the_inverse_of_where_reduce_leaves_its_result() -> None:
    def normalised(x: Any) -> Any:
        return x - m.broadcast(m.reduce_max(x, dims=[-1]), dims=[-1])

    np.testing.assert_array_equal(run(normalised, A), A - A.max(1, keepdims=True))


def test_a_broadcast_can_be_reduced_multiplied_and_transposed() -> None:
    """Where all elements matter, all are there."""

    def expression(x: Any, w: Any) -> Any:
        wide = m.broadcast(x, dims=[-1], shape=(2, 3))
        return m.reduce_sum(wide, dims=[-1]) + m.broadcast(wide @ w, dims=[1], shape=(2, 1))

    found = run(expression, COLUMN, np.ones((96, 32), np.float32), out_shape=(64, 32))
    np.testing.assert_array_equal(found[:, 0], 2 * 96 * A[:, 0])
    np.testing.assert_array_equal(found[:, 1], 96 * A[:, 0])
    found = run(lambda x: m.transpose(m.broadcast(x, [-1], (2, 3))), COLUMN, out_shape=(96, 64))
    np.testing.assert_array_equal(found, np.repeat(A[:, :1].T, 96, 0))


@pytest.mark.parametrize("call", [m.transpose, ttl.block.transpose])
def test_transpose(call: Any) -> None:
    np.testing.assert_array_equal(run(call, A, out_shape=(96, 64)), A.T)


def test_squeeze_and_unsqueeze() -> None:
    np.testing.assert_array_equal(run(lambda x: m.squeeze(x, 0), A[None], out_shape=A.shape), A)
    found = run(lambda x: ttl.block.unsqueeze(x, dim=0), A, out_shape=(1, 64, 96))
    np.testing.assert_array_equal(found, A[None])
    found = run(lambda x: m.unsqueeze(x, 1), BATCH, out_shape=(2, 1, 32, 64))
    np.testing.assert_array_equal(found, BATCH[:, None])
    found = run(lambda x: m.squeeze(x, [0, 1]), A[None, None], out_shape=A.shape)
    np.testing.assert_array_equal(found, A)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x + m.fill(2.5),
        lambda x: x + m.fill(2.5, shape=(2, 3)),
        lambda x: x + ttl.block.fill(value=2.5, shape=[2, 3]),
        lambda x: x + m.fill(x, 2.5),
        lambda x: x + m.fill(out_blk=x, value=2.5),
        lambda x: x + m.exp(m.fill(0)) + (m.fill(1) + 0.5),
        lambda x: x + m.squeeze(m.fill(2.5), 0),
        lambda x: x + m.broadcast(m.fill(2.5, shape=(2, 1)), [-1]),
        lambda x: m.squeeze(m.unsqueeze(x, 0) + m.unsqueeze(m.fill(2.5), 0), 0),
    ],
)
def test_fill(call: Any) -> None:
    np.testing.assert_array_equal(run(call, A), A + 2.5)


def test_masks_and_where_in_both_namespaces() -> None:
    for space in (ttl.math, ttl.block):
        np.testing.assert_array_equal(run(lambda x: space.mask(x, x > 0), A), np.minimum(A, 0))  # noqa: B023
        found = run(lambda x: space.mask_posinf(x, x > 0), A)  # noqa: B023
        np.testing.assert_array_equal(found, np.where(A > 0, np.inf, A))
        found = run(lambda x: space.where(x > 0, x, m.fill(7)), A)  # noqa: B023
        np.testing.assert_array_equal(found, np.where(A > 0, A, 7))


# What is refused


def report(expression: Callable[..., Any], *arrays: np.ndarray, **options: Any) -> str:
    with pytest.raises(KernelFault) as caught:
        run(expression, *arrays, **options)
    return str(caught.value)


FLOATS = {
    "arity of a function": (lambda x: m.exp(x, x), "TTL1003", "takes 1 argument, not 2"),
    "missing": (lambda x: m.relu_max(x), "TTL1003", "ttl.math.relu_max(x, upper)"),
    "unknown keyword": (lambda x: m.clamp(x, lower=1, upper=2), "TTL1003", "no argument `lower`"),
    "twice": (lambda x: m.relu_max(x, 1, upper=2), "TTL1003", "two values for `upper`"),
    "text": (lambda x: m.relu_max(x, "1"), "TTL1003", "takes a number as `upper`, not '1'"),
    "bool parameter": (lambda x: m.relu_max(x, True), "TTL1003", "not True"),
    "bool operand": (lambda x: x * True, "TTL1003", "write 1: a bool"),
    "block parameter": (lambda x: m.relu_max(x, x), "TTL1003", "not a block"),
    "number alone": (lambda x: m.exp(1), "TTL1003", "write ttl.math.fill(1)"),
    "numbers alone": (lambda x: m.max(1, 2), "TTL1003", "not on 1"),
    "number in a product": (lambda x: x @ 2, "TTL1003", "write ttl.math.fill(2)"),
    "number in where": (lambda x: m.where(x, 1, x), "TTL1003", "write ttl.math.fill(1)"),
    "negative power": (lambda x: x**-1, "TTL1003", "a natural number as `n`, not -1"),
    "fractional power": (lambda x: x**0.5, "TTL1003", "ttl.math.pow(x, n)"),
    "dtype": (lambda x: m.typecast(x, "int32"), "TTL1003", "an element type"),
    "truth value": (lambda x: x if x > 0 else -x, "TTL1042", "ttl.math.where(c, a, b)"),
    "chain": (lambda x: 0 < x < 1, "TTL1042", "ttl.math.where(c, a, b)"),
    "no dims": (lambda x: m.reduce_sum(x, 1), "TTL1003", "needs `dims`"),
    "empty dims": (lambda x: m.reduce_sum(x, dims=[]), "TTL1003", "as `dims`, not []"),
    "dims too large": (lambda x: m.reduce_sum(x, dims=[2]), "TTL1003", "from -2 to 1"),
    "dims of a row": (
        lambda x: m.reduce_sum(m.fill(1, shape=(2,)), dims=[-2]),
        "TTL1003",
        "of a block of 1 dimension: it has no dimension -2, only those from -1 to 0",
    ),
    "dims twice": (lambda x: m.reduce_sum(x, dims=[1, -1]), "TTL1003", "has one of them twice"),
    "reduce shape": (lambda x: m.reduce_sum(x, dims=[1], shape=(1, 3)), "TTL2001", "(2, 1)"),
    "scaler shape": (lambda x: m.reduce_sum(x, x, [1]), "TTL2001", "of shape (1, 1)"),
    "broadcast of 3": (lambda x: m.broadcast(x, [-1], (2, 3)), "TTL2001", "of size 1"),
    "fill shape": (lambda x: x + m.fill(1, shape=(2, 0)), "TTL1003", "a shape such as"),
    "fill of two": (lambda x: m.fill(1, 2, 3), "TTL1003", "ttl.math.fill(out_blk, value)"),
    "out_blk no block": (
        lambda x: m.broadcast(x, x + x, (0,)),
        "TTL1003",
        "as `shape`, not a block",
    ),
    "different shapes": (lambda x: x + m.fill(1, shape=(3, 2)), "TTL2001", "broadcast"),
    "wrong rank": (lambda x: x + m.fill(1, shape=(2, 2, 3)), "TTL2001", "(2, 2, 3)"),
    "squeeze of 2": (lambda x: m.squeeze(m.fill(1, shape=(2, 1, 1)), 0), "TTL2001", "not 1"),
    "squeeze tiles": (lambda x: m.squeeze(x, -1), "TTL1003", "the two innermost"),
    "unsqueeze tiles": (lambda x: m.unsqueeze(x, -1), "TTL1003", "the two innermost"),
    "transpose 3": (lambda x: m.transpose(m.unsqueeze(x, 0)), "TTL2001", "two dimensions"),
    "reduce a fill": (lambda x: m.reduce_sum(m.fill(1), dims=[0]), "TTL2005", "reduce_sum"),
    "broadcast a fill": (lambda x: m.broadcast(m.fill(1), [0]), "TTL2005", "broadcast"),
    "transpose a fill": (lambda x: m.transpose(m.fill(1)), "TTL2005", "transpose"),
    "multiply a fill": (lambda x: x @ m.fill(1), "TTL2005", "operand of @"),
    "reduce an open broadcast": (
        lambda x: m.reduce_sum(m.broadcast(m.reduce_sum(x, dims=[1]), [1]), dims=[1]),
        "TTL2005",
        "without a shape",
    ),
    "types": (lambda x: x + m.typecast(x, ttnn.int32), "TTL2002", "typecast"),
    "float xor": (lambda x: x ^ 1, "TTL2006", "int32, uint32, uint16 and uint8"),
}


@pytest.mark.parametrize("name", FLOATS)
def test_refused(name: str) -> None:
    expression, code, text = FLOATS[name]
    found = report(expression, A)
    assert f"[{code}]" in found and text in found
    assert "block_runs.py" not in found.split("|")[0]  # the place is the expression


@pytest.mark.parametrize(
    ("dtype", "out_dtype"),
    [(ttnn.float32, ttnn.int32), (ttnn.bfloat16, ttnn.uint16), (ttnn.int32, ttnn.uint32)],
)
def test_a_store_does_not_make_integers(dtype: Any, out_dtype: Any) -> None:
    array = A.astype(np.int64) if dtype is ttnn.int32 else A
    found = report(lambda x: x, array, dtype=dtype, out_dtype=out_dtype)
    assert "[TTL2002]" in found and f"ttl.math.typecast(x, ttnn.{out_dtype})" in found


WHOLE = {
    "division": (lambda x: x / x, "TTL2006", "operator / has no meaning for int32"),
    "exp": (m.exp, "TTL2006", "works on bfloat16, float16, float32"),
    "fraction": (lambda x: x + 0.5, "TTL1003", "0.5 is not a number of int32"),
    "too large": (lambda x: x + 2**31, "TTL1003", "is not a number of int32"),
    "far too large": (lambda x: x + 2**80, "TTL1003", "is not a number of int32"),
    "fraction in a fill": (lambda x: x * m.fill(0.5), "TTL1003", "0.5 is not a number of int32"),
    "fraction as a parameter": (lambda x: m.relu_max(x, 0.5), "TTL1003", "0.5 is not"),
    "fraction in a store": (lambda x: m.fill(0.5), "TTL1003", "0.5 is not a number of int32"),
    "modulo zero": (lambda x: x % 0, "TTL2006", "% 0 has no value"),
    "by zero": (lambda x: x // (x - x), "TTL2006", "// 0 has no value"),
    "of fills": (lambda x: x + (m.fill(1) ^ m.fill(2)), "TTL2006", "no element type"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_refused_of_integers(name: str) -> None:
    expression, code, text = WHOLE[name]
    found = report(expression, np.ones((32, 32), np.int64), dtype=ttnn.int32)
    assert f"[{code}]" in found and text in found


@pytest.mark.parametrize("value", [lambda: m.fill(1), lambda: m.exp(m.fill(1) + 2)])
def test_a_fill_that_meets_nothing_is_an_error_at_the_end(value: Any) -> None:
    def expression(x: Any) -> Any:
        unused = value()
        assert unused is not None
        return x

    found = report(expression, A)
    assert "[TTL2005]" in found and "m.fill(1)" in found


def test_values_can_be_keys_and_compared_by_identity() -> None:
    def expression(x: Any) -> Any:
        y = x + 1
        names = {x: "x", y: "y"}
        assert names[x] == "x" and names[y] == "y" and hash(x) != hash(y)
        return y

    np.testing.assert_array_equal(run(expression, A), A + 1)
