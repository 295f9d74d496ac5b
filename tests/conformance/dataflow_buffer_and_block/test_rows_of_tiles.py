"""Tensors and blocks of tiles with one dimension: a row of tiles."""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from conformance import harness
from conformance.harness import (
    empty,
    evaluate,
    moving,
    numbers,
    refused,
    refused_expression,
    run,
    small,
    tensor,
)
from ttl import ttnn
from ttl.semantics.dtypes import TF32_STEP
from ttl.ttnn import Tensor

M = ttl.math


def moved(body, source: Tensor, *shapes: tuple[int, ...], size: int) -> np.ndarray:
    run(moving(body, *shapes), source, y := empty(size))
    return ttl.to_numpy(y)


@pytest.mark.rule("rows-of-tiles")
@pytest.mark.parametrize("size", [128, 100, 97])
def test_an_index_is_a_tile_and_a_slice_some_of_them(size):
    """The result has as many elements as were given: what pads the last tile is not seen."""

    def body(a, y, one, two):
        for item, dfb in ((0, one), (slice(1, 3), two), (-1 + 4, one)):
            with dfb.reserve() as blk:
                ttl.copy(a[item], blk).wait()
            with dfb.wait() as blk:
                assert blk.shape == ((2,) if dfb is two else (1,))
                ttl.copy(blk, y[item]).wait()

    values = numbers(size)
    assert np.array_equal(moved(body, tensor(values), (1,), (2,), size=size), values)


@pytest.mark.rule("rows-of-tiles")
def test_a_row_of_a_matrix_fits_a_block_of_one_dimension_and_a_row_one_of_two():
    def body(a, y, row, matrix):
        with row.reserve() as blk:
            ttl.copy(a[1, 0:3], blk).wait()
        with row.wait() as blk:
            ttl.copy(blk, y[:]).wait()
        with matrix.reserve() as blk:
            ttl.copy(a[0:1, 1:4], blk).wait()
        with matrix.wait() as blk:
            ttl.copy(blk, y[0:3]).wait()

    values = numbers(64, 128)
    found = moved(body, tensor(values), (3,), (1, 3), size=96)
    assert np.array_equal(found, values[0, 32:])


@pytest.mark.rule("rows-of-tiles")
@pytest.mark.parametrize("dtype", [ttnn.float32, ttnn.bfloat16, ttnn.bfloat8_b])
def test_elementwise(dtype):
    a, b = small(96), small(96)
    found = evaluate(lambda x, y: M.relu(x * y) - 2 * y + M.fill(1), a, b, dtype=dtype)
    assert np.array_equal(found, np.maximum(a * b, 0) - 2 * b + 1)


@pytest.mark.rule("rows-of-tiles")
@pytest.mark.parametrize("dims", [[0], [-1], 0])
@pytest.mark.parametrize("size", [128, 32, 70])
def test_reductions_are_over_the_innermost_dimension(dims, size):
    a = np.abs(small(size)) + 1
    summed = evaluate(lambda x: M.reduce_sum(x, dims=dims), a, out_shape=(1,))
    largest = evaluate(lambda x: M.reduce_max(x, 0.5, dims=dims), a, out_shape=(1,))
    assert (summed, largest) == (a.sum(), a.max() / 2)


@pytest.mark.rule("rows-of-tiles")
@pytest.mark.parametrize("scaler", [[0.5], [[0.5]]])
def test_the_scaler_may_have_one_dimension_or_two(scaler):
    a = small(96)
    found = evaluate(lambda x, s: M.reduce_sum(x, s, dims=[0]), a, scaler, out_shape=(1,))
    assert found == a.sum() / 2
    matrix = small(64, 64)
    found = evaluate(lambda x, s: M.reduce_sum(x, s, dims=[0, 1]), matrix, scaler, out_shape=(1, 1))
    assert found == matrix.sum() / 2


@pytest.mark.rule("rows-of-tiles")
@pytest.mark.parametrize("where", [{"shape": (3,)}, {}])
def test_broadcasts_start_from_the_first_element(where):
    a, b = small(96), small(1)
    found = evaluate(lambda x, y: x + M.broadcast(y, dims=[0], **where), a, b)
    assert np.array_equal(found, a + b)


@pytest.mark.rule("rows-of-tiles")
def test_softmax_of_a_row():
    def softmax(x):
        shifted = M.exp(x - M.broadcast(M.reduce_max(x, dims=[0]), dims=[0]))
        return shifted * M.recip(M.broadcast(M.reduce_sum(shifted, dims=[0]), dims=[0]))

    a = small(128)
    exact = np.exp(a - a.max(), dtype=np.float64)
    # Compiled, the sum of rows in the matrix unit keeps a TF32 of each float32.
    tolerance = 1e-5 if harness.BACKEND is None else TF32_STEP
    assert np.allclose(evaluate(softmax, a), exact / exact.sum(), rtol=tolerance)


@pytest.mark.rule("rows-of-tiles")
def test_integers():
    a = np.arange(96, dtype=np.int32) * 1001
    found = evaluate(
        lambda x: x + M.broadcast(M.reduce_sum(x, dims=[0]), dims=[0]), a, dtype=ttnn.int32
    )
    assert np.array_equal(found, a + a.sum())


@pytest.mark.rule("rows-of-tiles")
@pytest.mark.parametrize("dims", [[0], [0, 1]])
def test_views_make_a_matrix_of_a_row_and_back(dims):
    """A row times a matrix."""
    a, w = small(96), small(*[1] * (len(dims) - 1), 96, 64)

    def product(x, y):
        return M.squeeze(M.unsqueeze(x, dims) @ y, dims)

    assert np.array_equal(evaluate(product, a, w, out_shape=(64,)), a @ w.reshape(96, 64))


@pytest.mark.rule("rows-of-tiles")
def test_a_row_goes_through_a_pipe():
    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(2,))
        net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])

        @ttl.datamovement()
        def move():
            def send(pipe):
                with dfb.reserve() as blk:
                    ttl.copy(a[1:3], blk).wait()
                with dfb.wait() as blk:
                    ttl.copy(blk, pipe).wait()

            def receive(pipe):
                with dfb.reserve() as blk:
                    ttl.copy(pipe, blk).wait()
                with dfb.wait() as blk:
                    ttl.copy(blk, y[:]).wait()

            net.if_src(send)
            net.if_dst(receive)

    values = numbers(96)
    run(operation, tensor(values), y := empty(64))
    assert np.array_equal(ttl.to_numpy(y), values[32:])


@pytest.mark.rule("rows-of-tiles")
def test_what_a_row_cannot_do_is_refused():
    row, matrix = small(32), small(32, 32)
    text = refused_expression(lambda x, y: x @ y, row, matrix, slug="matmul-shapes")
    assert "ttl.math.unsqueeze(x, 0)" in text
    text = refused_expression(M.transpose, row, slug="shape-mismatch")
    assert "ttl.math.unsqueeze(x, 0)" in text
    refused_expression(lambda x: M.reduce_sum(x, dims=[1]), row, slug="wrong-argument")
    refused_expression(lambda x: M.reduce_sum(x, dims=[-2]), row, slug="wrong-argument")
    refused_expression(lambda x: M.squeeze(x, 0), row, slug="wrong-argument")
    refused_expression(lambda x: M.unsqueeze(x, 1), row, slug="wrong-argument")
    refused_expression(lambda x, y: x + y, row, matrix, slug="shape-mismatch")


@pytest.mark.rule("rows-of-tiles")
@pytest.mark.parametrize(
    ("item", "slug"),
    [
        (4, "slice-out-of-range"),
        ((0, 0), "slice-out-of-range"),
        (slice(0, 2), "shape-mismatch"),
    ],
)
def test_slices_of_a_row_are_checked(item, slug):
    def body(a, y, dfb):
        with dfb.reserve() as blk:
            ttl.copy(a[item], blk).wait()
        with dfb.wait() as blk:
            ttl.copy(blk, y[0]).wait()

    refused(moving(body, (1,)), tensor(numbers(128)), empty(32), slug=slug)
