"""The compiled operation, in memory and on disk."""

from .manifest import read_folder, write_folder
from .operation import (
    PAGE_BYTES,
    Buffer,
    CompiledOperation,
    ComputeConfig,
    Coordinate,
    CoreArguments,
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
    "CoreArguments",
    "Kernel",
    "Operand",
    "Semaphore",
    "ThreadKind",
    "read_folder",
    "write_folder",
]
