"""The compiled operation, in memory and on disk."""

from .bundle import check_includes, write_bundle
from .manifest import (
    CONFIG_TYPES,
    FORMAT_VERSIONS,
    read_folder,
    to_json,
    with_sources,
    write_folder,
)
from .operation import (
    PAGE_BYTES,
    Buffer,
    CompiledOperation,
    ComputeConfig,
    Coordinate,
    CoreArguments,
    Kernel,
    Mark,
    Memory,
    Operand,
    Pipe,
    Semaphore,
    ThreadKind,
)

__all__ = [
    "CONFIG_TYPES",
    "FORMAT_VERSIONS",
    "PAGE_BYTES",
    "Buffer",
    "CompiledOperation",
    "ComputeConfig",
    "Coordinate",
    "CoreArguments",
    "Kernel",
    "Mark",
    "Memory",
    "Operand",
    "Pipe",
    "Semaphore",
    "ThreadKind",
    "check_includes",
    "read_folder",
    "to_json",
    "with_sources",
    "write_bundle",
    "write_folder",
]
