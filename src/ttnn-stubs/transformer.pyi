"""`ttnn.transformer`: the operations of attention."""

# ruff: noqa
# Written by `python tests/editor/stubs.py`; do not edit.

from ttl.ttnn.transformer import (
    attention_softmax, attention_softmax_, concatenate_heads, scaled_dot_product_attention,
    split_query_key_value_and_split_heads,
)

__all__ = [
    "attention_softmax", "attention_softmax_", "concatenate_heads", "scaled_dot_product_attention",
    "split_query_key_value_and_split_heads",
]
