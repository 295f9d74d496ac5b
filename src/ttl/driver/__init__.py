"""Compile, run, and the choice between them."""

from .compile import compile_operation
from .launch import Driver
from .specs import TensorSpec, compile_from_spec

PROCESS_DRIVER = Driver()
launch = PROCESS_DRIVER.launch

__all__ = [
    "PROCESS_DRIVER",
    "Driver",
    "TensorSpec",
    "compile_from_spec",
    "compile_operation",
    "launch",
]
