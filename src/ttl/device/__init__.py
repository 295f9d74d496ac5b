"""Run a compiled operation on real hardware, through `ttnn.generic_op`."""

from .chip import Chip, chip_of
from .launcher import launch, launch_program, module_of, parts_on_devices
from .programs import DeviceProgram, Programs
from .readiness import missing

__all__ = [
    "Chip",
    "DeviceProgram",
    "Programs",
    "chip_of",
    "launch",
    "launch_program",
    "missing",
    "module_of",
    "parts_on_devices",
]
