"""C-13, C-14: what the programs calculate, simulated and compiled."""

import numpy as np
import pytest

from kernels_d2m import chained_add, elementwise, every_dma, loopback, passthrough
from op_samples import coarse
from ttl.semantics.dtypes import TF32_STEP
from ttl.semantics.ops.matmul import LOST_DIGITS

RNG_SEED = 7


def arrays(count, shape, dtype=np.float32):
    """With as many digits as the matrix unit has."""
    rng = np.random.default_rng(RNG_SEED)
    return [coarse(rng.uniform(1, 2, shape)).astype(dtype) for _ in range(count)]


MEANINGS = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "@": np.matmul}


def test_c13_add_of_constants(backend):
    lhs, rhs, out = (np.full((32, 32), value, np.float32) for value in (2, 3, 0))
    elementwise("+")(lhs, rhs, out)
    assert (out == 5).all()


@pytest.mark.parametrize("operator", MEANINGS)
def test_c13_operators(backend, operator):
    lhs, rhs = arrays(2, (64, 64))
    out = np.zeros((64, 64), np.float32)
    elementwise(operator)(lhs, rhs, out)
    np.testing.assert_allclose(out, MEANINGS[operator](lhs, rhs), rtol=2e-6)


def test_c13_add_on_a_grid(backend):
    lhs, rhs = arrays(2, (64, 64))
    out = np.zeros((64, 64), np.float32)
    elementwise("+", grid=(2, 2))(lhs, rhs, out)
    np.testing.assert_array_equal(out, lhs + rhs)


def test_c13_chained_add(backend):
    *inputs, out = (np.full((64, 32), value, np.float32) for value in (1, 2, 3, 0))
    chained_add(*inputs, out)
    assert (out == 6).all()


def test_c13_passthrough(backend):
    x, out = np.full((64, 64), 42, np.float32), np.zeros((64, 64), np.float32)
    passthrough(x, out)
    assert (out == 42).all()


def test_c13_padded_and_collapsed(backend):
    x = arrays(1, (4, 43, 7))[0]
    out = np.zeros_like(x)
    passthrough_of_rows(x, out)
    np.testing.assert_array_equal(out, x)


def passthrough_of_rows(x, out):
    from dataclasses import replace

    replace(passthrough, grid=(2, 1))(x, out)


@pytest.mark.parametrize("use_tile_matmul", [True, False])
def test_c13_matmul_with_multicast(backend, load, use_tile_matmul):
    from dataclasses import replace

    lhs, rhs = arrays(2, (128, 128))
    out = np.zeros((128, 128), np.float32)
    replace(load("custom_dm_matmul").matmul, use_tile_matmul=use_tile_matmul)(lhs, rhs, out)
    np.testing.assert_allclose(out, lhs @ rhs, rtol=1e-5)


def test_c13_turn_based_matmul(backend, load):
    lhs, rhs = arrays(2, (128, 128))
    out = np.zeros((128, 128), np.float32)
    load("turn_based_matmul").matmul(lhs, rhs, out)
    np.testing.assert_allclose(out, lhs @ rhs, rtol=1e-5)


def test_turns_in_the_older_spelling(backend, load):
    """custom_dm_turn_based_matmul: `Tensor`, await, yield, and no wait for what was sent."""
    lhs, rhs = arrays(2, (128, 128))
    out = np.zeros((128, 128), np.float32)
    load("older_turn_based_matmul").product(lhs, rhs, out)
    np.testing.assert_allclose(out, lhs @ rhs, rtol=1e-5)


def test_rows_and_columns_are_broadcast(backend, load):
    x, (row, column, one) = (
        arrays(1, (64, 64))[0],
        (arrays(1, shape)[0] for shape in ((1, 64), (64, 1), (1, 1))),
    )
    out = np.zeros((64, 64), np.float32)
    load("broadcasts").calculate(x, row, column, one, out)
    wanted = np.maximum(one, x * row - column + row * column) - x.max(1)[None] * one
    np.testing.assert_allclose(out, wanted, rtol=1e-2)


def test_c13_multicast_with_loopback(backend):
    x, y = arrays(2, (32, 64))
    out = np.zeros((32, 64), np.float32)
    loopback(x, y, out)
    np.testing.assert_array_equal(out, x + np.tile(x[:, :32], 2))


def test_c7_every_form_of_dma(backend):
    x, y = arrays(2, (32, 64))
    out = np.zeros((32, 64), np.float32)
    every_dma(x, y, out)
    np.testing.assert_array_equal(out, x + np.tile(x[:, :32], 2))


def test_c14_corrected_guide_add(backend, load):
    lhs, rhs = arrays(2, (128, 128))
    out = np.zeros((128, 128), np.float32)
    load("elementwise_add").add(lhs, rhs, out)
    np.testing.assert_array_equal(out, lhs + rhs)


def test_c16_flash_attention(backend, load):
    example = load("flash_attention")
    rng = np.random.default_rng(RNG_SEED)
    Q, K, V = (
        rng.standard_normal((example.ROWS, example.d_head)).astype(np.float32) for _ in range(3)
    )
    out = np.zeros_like(Q)
    example.flash_attention(Q, K, V, out)
    # Scores and weights come to the matrix unit with the 10 digits of a TF32.
    tolerance = 2e-6 if backend == "sim" else LOST_DIGITS * TF32_STEP
    np.testing.assert_allclose(out, example.reference(Q, K, V), atol=tolerance)


def test_c13_bfloat16_of_torch(backend):
    torch = pytest.importorskip("torch")
    lhs, rhs = (torch.full((32, 32), value, dtype=torch.bfloat16) for value in (2, 3))
    out = torch.zeros(32, 32, dtype=torch.bfloat16)
    elementwise("+")(lhs, rhs, out)
    assert (out == 5).all()
