"""`ttnn.kv_cache`: keys and values of earlier tokens, kept in a tensor that each token changes."""

# ruff: noqa
# Written by `python tests/editor/stubs.py`; do not edit.

from ttl.ttnn.kv_cache import (
    fill_cache_for_user_, update_cache_for_token_,
)

__all__ = [
    "fill_cache_for_user_", "update_cache_for_token_",
]
