"""Reads StableHLO from jax, torch_xla or tt_torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


def read_module(text: str, file: str = "<stablehlo>") -> ModuleOp:
    """Parse a module; raise UsageError if it is outside the subset or does not verify."""
    from ttgraph.dialects import make_context
    from ttl.dialects.reading import parse_module, verify_module

    module = parse_module(text, file, make_context())
    verify_module(module, "the module does not verify")
    return module
