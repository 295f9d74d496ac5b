"""Element types of torch, and the ways to write a fill."""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from conformance.harness import (
    DEVICE,
    computing,
    evaluate,
    refused_expression,
    run,
    statement,
    tiles,
)
from ttl import ttnn

torch = pytest.importorskip("torch")


@pytest.mark.rule("torch-dtypes")
def test_typecast_to_a_type_of_torch():
    value = evaluate(
        lambda a: ttl.math.typecast(a, torch.int32), tiles(2.75), out_dtype=ttnn.int32, fp32=True
    )
    assert value.dtype == np.int32 and (value == 2).all()


@pytest.mark.rule("torch-dtypes")
@pytest.mark.parametrize("name", ["bfloat16", "float32", "int32", "uint8", "uint16", "uint32"])
def test_tensors_of_a_type_of_torch(name):
    for make in (ttnn.zeros, ttnn.ones, ttnn.empty):
        made = make((32, 32), dtype=getattr(torch, name), device=DEVICE)
        assert made.dtype is getattr(ttnn, name)
    assert ttnn.typecast(made, getattr(torch, name)).dtype is getattr(ttnn, name)
    made = ttnn.from_torch(torch.ones(32, 32), dtype=getattr(torch, name))
    assert made.dtype is getattr(ttnn, name)


@pytest.mark.rule("torch-dtypes")
def test_a_type_that_no_tensor_has_is_refused():
    text = refused_expression(
        lambda a: ttl.math.typecast(a, torch.float64), tiles(1), slug="wrong-argument"
    )
    assert "not torch.float64" in text


@pytest.mark.rule("fill-spellings", "torch-dtypes")
@pytest.mark.parametrize("dtype", [ttnn.float32, torch.float32], ids=str)
def test_fill_with_a_type_a_layout_and_a_tile(dtype):
    def expression(a):
        seven = ttl.block.fill(7, shape=(1, 1), dtype=dtype, layout=ttl.TILE_LAYOUT, tile=(32, 32))
        return a + seven

    assert (evaluate(expression, tiles(3)) == 10).all()


@pytest.mark.rule("fill-spellings")
def test_a_fill_of_integers():
    def expression(a):
        return ttl.math.typecast(ttl.math.fill(5, (1, 1), dtype=torch.int32), ttnn.float32) + a

    assert (evaluate(expression, tiles(3), fp32=True) == 8).all()
    text = refused_expression(
        lambda a: ttl.math.typecast(ttl.math.fill(1.5, (1, 1), dtype=ttnn.int32), ttnn.float32) + a,
        tiles(3),
        slug="wrong-argument",
        fp32=True,
    )
    assert "1.5 is not a number of int32" in text


@pytest.mark.rule("fill-spellings", "torch-dtypes")
def test_a_fill_of_integers_makes_the_registers_wide():
    """The kernel names no other integers, and its buffers have bf16."""

    def expression(a):
        return ttl.block.fill(3, shape=(1, 1), dtype=torch.int32)

    assert (evaluate(expression, tiles(1), dtype=ttnn.bfloat16) == 3).all()


@pytest.mark.rule("fill-spellings")
def test_a_typed_fill_without_a_shape_takes_it_from_what_it_meets():
    value = evaluate(lambda a: ttl.math.fill(2, dtype=ttnn.float32) * a, tiles(3, 4))
    assert value[0, ::32].tolist() == [6, 8]


@pytest.mark.rule("fill-spellings")
@pytest.mark.parametrize(
    "like",
    [lambda a: a, lambda a: a + a, lambda a: ttl.math.exp(a), lambda a: ttl.math.fill(1, (1, 2))],
)
def test_a_fill_like_an_expression(like):
    value = evaluate(lambda a: ttl.math.fill(like(a), 4) + a, tiles(1, 2))
    assert value[0, ::32].tolist() == [5, 6]


@pytest.mark.rule("fill-spellings")
def test_a_fill_like_a_transposed_expression():
    value = statement(
        lambda y, a: y.store(ttl.block.fill(ttl.block.transpose(a), 3.0)),
        tiles(1, 2),
        out_shape=(64, 32),
    )
    assert (value == 3).all()


@pytest.mark.rule("fill-spellings")
@pytest.mark.parametrize(
    "options", [{"layout": ttl.ROW_MAJOR_LAYOUT}, {"tile": (16, 32)}, {"tile": 32}], ids=str
)
def test_a_fill_is_of_whole_tiles(options):
    text = refused_expression(
        lambda a: a + ttl.math.fill(1, (1, 1), **options), tiles(1), slug="wrong-argument"
    )
    assert f"leave {next(iter(options))}= out" in text


@pytest.mark.rule("torch-dtypes")
def test_a_kernel_that_names_torch():
    operation, tensors = computing(
        lambda y, a: y.store(ttl.math.typecast(a, torch.float32) + torch.pi + float(torch.inf > 1)),
        tiles(1),
    )
    run(operation, *tensors)
    assert np.allclose(ttl.to_numpy(tensors[-1]), 2 + np.pi)


@pytest.mark.rule("torch-dtypes")
def test_a_captured_type_of_torch_is_a_constant():
    for dtype, expected in ((torch.int32, 2), (torch.float32, 2.5)):
        value = evaluate(
            lambda a, kind=dtype: ttl.math.typecast(ttl.math.typecast(a, kind), ttnn.float32),
            tiles(2.5),
            fp32=True,
        )
        assert (value == expected).all(), dtype
