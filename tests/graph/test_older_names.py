"""Programs that import graphs by their older names."""

from __future__ import annotations

from importlib import import_module

import pytest


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("jax", "compile"),
        ("flatbuffer", "Runtime"),
        ("flatbuffer", "compile_module"),
        ("stablehlo", "read_module"),
        ("d2m_graph", "run_ttir"),
    ],
)
def test_older_names_are_the_same_objects(module: str, name: str) -> None:
    older = getattr(import_module(f"ttl.integrations.{module}"), name)
    assert older is getattr(import_module(f"ttgraph.{module}"), name)
