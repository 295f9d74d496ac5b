"""Compile, run, and the choice between them.

Loaded at the first call of a process, which mostly is one on the simulator: what other calls need
is imported where it is used.
"""

from .engines import load_engines
from .launch import Driver

PROCESS_DRIVER = Driver()
launch = PROCESS_DRIVER.launch


__all__ = ["PROCESS_DRIVER", "Driver", "launch", "load_engines"]
