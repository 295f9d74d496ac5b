"""Programs of the pykernel DSL, run on the simulator and compiled on the host executor."""

from __future__ import annotations

import importlib.util
import runpy
import sys
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "pykernel"
PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(params=["sim", "host"])
def backend(request, monkeypatch):
    monkeypatch.setenv("TTL_BACKEND", request.param)
    return request.param


@pytest.fixture
def load():
    """A module of the examples, or of the programs beside the tests."""
    loaded = []

    def load(name: str) -> ModuleType:
        places = [folder / f"{name}.py" for folder in (EXAMPLES, PROGRAMS)]
        path = next(place for place in places if place.exists())
        spec = importlib.util.spec_from_file_location(f"pykernel_{name}", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        loaded.append(spec.name)
        spec.loader.exec_module(module)
        return module

    yield load
    for name in loaded:
        del sys.modules[name]


@pytest.fixture
def run_file(tmp_path):
    """The names of a program that stands in a file."""

    def run(text: str) -> dict:
        file = tmp_path / "program.py"
        file.write_text(text)
        return runpy.run_path(str(file))

    return run
