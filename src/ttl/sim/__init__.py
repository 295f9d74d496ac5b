"""The simulator: runs the Python of the kernels, one greenlet for each kernel on each node."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .simulation import run

__all__ = ["run"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """`from ttl.sim import ttl, ttnn`, as programs for the public simulator begin."""
        if name not in ("ttl", "ttnn"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return import_module("ttl" if name == "ttl" else "ttl.ttnn")
