"""The memory that a tensor's elements lie in: two names may stand for one."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import suppress
from typing import Any

from ttl.language.arguments import is_tensor


def memory_of(tensor: Any) -> Hashable:
    """Equal for tensors that share their memory; None for what is no known tensor."""
    if not is_tensor(tensor):
        return None
    storage = getattr(tensor, "storage", None)
    if storage is not None:
        return id(storage)
    with suppress(Exception):  # a tensor that is not on a device
        return "address", tensor.buffer_address()
    return id(tensor)
