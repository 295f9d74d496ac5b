"""The simulator: runs the Python of the kernels, one greenlet for each kernel on each node."""

from importlib import import_module
from typing import TYPE_CHECKING

from .simulation import run

__all__ = ["run"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Find `ttl`, `ttnn` and language names, which programs for the public simulator import
        from `ttl.sim`.
        """
        return import_module("ttl.ttnn") if name == "ttnn" else getattr(import_module("ttl"), name)
