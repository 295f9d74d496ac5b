"""Compile, run, and the choice between them."""

from .compile import compile_operation
from .launch import Driver

launch = Driver().launch

__all__ = ["Driver", "compile_operation", "launch"]
