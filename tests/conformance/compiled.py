"""Which conformance programs run compiled too, and why the others do not.

Every program that uses neither pipes nor semaphores runs twice: on the simulator, and compiled on
the host executor, with the same expectations. This table is the only place for exceptions: the
name of a test (with its parameters, or without for all of them) and the reason, which is one of
rule OBSERVE   the test looks at the simulator by Python objects that its kernels write, which
               language.md forbids in compiled kernels
rule RAISE     the kernel raises a Python exception on purpose, which C++ has not
rule DEVICES   a grid of more than two dimensions, which language.md leaves to the simulator
rule PLACE     the same mistake is found, at another place or time: when compiling, or by the chip's
               interface
"""

from __future__ import annotations

UNCOMPILED_FOLDERS = ("pipes", "semaphores", "multi_device")  # pipes and semaphores, mesh devices

OBSERVE = "its kernels write Python objects around them"
RAISE = "its kernel raises a Python exception"
DEVICES = "a grid of more than two dimensions runs on the simulator"
PLACE = "found at another place when compiled"

EXCEPTIONS: dict[str, str] = {}


def reason_not_compiled(folder: str, name: str) -> str | None:
    """Why a test runs on the simulator only; None if it runs compiled too."""
    if folder in UNCOMPILED_FOLDERS:
        return "pipes, semaphores or several devices"
    return EXCEPTIONS.get(name) or EXCEPTIONS.get(name.partition("[")[0])
