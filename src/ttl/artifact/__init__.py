"""The compiled operation, in memory and on disk."""

from .operation import (
    PAGE_BYTES,
    Buffer,
    CompiledOperation,
    ComputeConfig,
    Coordinate,
    Kernel,
    Operand,
    Semaphore,
    ThreadKind,
)

__all__ = [
    "PAGE_BYTES",
    "Buffer",
    "CompiledOperation",
    "ComputeConfig",
    "Coordinate",
    "Kernel",
    "Operand",
    "Semaphore",
    "ThreadKind",
]
