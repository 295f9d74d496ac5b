"""What torch's attention layers call in one piece when they do not train, taken apart.

The layers do so for every device that is not torch's own, and have no other way to say it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

aten = torch.ops.aten
BY_BATCH = 1  # the mask_type of a mask of keys, (batch, keys); others broadcast as they are


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    heads: int,
    weight: Tensor,
    bias: Tensor,
    out_weight: Tensor,
    out_bias: Tensor,
    mask: Tensor | None = None,
    need_weights: bool = True,
    average_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Tensor, Tensor | None]:
    parts = zip((query, key, value), weight.chunk(3), bias.chunk(3), strict=True)
    q, k, v = (F.linear(*part).unflatten(-1, (heads, -1)).transpose(1, 2) for part in parts)
    scores = q @ k.mT * (embed_dim // heads) ** -0.5
    if mask is not None:
        scores = _masked(scores, mask[:, None, None] if mask_type == BY_BATCH else mask)
    weights = scores.softmax(-1)
    result = F.linear((weights @ v).transpose(1, 2).flatten(2), out_weight, out_bias)
    if not need_weights:
        return result, None
    return result, weights.mean(1) if average_weights else weights


def _masked(scores: Tensor, mask: Tensor) -> Tensor:
    if mask.dtype is torch.bool:
        return scores.masked_fill(mask, -float("inf"))
    return scores + mask


def encoder_layer(
    source: Tensor,
    embed_dim: int,
    heads: int,
    weight: Tensor,
    bias: Tensor,
    out_weight: Tensor,
    out_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    weight_1: Tensor,
    bias_1: Tensor,
    weight_2: Tensor,
    bias_2: Tensor,
    mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Tensor:
    def norm_1(x: Tensor) -> Tensor:
        return F.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def norm_2(x: Tensor) -> Tensor:
        return F.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    def attend(x: Tensor) -> Tensor:
        projections = (weight, bias, out_weight, out_bias)
        return attention(
            x, x, x, embed_dim, heads, *projections, mask, need_weights=False, mask_type=mask_type
        )[0]

    def feed(x: Tensor) -> Tensor:
        hidden = F.linear(x, weight_1, bias_1)
        return F.linear(F.gelu(hidden) if use_gelu else F.relu(hidden), weight_2, bias_2)

    if norm_first:
        middle = source + attend(norm_1(source))
        return middle + feed(norm_2(middle))
    middle = norm_1(source + attend(source))
    return norm_2(middle + feed(middle))


DECOMPOSITIONS: dict[Any, Callable[..., Any]] = {
    aten._native_multi_head_attention.default: attention,
    aten._transformer_encoder_layer_fwd.default: encoder_layer,
}
