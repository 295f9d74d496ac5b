"""`ttnn.transformer`: the operations of attention."""

from __future__ import annotations

from typing import Any

import numpy as np

from ttl.semantics.dtypes import Array

from .faults import wrong
from .operations.arguments import Number, shapes_differ
from .operations.run import PLACED, in_place, operation

ATTENTION = (*PLACED, "program_config", "compute_kernel_config")

__all__ = [
    "attention_softmax",
    "attention_softmax_",
    "concatenate_heads",
    "scaled_dot_product_attention",
    "split_query_key_value_and_split_heads",
]


@operation(group="transformer.", floats=True, options=ATTENTION)
def scaled_dot_product_attention(
    input_tensor_q: Array,
    input_tensor_k: Array,
    input_tensor_v: Array,
    *,
    attn_mask: Array | None = None,
    is_causal: bool = True,
    scale: Number | None = None,
) -> Any:
    """softmax(q @ k^T * scale + mask) @ v, for tensors of (batch, heads, sequence, head size)."""
    inputs = input_tensor_q, input_tensor_k, input_tensor_v
    q, k, v = (x.astype(np.float64) for x in inputs)
    _check_attention(q, k, v)
    if is_causal and attn_mask is not None:
        raise wrong(
            "is_causal=True, the default, and attn_mask exclude each other",
            "add is_causal=False to use the mask",
        )
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    scores: Any = q @ np.swapaxes(k, -1, -2) * factor
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:]) > 0, scores, -np.inf)
    elif attn_mask is not None:
        scores = scores + _fitting(attn_mask, scores.shape)
    return _softmax(scores) @ v


@operation(group="transformer.", floats=True, options=(*PLACED, "program_config"))
def attention_softmax(
    tensor: Array,
    *,
    head_size: int | None = None,
    attention_mask: Array | None = None,
    causal_mask: bool = False,
) -> Any:
    """softmax(x / sqrt(head_size) + mask) along the last dimension."""
    scores: Any = tensor.astype(np.float64)
    if head_size is not None:
        scores = scores / np.sqrt(head_size)
    if attention_mask is not None:
        scores = scores + _fitting(attention_mask, scores.shape)
    return _softmax(scores)


attention_softmax_ = in_place(attention_softmax, "attention_softmax_", (*PLACED, "program_config"))


@operation(group="transformer.", options=(*PLACED, "use_falcon7b_backend"))
def split_query_key_value_and_split_heads(
    input_tensor: Array,
    kv_input_tensor: Array | None = None,
    *,
    num_heads: int,
    num_kv_heads: int | None = None,
    transpose_key: bool = True,
) -> Any:
    """[query, key, value] of (batch, heads, sequence, head size), from columns side by side."""
    parts = [x for x in (input_tensor, kv_input_tensor) if x is not None]
    kv_heads = num_kv_heads or num_heads
    count, columns = num_heads + 2 * kv_heads, sum(x.shape[-1] for x in parts if x.ndim)
    if not _are_rows(parts) or min(num_heads, kv_heads) < 1 or columns % count:
        raise shapes_differ(
            f"{num_heads} heads of the query and {kv_heads} of key and value do not divide the "
            f"columns of tensors of shape {' and '.join(str(x.shape) for x in parts)}",
            "give tensors of (batch, sequence, columns), with as many columns for each head",
        )
    rows = np.concatenate(parts, axis=-1)
    heads = rows.reshape(rows.shape[0], rows.shape[-2], count, -1)
    found = np.split(heads.transpose(0, 2, 1, 3), [num_heads, num_heads + kv_heads], axis=1)
    if transpose_key:
        found[1] = np.swapaxes(found[1], -1, -2)
    return found


@operation(group="transformer.", options=PLACED)
def concatenate_heads(input_tensor: Array) -> Any:
    """(batch, sequence, heads * head size) from (batch, heads, sequence, head size)."""
    if input_tensor.ndim != 4:
        raise shapes_differ(
            f"ttnn.transformer.concatenate_heads() of a tensor of shape {input_tensor.shape}",
            "give a tensor of (batch, heads, sequence, head size)",
        )
    batch, _, sequence, _ = input_tensor.shape
    return input_tensor.transpose(0, 2, 1, 3).reshape(batch, sequence, -1)


def _are_rows(tensors: list[Array]) -> bool:
    """Are all (batch, sequence, columns) or (batch, 1, sequence, columns), alike up to columns?"""
    first = tensors[0].shape
    is_flat = len(first) == 3 or (len(first) == 4 and first[1] == 1)
    return is_flat and all(tensor.shape[:-1] == first[:-1] for tensor in tensors)


def _check_attention(q: Any, k: Any, v: Any) -> None:
    fits = (
        q.ndim == k.ndim == v.ndim == 4
        and k.shape[:3] == v.shape[:3]
        and q.shape[0] == k.shape[0]
        and q.shape[1] % k.shape[1] == 0
        and q.shape[3] == k.shape[3]
    )
    if not fits:
        raise shapes_differ(
            f"attention of a query of shape {q.shape}, a key of {k.shape}, a value of {v.shape}",
            "give tensors of (batch, heads, sequence, head size); the heads of the query are a "
            "multiple of those of key and value",
        )


def _fitting(mask: Array, shape: tuple[int, ...]) -> Any:
    try:
        return np.broadcast_to(mask, shape)
    except ValueError:
        raise shapes_differ(
            f"a mask of shape {mask.shape} for scores of shape {shape}",
            "batch and heads of a mask may be 1, all other sizes are those of the scores",
        ) from None


def _softmax(scores: Any) -> Any:
    powers = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return powers / np.sum(powers, axis=-1, keepdims=True)
