"""Transfers between tensors and blocks."""

from __future__ import annotations

from typing import Any

from .engine import engine


class Transfer:
    """A copy under way. Its data may be used after wait()."""

    __slots__ = ()

    def wait(self) -> None:
        """Wait until the copy is complete; the handle is dead afterwards."""
        raise NotImplementedError


def copy(source: Any, destination: Any) -> Transfer:
    """Data movement kernels: start a copy between a tensor slice and a block."""
    return engine("ttl.copy()").copy(source, destination)
