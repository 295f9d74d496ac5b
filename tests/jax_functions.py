"""Functions of jax as people write them, each with its arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


@dataclass(frozen=True)
class Case:
    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


def floats(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def integers(seed: int, high: int, *shape: int) -> Any:
    return np.random.default_rng(seed).integers(0, high, shape).astype(np.int32)


CASES: list[Case] = []


def case(*arguments: Any, name: str = "") -> Callable[..., Any]:
    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append(Case(name or function.__name__, function, arguments))
        return function

    return add


def by_name(name: str) -> Case:
    (found,) = (each for each in CASES if each.name == name)
    return found


# Functions of elements ----------------------------------------------------------------------------

for _name, _function in {
    "relu": jax.nn.relu,
    "gelu_tanh": jax.nn.gelu,
    "gelu_erf": lambda x: jax.nn.gelu(x, approximate=False),
    "silu": jax.nn.silu,
    "softplus": jax.nn.softplus,
    "elu": jax.nn.elu,
    "leaky_relu": jax.nn.leaky_relu,
    "log_sigmoid": jax.nn.log_sigmoid,
    "softmax": jax.nn.softmax,
    "log_softmax": jax.nn.log_softmax,
    "logsumexp": lambda x: jax.nn.logsumexp(x, axis=-1),
    "square_and_powers": lambda x: jnp.square(x) + x**3 + jnp.abs(x) ** 0.5,
    "sinh_family": lambda x: jnp.sinh(x) + jnp.arctan(x) + jnp.arcsinh(x) + jnp.cosh(x),
    "tan_family": lambda x: jnp.tan(x) + jnp.arcsin(jnp.tanh(x)) + jnp.arctan2(x, x + 3),
    "error_functions": lambda x: lax.erf(x) + lax.erfc(x) + lax.erf_inv(jnp.tanh(x) * 0.9),
    "roundings": lambda x: jnp.floor(x) + jnp.ceil(x) + jnp.round(x) + jnp.trunc(x * 4),
    "remainders": lambda x: jnp.mod(x, 0.7) + jnp.floor_divide(x, 0.3) + jnp.sign(x),
    "is_finite": lambda x: jnp.where(jnp.isfinite(x / (x > 0)), 1.0, 0.0) + jnp.isnan(x),
    "cube_root": lambda x: jnp.cbrt(x) + jnp.log1p(jnp.abs(x)) + jnp.expm1(x),
    "digamma_lgamma": lambda x: lax.lgamma(jnp.abs(x) + 1) + lax.digamma(jnp.abs(x) + 1),
}.items():
    case(floats(1, 8, 33), name=_name)(_function)


@case(integers(1, 1000, 6, 7), integers(2, 30, 6, 7))
def integer_arithmetic(a, b):
    return a // (b + 1), a % (b + 1), (a & b) | 3, a ^ b, ~a, a << 2, a >> 3


@case(np.arange(20, dtype=np.uint32))
def integer_bits(a):
    return lax.population_count(a), lax.clz(a), lax.shift_right_logical(a, np.uint32(1))


# Products -----------------------------------------------------------------------------------------


@case(floats(0, 33, 40), floats(1, 40, 5))
def matrix_product(a, b):
    return a @ b


@case(floats(0, 2, 3, 9, 8), floats(1, 2, 3, 7, 8))
def einsum_of_attention(q, k):
    return jnp.einsum("bhqd,bhkd->bhqk", q, k)


@case(floats(0, 4, 5, 6), floats(1, 6, 3), floats(2, 5))
def einsum_of_three(a, b, c):
    return jnp.einsum("ijk,kl,j->il", a, b, c)


@case(floats(0, 16, 33), floats(1, 33), floats(2, 33))
def layer_norm(x, weight, bias):
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * weight + bias


@case(floats(0, 2, 16, 32), floats(1, 32))
def rms_norm(x, weight):
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * weight


@case(*(floats(seed, 2, 9, 4, 8) for seed in range(3)))
def attention(q, k, v):
    return jax.nn.dot_product_attention(q, k, v, is_causal=True)


def _mlp(parameters, x):
    for weight, bias in parameters[:-1]:
        x = jnp.tanh(x @ weight + bias)
    weight, bias = parameters[-1]
    return x @ weight + bias


_LAYERS = [(floats(1, 8, 16) / 3, floats(2, 16)), (floats(3, 16, 4) / 4, floats(4, 4))]


@case(_LAYERS, floats(0, 5, 8))
def mlp(parameters, x):
    return _mlp(parameters, x)


@case(_LAYERS, floats(0, 5, 8), floats(9, 5, 4))
def mlp_gradient(parameters, x, y):
    return jax.value_and_grad(lambda p: jnp.mean((_mlp(p, x) - y) ** 2))(parameters)


@case(floats(0, 4, 7), integers(1, 7, 4))
def cross_entropy_gradient(logits, labels):
    def loss(values):
        hot = jax.nn.one_hot(labels, 7)
        return -(hot * jax.nn.log_softmax(values)).sum(-1).mean()

    return jax.value_and_grad(loss)(logits)


# Windows ------------------------------------------------------------------------------------------


def _convolution(x, kernel, **options):
    numbers = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, kernel, dimension_numbers=numbers, **options)


_IMAGE, _KERNEL = floats(0, 2, 9, 9, 4), floats(1, 3, 3, 4, 8)


@case(_IMAGE, _KERNEL)
def convolution(x, kernel):
    return _convolution(x, kernel, window_strides=(1, 1), padding="SAME")


@case(_IMAGE, floats(1, 3, 3, 2, 8))
def convolution_in_groups(x, kernel):
    options = {"padding": "VALID", "feature_group_count": 2, "rhs_dilation": (2, 2)}
    return _convolution(x, kernel, window_strides=(2, 2), **options)


@case(floats(0, 2, 20, 3), floats(1, 4, 3, 5))
def convolution_along_one(x, kernel):
    numbers = ("NWC", "WIO", "NWC")
    return lax.conv_general_dilated(x, kernel, (2,), "SAME", dimension_numbers=numbers)


@case(_IMAGE, _KERNEL)
def convolution_transposed(x, kernel):
    return lax.conv_transpose(x, kernel, (2, 2), "SAME")


@case(_IMAGE, _KERNEL)
def convolution_gradient(x, kernel):
    def loss(a, b):
        return jnp.sum(_convolution(a, b, window_strides=(2, 2), padding="SAME") ** 2)

    return jax.grad(loss, argnums=(0, 1))(x, kernel)


@case(_IMAGE)
def max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")


@case(_IMAGE)
def average_pool(x):
    total = lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "VALID")
    return total / 9


@case(_IMAGE)
def max_pool_gradient(x):
    def loss(a):
        return jnp.sum(lax.reduce_window(a, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"))

    return jax.grad(loss)(x)


# Orders -------------------------------------------------------------------------------------------


@case(floats(0, 5, 40))
def sort(x):
    return jnp.sort(x, axis=-1), jnp.sort(x, axis=0, descending=True)


@case(floats(0, 5, 40))
def argsort(x):
    return jnp.argsort(x, axis=-1)


@case(integers(0, 9, 30), floats(1, 30))
def sort_by_key(keys, values):
    return lax.sort((keys, values), num_keys=1)


@case(floats(0, 5, 40))
def top_k(x):
    return lax.top_k(x, 6)


@case(floats(0, 5, 40))
def argmax(x):
    return jnp.argmax(x, -1), jnp.argmin(x, 0), jnp.argmax(x)


@case(floats(0, 5, 40))
def cumulative(x):
    return jnp.cumsum(x, -1), jnp.cumprod(x, 0), lax.cummax(x, 1), jnp.cumsum(x, 0)[::-1]


@case(floats(0, 31))
def median_and_quantile(x):
    return jnp.median(x), jnp.quantile(x, 0.25)


@case(np.linspace(-2, 2, 17, dtype=np.float32), floats(1, 9))
def searchsorted(x, y):
    return jnp.searchsorted(x, y)


# Places -------------------------------------------------------------------------------------------


@case(floats(0, 8, 9), np.int32(3))
def dynamic_slice(x, start):
    return lax.dynamic_slice(x, (start, 1), (4, 5)), lax.dynamic_index_in_dim(x, start, 1)


@case(floats(0, 8, 9), floats(1, 2, 3), np.int32(5))
def dynamic_update_slice(x, update, start):
    return lax.dynamic_update_slice(x, update, (start, start + 9))


@case(floats(0, 8, 9))
def pad_and_reverse(x):
    padded = lax.pad(x, 7.0, ((1, 2, 1), (0, -2, 0)))
    return padded, x[::-1, ::-1], jnp.pad(x, 2), jnp.roll(x, 3, 1), jnp.flip(x, 0)


@case(floats(0, 10, 6), integers(1, 10, 2, 3))
def embedding(table, indices):
    return table[indices], jnp.take(table, indices, axis=0)


@case(floats(0, 5, 12), integers(1, 12, 5, 3))
def take_along_axis(x, indices):
    return jnp.take_along_axis(x, indices, axis=1)


@case(floats(0, 5, 6, 7), integers(1, 5, 4), integers(2, 6, 4))
def gather_pairs(x, i, j):
    return x[i, j], x[i, 2:5, j]


@case(floats(0, 10, 6), integers(1, 10, 4), floats(2, 4, 6))
def scatter(x, indices, values):
    return x.at[indices].add(values), x.at[2].set(0.0), x.at[:, 1:3].multiply(2.0)


@case(floats(0, 8, 6), integers(1, 8, 5), integers(2, 6, 5))
def scatter_pairs(x, i, j):
    return x.at[i, j].max(1.5), x.at[i, j].add(1.0)


@case(floats(0, 12, 4), integers(1, 3, 12))
def segment_sum(x, segments):
    return jax.ops.segment_sum(x, segments, 3)


@case(floats(0, 10, 6), integers(1, 10, 4))
def embedding_gradient(table, indices):
    return jax.grad(lambda t: jnp.sum(t[indices] ** 2))(table)


@case(integers(0, 7, 5))
def one_hot(x):
    return jax.nn.one_hot(x, 7), jnp.eye(4), jnp.tri(3), jnp.arange(3) + x[:3]


@case(floats(0, 4, 6))
def joined(x):
    return jnp.concatenate([x, x]), jnp.stack([x, 2 * x]), jnp.split(x, 2, 1), jnp.tile(x, (2, 2))


# Control ------------------------------------------------------------------------------------------


@case(floats(0, 4), floats(1, 7, 4), floats(2, 4, 4))
def scan(state, inputs, weight):
    def step(carry, x):
        carry = jnp.tanh(carry @ weight + x)
        return carry, carry.sum()

    return lax.scan(step, state, inputs)


@case(floats(0, 6))
def fori_loop(x):
    return lax.fori_loop(0, 5, lambda i, v: v * 0.5 + i, x)


@case(np.float32(50))
def while_loop(x):
    return lax.while_loop(lambda v: v[0] > 1, lambda v: (v[0] / 2, v[1] + 1), (x, 0))


@case(np.bool_(True), floats(0, 4))
def cond(flag, x):
    return lax.cond(flag, jnp.sin, lambda v: v * 2, x)


@case(np.int32(2), floats(0, 4))
def switch(index, x):
    return lax.switch(index, [jnp.sin, jnp.cos, lambda v: -v], x)


@case(floats(0, 4), floats(1, 7, 4), floats(2, 4, 4))
def scan_gradient(state, inputs, weight):
    def loss(w):
        step = lambda carry, x: (jnp.tanh(carry @ w + x), ())  # noqa: E731
        return jnp.sum(lax.scan(step, state, inputs)[0])

    return jax.grad(loss)(weight)


@case(floats(0, 6, 5))
def mapped(x):
    return jax.vmap(lambda row: row / jnp.linalg.norm(row))(x), lax.map(jnp.sum, x)


@case(floats(0, 3, 5))
def rematerialized_gradient(x):
    return jax.grad(lambda v: jax.checkpoint(lambda a: jnp.sin(jnp.sin(a)))(v).sum())(x)


# Random numbers -----------------------------------------------------------------------------------

_KEY = np.array([1, 42], dtype=np.uint32)


@case(_KEY)
def random_uniform(key):
    return jax.random.uniform(key, (3, 40))


@case(_KEY)
def random_normal(key):
    first, second = jax.random.split(key)
    return jax.random.normal(first, (64,)), jax.random.bernoulli(second, 0.3, (50,))


@case(_KEY)
def random_integers(key):
    return jax.random.randint(key, (40,), 0, 9), jax.random.permutation(key, 17)


@case(_KEY, floats(0, 4, 9))
def random_categorical(key, logits):
    return jax.random.categorical(key, logits)


@case(_KEY, floats(0, 8, 9))
def dropout(key, x):
    return jnp.where(jax.random.bernoulli(key, 0.9, x.shape), x / 0.9, 0)


@case(floats(0, 3, 6), np.array([[0, 9, -2, 5]] * 3, dtype=np.int32), floats(1, 3, 4))
def places_out_of_range(x, indices, values):
    """Gathers take the nearest or nothing, scatters leave out what has no place."""
    taken = [jnp.take_along_axis(x, indices, 1, mode=m) for m in ("fill", "clip")]
    rows = indices[0]
    return taken, x[:, rows], x.at[:, rows].add(values), x.at[rows].set(1.0)


# Functions of jax.numpy that are made of many -----------------------------------------------------


@case(floats(0, 60))
def counted_and_found(x):
    counts, edges = jnp.histogram(x, 5)
    return counts, edges, jnp.nonzero(x > 0, size=10), jnp.interp(x, edges, jnp.arange(6.0))


@case(integers(0, 6, 12))
def unique(x):
    return jnp.unique(x, size=8, fill_value=-1), jnp.bincount(x, length=6)


@case(_KEY)
def random_choice(key):
    return jax.random.choice(key, 10, (4,), replace=False)


@case(floats(0, 8, 8))
def resized(x):
    return jax.image.resize(x, (16, 16), "bilinear"), jnp.convolve(x[0], jnp.ones(3))


@case(floats(0, 4, 8))
def rare_functions(x):
    hyper = jnp.logaddexp(x, 2 * x) + jnp.hypot(x, x) + jnp.sinc(x) + jax.nn.selu(x)
    return hyper, jax.nn.glu(x), jnp.kron(x[:2, :2], x[2:, 2:4]), jnp.triu(x), jnp.diag(x[:, :4])
