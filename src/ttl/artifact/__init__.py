"""The compiled operation, in memory and on disk; loads modules that compiling skips on demand."""

from importlib import import_module
from typing import TYPE_CHECKING

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
    NamedPipe,
    Operand,
    OwnArguments,
    Rectangle,
    Rectangles,
    SemaphorePlan,
    ThreadKind,
)

MODULES = {
    "bundle": ("check_includes", "write_bundle"),
    "fits": ("check_cores", "check_fits", "overlap"),
    "manifest": ("names_of", "read_folder", "to_json", "with_sources", "write_folder"),
    "part": ("Part", "parse"),
    "reader": ("CONFIG_TYPES", "FORMAT_VERSIONS", "Artifact", "blocks_of", "read_artifact"),
}

if TYPE_CHECKING:
    from .bundle import check_includes, write_bundle
    from .fits import check_cores, check_fits, overlap
    from .manifest import names_of, read_folder, to_json, with_sources, write_folder
    from .part import Part, parse
    from .reader import CONFIG_TYPES, FORMAT_VERSIONS, Artifact, blocks_of, read_artifact
else:
    _MODULE_OF = {name: module for module, names in MODULES.items() for name in names}

    def __getattr__(name: str) -> object:
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


__all__ = [
    "CONFIG_TYPES",
    "FORMAT_VERSIONS",
    "MARK_KINDS",
    "PAGE_BYTES",
    "Artifact",
    "Buffer",
    "CompiledOperation",
    "ComputeConfig",
    "Coordinate",
    "CoreArguments",
    "Kernel",
    "Mark",
    "Memory",
    "NamedPipe",
    "Operand",
    "OwnArguments",
    "Part",
    "Rectangle",
    "Rectangles",
    "SemaphorePlan",
    "ThreadKind",
    "blocks_of",
    "check_cores",
    "check_fits",
    "check_includes",
    "names_of",
    "overlap",
    "parse",
    "read_artifact",
    "read_folder",
    "to_json",
    "with_sources",
    "write_bundle",
    "write_folder",
]
