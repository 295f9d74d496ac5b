"""Find the parts of the command line that are about graphs: their package imports this one."""

from __future__ import annotations

from importlib import import_module
from typing import Any

VERBS = ("opt", "run-flatbuffer", "run-metal")


def above(name: str) -> Any:
    """Load a module of the command line of graphs."""
    return import_module(f"ttgraph.cli.{name.replace('-', '_')}")
