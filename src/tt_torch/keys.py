"""Identify calls of torch graphs and operations by their inputs, apart from elements."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from torch import Tensor


def kinds_of(values: Iterable[Any]) -> tuple[Hashable, ...]:
    return tuple([_kind_of(value) for value in values])


def _kind_of(value: Any) -> Hashable:
    """Distinguish 1, 1.0 and True."""
    if isinstance(value, Tensor):
        return tuple(value.shape), value.dtype, value.device, value.requires_grad
    return type(value), repr(value)
