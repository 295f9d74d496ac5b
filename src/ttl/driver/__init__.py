"""Compile, run, and the choice between them."""

from .compile import compile_operation
from .launch import Driver

PROCESS_DRIVER = Driver()
launch = PROCESS_DRIVER.launch

__all__ = ["PROCESS_DRIVER", "Driver", "compile_operation", "launch"]
