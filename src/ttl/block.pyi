"""Functions that arrange, fill and select."""

# ruff: noqa
# Written by `python tests/editor/stubs.py`; do not edit.

from ttl.math import (
    broadcast, fill, mask, mask_posinf, squeeze, transpose, unsqueeze, where,
)

__all__ = [
    "broadcast", "fill", "mask", "mask_posinf", "squeeze", "transpose", "unsqueeze", "where",
]
