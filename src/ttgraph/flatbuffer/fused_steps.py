"""Fused operations: softmax, normalization, linear, attention, rotary embedding.

They compute in float32, like the steps that they replace, and round once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import pi, sqrt

import numpy as np

from ttgraph.along import Numbers
from ttl import ttnn

from .program import CallStep, TensorDescription

Function = Callable[..., Numbers]


def make_fused_step(step: CallStep, given: Sequence[TensorDescription]) -> Function | None:
    """Return a function of the inputs' arrays; None for other operations."""
    attributes = step.attributes
    if step.operation == "linear":
        return partial(_linear, transpose_b=attributes["transpose_b"])
    if step.operation == "scaled_dot_product_attention":
        rows = (given[0].shape[2], given[1].shape[2])
        later = np.triu(np.full(rows, -np.inf, np.float32), 1) if attributes["is_causal"] else None
        return partial(_attention, scale=np.float32(attributes["scale"]), later=later)
    found = _FUNCTIONS.get(step.operation)
    return None if found is None else partial(found, **attributes)


def _softmax(x: Numbers, dim: int) -> Numbers:
    powers: Numbers = x - x.max(dim, keepdims=True)
    np.exp(powers, out=powers)
    powers /= powers.sum(dim, keepdims=True)
    return powers


def _rms_norm(
    rows: Numbers, weight: Numbers | None = None, bias: Numbers | None = None, *, epsilon: float
) -> Numbers:
    spread = np.mean(np.square(rows), -1, keepdims=True)
    found: Numbers = rows * (1 / np.sqrt(spread + np.float32(epsilon)))
    if weight is not None:
        found *= weight.reshape(-1)
    if bias is not None:
        found += bias.reshape(-1)
    return found


def _layer_norm(
    rows: Numbers, weight: Numbers | None = None, bias: Numbers | None = None, *, epsilon: float
) -> Numbers:
    return _rms_norm(rows - rows.mean(-1, keepdims=True), weight, bias, epsilon=epsilon)


def _linear(a: Numbers, b: Numbers, bias: Numbers | None = None, *, transpose_b: bool) -> Numbers:
    if b.ndim > 2:
        meaning = ttnn.linear.operation.meaning  # type: ignore[attr-defined]
        product: Numbers = meaning(a, b, bias=bias, transpose_b=transpose_b)
        return product
    weights = b.T if transpose_b else b
    found: Numbers = (a.reshape(-1, a.shape[-1]) @ weights).reshape(*a.shape[:-1], weights.shape[1])
    if bias is not None:
        found += bias.reshape(-1)
    return found


def _attention(
    query: Numbers,
    key: Numbers,
    value: Numbers,
    mask: Numbers | None = None,
    *,
    scale: np.float32,
    later: Numbers | None,
) -> Numbers:
    batch, heads, rows, size = query.shape
    few = key.shape[1]
    queries = (query * scale).reshape(batch, few, heads // few, rows, size)
    scores = queries @ key[:, :, None].swapaxes(-1, -2)
    scores = scores.reshape(batch, heads, rows, -1)
    if later is not None:
        scores += later
    if mask is not None:
        scores = scores + mask
    weights = _softmax(scores, -1).reshape(batch, few, heads // few, rows, -1)
    return (weights @ value[:, :, None]).reshape(batch, heads, rows, -1)


def _rotary_embedding(x: Numbers, cosine: Numbers, sine: Numbers) -> Numbers:
    half = x.shape[-1] // 2
    turned = np.concatenate((-x[..., half:], x[..., :half]), -1)
    turned *= sine
    turned += x * cosine
    return turned


def _gelu_tanh(x: Numbers) -> Numbers:
    curve = np.square(x, dtype=np.float32)
    curve *= 0.044715
    curve += 1
    curve *= x
    curve *= sqrt(2 / pi)
    curve = np.tanh(curve)
    curve += 1
    curve *= x
    curve *= 0.5
    return curve


_FUNCTIONS: dict[str, Function] = {
    "softmax": _softmax,
    "rms_norm": _rms_norm,
    "layer_norm": _layer_norm,
    "rotary_embedding": _rotary_embedding,
    "gelu_tanh": _gelu_tanh,
}
