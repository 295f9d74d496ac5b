"""Modules of flax and nnx, as they are and trained, beside flax itself."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import linen, nnx

from ttgraph.jax import compile as compile_jax

NEAR = 2e-5


def check(found, expected):
    for mine, wanted in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert (mine.shape, mine.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(np.asarray(mine), np.asarray(wanted), rtol=NEAR, atol=NEAR)


class Images(nnx.Module):
    def __init__(self, rngs):
        self.convolution = nnx.Conv(3, 8, (3, 3), rngs=rngs)
        self.norm = nnx.BatchNorm(8, rngs=rngs)
        self.dropout = nnx.Dropout(0.3, rngs=rngs)
        self.linear = nnx.Linear(8, 5, rngs=rngs)

    def __call__(self, x):
        x = nnx.max_pool(nnx.relu(self.norm(self.convolution(x))), (2, 2), (2, 2))
        return self.linear(self.dropout(x.mean((1, 2))))


def test_a_module_of_nnx_and_what_it_changes():
    mine, other = Images(nnx.Rngs(0)), Images(nnx.Rngs(0))
    images = jax.random.normal(jax.random.key(0), (2, 8, 8, 3))
    compiled = compile_jax(mine)
    for _ in range(2):  # statistics and random numbers go on from call to call
        check(compiled(images), other(images))
    check(mine.norm.mean[...], other.norm.mean[...])


class Encoder(linen.Module):
    @linen.compact
    def __call__(self, x):
        x = x + linen.MultiHeadDotProductAttention(4)(linen.LayerNorm()(x))
        x = x + linen.Dense(16)(linen.gelu(linen.Dense(32)(linen.RMSNorm()(x))))
        return linen.Dense(3)(x)


def test_a_module_of_linen():
    module = Encoder()
    x = jax.random.normal(jax.random.key(1), (2, 7, 16))
    variables = module.init(jax.random.key(2), x)
    check(compile_jax(module)(variables, x), module.apply(variables, x))
    check(compile_jax(module.apply)(variables, x), module.apply(variables, x))


@pytest.mark.full
def test_a_step_of_training():
    module, optimizer = Encoder(), optax.adam(1e-2)
    x = jax.random.normal(jax.random.key(1), (2, 7, 16))
    variables = module.init(jax.random.key(2), x)

    def step(variables, state, x):
        loss, slopes = jax.value_and_grad(lambda v: jnp.mean(module.apply(v, x) ** 2))(variables)
        updates, state = optimizer.update(slopes, state)
        return optax.apply_updates(variables, updates), state, loss

    mine = other = (variables, optimizer.init(variables))
    compiled = compile_jax(step)
    for _ in range(2):
        *mine, loss = compiled(*mine, x)
        *other, wanted = jax.jit(step)(*other, x)
        np.testing.assert_allclose(loss, wanted, rtol=1e-4)
