"""The compiled operation, in memory and on disk."""

from .bundle import check_includes, write_bundle
from .fits import check_cores, check_fits, overlap
from .manifest import names_of, read_folder, to_json, with_sources, write_folder
from .operation import (
    MARK_KINDS,
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
    OwnArguments,
    Pipe,
    Rectangle,
    Rectangles,
    Semaphore,
    ThreadKind,
)
from .part import Part, parse
from .reader import CONFIG_TYPES, FORMAT_VERSIONS, Artifact, blocks_of, read_artifact

__all__ = [
    "CONFIG_TYPES", "FORMAT_VERSIONS", "MARK_KINDS", "PAGE_BYTES", "Artifact", "Buffer",
    "CompiledOperation", "ComputeConfig", "Coordinate", "CoreArguments", "Kernel", "Mark",
    "Memory", "Operand", "OwnArguments", "Part", "Pipe", "Rectangle", "Rectangles", "Semaphore",
    "ThreadKind", "blocks_of", "check_cores", "check_fits", "check_includes", "names_of",
    "overlap", "parse", "read_artifact", "read_folder", "to_json", "with_sources",
    "write_bundle", "write_folder",
]  # fmt: skip
