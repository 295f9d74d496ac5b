"""Compiles a StableHLO module to a flatbuffer, and runs it.

    binary = compile_module(module)                  # bytes of a .ttnn file
    outputs = Runtime(binary).run([array, ...])      # no user code, no torch

Compiling needs xDSL, running does not: each part is loaded at its first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .compile import compile_module
    from .emit import emit_flatbuffer
    from .metal_emit import emit_metal
    from .metal_runtime import MetalRuntime
    from .operation import compile_operation
    from .runtime import Runtime, run_traced

__all__ = [
    "MetalRuntime",
    "Runtime",
    "compile_module",
    "compile_operation",
    "emit_flatbuffer",
    "emit_metal",
    "run_traced",
]

_MODULES = {
    "compile_module": "compile",
    "compile_operation": "operation",
    "emit_flatbuffer": "emit",
    "emit_metal": "metal_emit",
    "MetalRuntime": "metal_runtime",
    "Runtime": "runtime",
    "run_traced": "runtime",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__package__}.{_MODULES[name]}"), name)
