"""Reductions, broadcasts, transposes, products, agreement of shapes and types, padding."""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from conformance.harness import (
    computing,
    evaluate,
    refused_expression,
    run,
    small,
    tiles,
)
from ttl import ttnn

X = small(64, 96)
DIMS = {
    "innermost": ([-1], (64, 32), np.s_[:, :1], (1,)),
    "next": ([-2], (32, 96), np.s_[:1, :], (0,)),
    "both": ([-1, -2], (32, 32), np.s_[:1, :1], (0, 1)),
    "counted from 0": ([1], (64, 32), np.s_[:, :1], (1,)),
    "both from 0": ([0, 1], (32, 32), np.s_[:1, :1], (0, 1)),
}
REDUCTIONS = {"reduce_sum": np.sum, "reduce_max": np.max, "reduce_min": np.min}


@pytest.mark.rule("reduce", "reduce-placement")
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dims", DIMS)
def test_a_reduction_stands_at_the_edge_of_the_tile_and_the_rest_is_zero(name, dims):
    numbers, shape, place, axes = DIMS[dims]
    function = getattr(ttl.math, name)
    found = evaluate(lambda x: function(x, 1, dims=numbers), X, out_shape=shape)
    expected = np.zeros(shape, np.float32)
    expected[place] = REDUCTIONS[name](X, axis=axes, keepdims=True)
    assert np.array_equal(found, expected)


@pytest.mark.rule("reduce", "reduce-placement")
@pytest.mark.parametrize("dims", DIMS)
@pytest.mark.parametrize("scaler", [1, 3, 0.5])
def test_a_mean_is_a_sum_divided_by_its_count(dims, scaler):
    numbers, shape, place, axes = DIMS[dims]
    found = evaluate(lambda x: ttl.math.reduce_mean(x, scaler, numbers), X, out_shape=shape)
    expected = np.zeros(shape)
    expected[place] = np.mean(np.float64(X), axis=axes, keepdims=True) * scaler
    assert np.allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert np.array_equal(found != 0, expected != 0)


@pytest.mark.rule("reduce")
@pytest.mark.parametrize("dtype", ["int32", "uint32", "uint16", "uint8"])
def test_the_smallest_of_integers(dtype):
    x = np.random.default_rng(5).integers(3, 250, (64, 96))
    found = evaluate(
        lambda x: ttl.math.reduce_min(x, dims=[-1]),
        x,
        dtype=getattr(ttnn, dtype),
        out_shape=(64, 32),
    )
    assert np.array_equal(found[:, 0], x.min(axis=1)) and not found[:, 1:].any()


@pytest.mark.rule("reduce")
def test_there_is_no_mean_of_integers():
    x = np.ones((32, 32), np.int64)
    options = {"dtype": ttnn.int32, "slug": "no-meaning"}
    refused_expression(lambda x: ttl.math.reduce_mean(x, dims=[-1]), x, **options)


@pytest.mark.rule("reduce")
def test_dimensions_in_front_become_one_too():
    x = small(3, 32, 32)
    found = evaluate(lambda x: ttl.math.reduce_sum(x, 1, dims=[0]), x, out_shape=(1, 32, 32))
    assert np.array_equal(found, x.sum(axis=0, keepdims=True))
    found = evaluate(lambda x: ttl.math.reduce_max(x, 1, dims=[1]), x, out_shape=(3, 32, 32))
    expected = np.zeros((3, 32, 32), np.float32)
    expected[:, :1] = x.max(axis=1, keepdims=True)
    assert np.array_equal(found, expected)


@pytest.mark.rule("reduce-scaler")
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dims", [[-1], [-2], [-1, -2]])
def test_the_scaler_is_applied_once_whatever_the_dims(name, dims):
    function = getattr(ttl.math, name)
    x = small(32, 32)
    scaler = np.full((32, 32), 77, np.float32)
    scaler[0, 0] = 0.5
    plain = evaluate(lambda x: function(x, dims=dims), x)
    assert np.array_equal(evaluate(lambda x: function(x, 0.5, dims=dims), x), plain * 0.5)
    by_block = evaluate(lambda x, s: function(x, s, dims), x, scaler)
    assert np.array_equal(by_block, plain * 0.5)


@pytest.mark.rule("reduce-scaler")
def test_the_scaler_is_a_block_of_one_tile():
    refused_expression(
        lambda x, s: ttl.math.reduce_sum(x, s, dims=[-1]),
        small(32, 64),
        tiles(1, 1),
        out_shape=(32, 32),
        slug="shape-mismatch",
    )


@pytest.mark.rule("broadcast")
@pytest.mark.parametrize(
    ("dims", "shape", "take"),
    [
        ([-1], (64, 32), np.s_[:, :1]),
        ([-2], (32, 96), np.s_[:1, :]),
        ([-1, -2], (32, 32), np.s_[:1, :1]),
        ([1], (64, 32), np.s_[:, :1]),
    ],
)
def test_a_broadcast_expands_inside_the_tile_too(dims, shape, take):
    """It starts from the column, row or element in which a reduction leaves its result."""
    x = small(*shape)
    expected = np.broadcast_to(x[take], (64, 96))
    found = evaluate(
        lambda x: ttl.math.broadcast(x, dims=dims, shape=(2, 3)), x, out_shape=(64, 96)
    )
    assert np.array_equal(found, expected)


@pytest.mark.rule("broadcast")
def test_a_broadcast_undoes_a_reduction():
    found = evaluate(
        lambda x: x - ttl.math.broadcast(ttl.math.reduce_max(x, 1, dims=[-1]), dims=[-1]), X
    )
    assert np.array_equal(found, X - X.max(axis=1, keepdims=True))


@pytest.mark.rule("broadcast")
def test_only_dimensions_of_size_one_are_expanded():
    refused_expression(
        lambda x: ttl.math.broadcast(x, dims=[-1], shape=(1, 4)),
        tiles(1, 2),
        out_shape=(32, 128),
        slug="shape-mismatch",
    )


@pytest.mark.rule("transpose")
def test_transpose():
    assert np.array_equal(evaluate(ttl.math.transpose, X, out_shape=(96, 64)), X.T)
    refused_expression(ttl.math.transpose, small(2, 32, 32), slug="shape-mismatch")


@pytest.mark.rule("squeeze-unsqueeze")
@pytest.mark.parametrize("space", [ttl.math, ttl.block])
def test_squeeze_and_unsqueeze(space):
    x = small(1, 64, 32)
    assert np.array_equal(evaluate(lambda x: space.squeeze(x, 0), x, out_shape=(64, 32)), x[0])
    y = small(64, 32)
    found = evaluate(lambda y: space.unsqueeze(y, 0), y, out_shape=(1, 64, 32))
    assert np.array_equal(found, y[np.newaxis])
    refused_expression(lambda x: space.squeeze(x, 0), small(2, 32, 32), slug="shape-mismatch")


@pytest.mark.rule("matmul")
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((64, 96), (96, 32)),
        ((2, 32, 64), (2, 64, 96)),
        ((32, 32), (32, 32)),
        ((3, 64, 64), (64, 96)),
        ((2, 3, 32, 64), (64, 32)),
        ((1, 32, 64), (64, 96)),
    ],
)
def test_matmul(a, b):
    left, right = small(*a), small(*b)
    shape = (*a[:-1], b[-1])
    found = evaluate(lambda a, b: a @ b, left, right, out_shape=shape)
    assert np.array_equal(found, left @ right)


@pytest.mark.rule("matmul")
@pytest.mark.parametrize(
    ("a", "b"), [((64, 96), (64, 32)), ((2, 32, 64), (3, 64, 96)), ((32, 64), (2, 64, 96))]
)
def test_matmul_shapes_agree(a, b):
    refused_expression(
        lambda a, b: a @ b,
        small(*a),
        small(*b),
        out_shape=(*a[:-1], b[-1]),
        slug="matmul-shapes",
    )


@pytest.mark.rule("equal-shapes")
@pytest.mark.parametrize("b", [(32, 32), (64, 32), (32, 96), (2, 64, 96)])
def test_there_is_no_implicit_broadcasting(b):
    text = refused_expression(lambda a, b: a + b, X, small(*b), slug="shape-mismatch")
    assert "ttl.math.broadcast" in text


@pytest.mark.rule("equal-shapes")
def test_leading_ones_count_nothing():
    x = small(1, 64, 96)
    found = evaluate(lambda a, b: a - b * a, x, X, out_shape=(1, 64, 96))
    assert np.array_equal(found, x - X * x)
    found = evaluate(lambda a, b: ttl.math.max(a, b), X, x, out_shape=(1, 64, 96))
    assert np.array_equal(found, x)
    wide = evaluate(
        lambda a, b: a + ttl.math.broadcast(b, dims=[-1]), x, X[:, :32], out_shape=(1, 64, 96)
    )
    assert np.array_equal(wide, x + X[:, :1])
    refused_expression(lambda a, b: a + b, x, X, out_shape=(64, 96), slug="shape-mismatch")


@pytest.mark.rule("equal-dtypes")
@pytest.mark.parametrize(("dtype", "out"), [(ttnn.int32, ttnn.uint32), (ttnn.float32, ttnn.int32)])
def test_element_types_of_integers_agree(dtype, out):
    def body(y, a):
        y.store(ttl.math.fill(1))
        y.store(y + a)

    operation, tensors = computing(body, small(32, 32), dtype=dtype, out_dtype=out)
    with pytest.raises(ttl.TTLError) as caught:
        operation(*tensors)
    assert caught.value.diagnostics[0].code.slug == "dtype-mismatch"


@pytest.mark.rule("equal-dtypes", "matmul")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("bfloat16", "bfloat8_b"),
        ("bfloat16", "bfloat4_b"),
        ("float32", "bfloat16"),
        ("bfloat8_b", "float32"),
        ("float16", "bfloat16"),
    ],
)
def test_float_types_of_operands_may_differ(one, other):
    """On numbers that all types have; all pairs are in differential/test_mixed_floats.py."""
    a, b = np.sign(small(2, 32, 64)), np.sign(small(64, 64))
    dtypes = getattr(ttnn, one), getattr(ttnn, other)
    found = evaluate(lambda a, b: a @ b, a, b, dtype=dtypes, out_dtype=ttnn.float32)
    assert np.array_equal(found, a @ b)
    found = evaluate(lambda a, b: a * 2 - b, b, b.T, dtype=dtypes, out_dtype=dtypes[0])
    assert np.array_equal(found.astype(np.float32), 2 * b - b.T)


# Padding ------------------------------------------------------------------------------------------


@pytest.mark.rule("padding")
def test_padding_is_read_as_zero_and_not_visible_afterwards():
    x = small(40, 70)
    total = evaluate(lambda x: ttl.math.reduce_sum(x, 1, dims=[-1, -2]), x, out_shape=(32, 32))
    assert total[0, 0] == x.sum()
    assert np.array_equal(evaluate(lambda x: x + 1, x), x + 1)


@pytest.mark.rule("padding")
def test_padding_is_written_back_as_zero():
    """What was computed there does not come back when the tensor is read again."""
    x = small(40, 70)
    operation, tensors = computing(lambda y, x: y.store(x + 1), x)
    run(operation, *tensors)
    result = tensors[-1]
    reading, more = computing(
        lambda y, x: y.store(ttl.math.reduce_sum(x, 1, dims=[-1, -2])), x, out_shape=(32, 32)
    )
    run(reading, result, *more[1:])
    assert ttl.to_numpy(more[-1])[0, 0] == (x + 1).sum()


@pytest.mark.rule("padding-reduction")
def test_a_reduction_over_a_ragged_edge_is_a_warning_with_masking_as_the_help(capsys):
    """The largest of negative numbers over a ragged edge is a 0 of the padding."""
    operation, tensors = computing(
        lambda y, x: y.store(ttl.math.reduce_max(x, 1, dims=[-1])),
        -np.ones((32, 40)),
        out_shape=(32, 32),
    )
    operation(*tensors)
    text = capsys.readouterr().err
    assert "warning" in text and "mask" in text


@pytest.mark.rule("scalars-known")
@pytest.mark.parametrize("value", ["2", None, [1], True, np.ones(3)])
def test_other_operands_are_refused(value):
    refused_expression(lambda x: x + value, X, slug="wrong-argument")
