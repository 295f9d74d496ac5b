"""Decomposes fused operations that attention, recurrent layers and layers of experts call.

The layers call them for every device that is not torch's own, without an alternative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

aten = torch.ops.aten
BY_BATCH = 1  # the mask_type of a mask of keys, (batch, keys); other masks broadcast


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
    def norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return F.layer_norm(x, (embed_dim,), weight, bias, eps)

    def attend(x: Tensor) -> Tensor:
        projections = (weight, bias, out_weight, out_bias)
        return attention(
            x, x, x, embed_dim, heads, *projections, mask, need_weights=False, mask_type=mask_type
        )[0]

    def feed(x: Tensor) -> Tensor:
        hidden = F.linear(x, weight_1, bias_1)
        return F.linear(F.gelu(hidden) if use_gelu else F.relu(hidden), weight_2, bias_2)

    first, second = (norm_weight_1, norm_bias_1), (norm_weight_2, norm_bias_2)
    if norm_first:
        middle = source + attend(norm(source, *first))
        return middle + feed(norm(middle, *second))
    middle = norm(source + attend(source), *first)
    return norm(middle + feed(middle), *second)


def lstm_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    cell: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the new hidden state and cell, and the gates for the gradient."""
    gates = _biased(input_gates, input_bias) + _biased(hidden_gates, hidden_bias)
    enter, forget, content, leave = gates.chunk(4, -1)
    enter, forget, leave = enter.sigmoid(), forget.sigmoid(), leave.sigmoid()
    content = content.tanh()
    new = forget * cell + enter * content
    return leave * new.tanh(), new, torch.cat([enter, forget, content, leave], -1)


def lstm_cell_backward(
    grad_hidden: Tensor | None,
    grad_new: Tensor | None,
    cell: Tensor,
    new: Tensor,
    gates: Tensor,
    has_bias: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of the gates, the cell, and the biases."""
    enter, forget, content, leave = gates.chunk(4, -1)
    curve = new.tanh()
    of_hidden = torch.zeros_like(new) if grad_hidden is None else grad_hidden
    of_new = of_hidden * leave * (1 - curve * curve)
    of_new = of_new if grad_new is None else of_new + grad_new
    of_gates = [
        of_new * content * enter * (1 - enter),
        of_new * cell * forget * (1 - forget),
        of_new * enter * (1 - content * content),
        of_hidden * curve * leave * (1 - leave),
    ]
    found = torch.cat(of_gates, -1)
    return found, of_new * forget, found.sum(0)


def gru_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    hidden: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the new hidden state, and values for the gradient."""
    reset, update, content = _biased(input_gates, input_bias).chunk(3, -1)
    own_reset, own_update, own_content = _biased(hidden_gates, hidden_bias).chunk(3, -1)
    reset, update = (reset + own_reset).sigmoid(), (update + own_update).sigmoid()
    new = (content + reset * own_content).tanh()
    kept = torch.cat([reset, update, new, hidden, own_content], -1)
    return (1 - update) * new + update * hidden, kept


def gru_cell_backward(
    grad: Tensor, kept: Tensor, has_bias: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return the gradients of the gates, the hidden state, and the biases."""
    reset, update, new, hidden, own_content = kept.chunk(5, -1)
    of_new = grad * (1 - update) * (1 - new * new)
    of_reset = of_new * own_content * reset * (1 - reset)
    of_update = grad * (hidden - new) * update * (1 - update)
    given = torch.cat([of_reset, of_update, of_new], -1)
    own = torch.cat([of_reset, of_update, of_new * reset], -1)
    return given, own, grad * update, given.sum(0), own.sum(0)


def _biased(gates: Tensor, bias: Tensor | None) -> Tensor:
    return gates if bias is None else gates + bias


def grouped_mm(
    x: Tensor,
    weights: Tensor,
    ends: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: torch.dtype | None = None,
) -> Any:
    """Multiply each group of rows with its own matrix; a group ends before its row in `ends`.

    The ends are not known before the run, so each product has all rows, with other groups' zeroed.
    """
    if x.ndim != 2 or weights.ndim != 3 or ends is None or bias is not None:
        return NotImplemented
    places = torch.arange(x.shape[0], device=x.device)
    begins = torch.cat([ends.new_zeros(1), ends[:-1]])
    is_own = (places >= begins[:, None]) & (places < ends[:, None])
    products = torch.bmm(x * is_own[:, :, None].to(x.dtype), weights)
    return products.sum(0).to(out_dtype or x.dtype)


def of_transformers() -> dict[Any, Callable[..., Any]]:
    """Return decompositions of transformers' own operations, if it is loaded."""
    name = "transformers::grouped_mm_fallback"
    if not torch._C._jit_get_schemas_for_operator(name):
        return {}
    return {torch.ops.transformers.grouped_mm_fallback.default: grouped_mm}


DECOMPOSITIONS: dict[Any, Callable[..., Any]] = {
    aten._native_multi_head_attention.default: attention,
    aten._transformer_encoder_layer_fwd.default: encoder_layer,
    aten._thnn_fused_lstm_cell.default: lstm_cell,
    aten._thnn_fused_lstm_cell_backward_impl.default: lstm_cell_backward,
    aten._thnn_fused_gru_cell.default: gru_cell,
    aten._thnn_fused_gru_cell_backward.default: gru_cell_backward,
    aten._grouped_mm.default: grouped_mm,
}
