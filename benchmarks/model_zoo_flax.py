"""Small modules of flax, linen and nnx, with random weights: functions of arrays, and arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from flax import linen, nnx

Made = tuple[Callable[..., Any], tuple[Any, ...]]


class Perceptron(linen.Module):
    @linen.compact
    def __call__(self, x: Any) -> Any:
        return linen.Dense(10)(linen.relu(linen.Dense(64)(x)))


class Convolutions(linen.Module):
    @linen.compact
    def __call__(self, x: Any) -> Any:
        for width in (16, 32):
            x = linen.BatchNorm(use_running_average=True)(linen.Conv(width, (3, 3))(x))
            pool: Any = linen.avg_pool
            x = pool(linen.relu(x), (2, 2), (2, 2))
        return linen.Dense(10)(x.mean((1, 2)))


class Decoded(linen.Module):
    """Downsamples and upsamples an image."""

    @linen.compact
    def __call__(self, x: Any) -> Any:
        small = linen.relu(linen.Conv(16, (3, 3), (2, 2))(x))
        large = linen.relu(linen.ConvTranspose(8, (2, 2), (2, 2))(small))
        return linen.Conv(3, (1, 1))(large) + x


class Transformer(linen.Module):
    @linen.compact
    def __call__(self, words: Any) -> Any:
        x = linen.Embed(96, 64)(words)
        mask = linen.make_causal_mask(words)
        for _ in range(2):
            attention = linen.MultiHeadDotProductAttention(4)
            x = x + attention(linen.LayerNorm()(x), mask=mask)
            x = x + linen.Dense(64)(linen.gelu(linen.Dense(96)(linen.RMSNorm()(x))))
        return linen.Dense(96)(x)


class Recurrent(linen.Module):
    @linen.compact
    def __call__(self, x: Any) -> Any:
        first: Any = linen.RNN(linen.OptimizedLSTMCell(24))(x)
        return linen.RNN(linen.GRUCell(24))(first)


class Mixer(nnx.Module):
    """Module of nnx that mixes patches along both axes."""

    def __init__(self) -> None:
        rngs = nnx.Rngs(0)
        self.patches = nnx.Conv(3, 32, (4, 4), (4, 4), rngs=rngs)
        self.norm, self.group = nnx.LayerNorm(32, rngs=rngs), nnx.GroupNorm(32, 8, rngs=rngs)
        self.along, self.across = nnx.Linear(64, 64, rngs=rngs), nnx.Linear(32, 32, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(4, 32, decode=False, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        x = self.patches(x).reshape(len(x), 64, 32)
        x = x + self.along(nnx.gelu(self.norm(x)).swapaxes(1, 2)).swapaxes(1, 2)
        x = x + self.across(nnx.silu(self.group(x)))
        return (x + self.attention(x)).mean(1)


def _linen(module: linen.Module, x: Any) -> Made:
    return module.apply, (module.init(jax.random.key(0), x), x)


def _numbers(*shape: int) -> Any:
    return jax.random.normal(jax.random.key(1), shape)


def _words() -> Any:
    return jax.random.randint(jax.random.key(1), (2, 16), 0, 96)


ROWS: dict[str, Callable[[], Made]] = {
    "flax-mlp": lambda: _linen(Perceptron(), _numbers(4, 32)),
    "flax-cnn": lambda: _linen(Convolutions(), _numbers(2, 32, 32, 3)),
    "flax-decoder": lambda: _linen(Decoded(), _numbers(2, 16, 16, 3)),
    "flax-transformer": lambda: _linen(Transformer(), _words()),
    "flax-rnn": lambda: _linen(Recurrent(), _numbers(2, 12, 16)),
    "nnx-mixer": lambda: (Mixer(), (_numbers(2, 32, 32, 3),)),
}
