"""The driver and options of a verb's process: asked for once, where the verb starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ttl.driver import Driver


def program_driver() -> Driver:
    """The driver of the calls of a program, which keeps what a verb tells about them."""
    from ttl.driver import PROCESS_DRIVER  # not before a verb runs a program

    return PROCESS_DRIVER
