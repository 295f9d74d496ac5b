"""The five processors of a core, by their names in tt-metal's logs, and their kernels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ttl.artifact import CompiledOperation, Coordinate, Kernel, ThreadKind


@dataclass(frozen=True, slots=True)
class Processor:
    print_name: str  # in the output of DPRINT
    profiler_name: str
    role: str
    thread: ThreadKind


# In the watcher's order.
PROCESSORS = (
    Processor("BR", "BRISC", "", ThreadKind.WRITER),
    Processor("NC", "NCRISC", "", ThreadKind.READER),
    Processor("TR0", "TRISC_0", "unpack", ThreadKind.COMPUTE),
    Processor("TR1", "TRISC_1", "math", ThreadKind.COMPUTE),
    Processor("TR2", "TRISC_2", "pack", ThreadKind.COMPUTE),
)


def kernel_on(compiled: CompiledOperation, processor: Processor) -> Kernel | None:
    return next((each for each in compiled.kernels if each.thread is processor.thread), None)


def is_core_of(compiled: CompiledOperation, core: Coordinate) -> bool:
    first, last = compiled.core_range
    return all(low <= at <= high for low, at, high in zip(first, core, last, strict=True))


def calls_in(kernel: Kernel, call: str) -> Iterator[int]:
    """Return the lines of a kernel's C++ that contain a call."""
    for number, line in enumerate(kernel.cpp_source.splitlines(), 1):
        if call in line:
            yield number
