"""The simulator: runs the Python of the kernels, one greenlet for each kernel on each node."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .simulation import run

__all__ = ["run"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """`from ttl.sim import ttl, ttnn`, as programs for the public simulator begin; some take
        the names of the language from here, too.
        """
        return import_module("ttl.ttnn") if name == "ttnn" else getattr(import_module("ttl"), name)
