"""`ttnn.experimental`: as much of it as programs mix with their kernels."""

# ruff: noqa
# Written by `python tests/editor/stubs.py`; do not edit.

from ttl.ttnn.experimental import (
    paged_update_cache, rotary_embedding,
)

__all__ = [
    "paged_update_cache", "rotary_embedding",
]
