"""Python source to the ttl dialect."""

from .module import build_module

__all__ = ["build_module"]
