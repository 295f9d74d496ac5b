"""Programs that leave out releases and waits give what the complete ones give, on both backends."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import ttl
from property.left_out_programs import Program, drawn_program
from ttl import ttnn
from ttl.source.facts import facts_of
from ttl.target import load

DEVICE = ttnn.open_device(device_id=0)
TARGET = load("wormhole_b0")
SEEDS = range(40)
COMPILED = range(8)


def loaded(text: str, path: Path) -> ModuleType:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tensors(program: Program):
    values = np.arange(32 * 32 * program.tiles, dtype=np.float32).reshape(32, -1) % 251
    x = ttl.from_numpy(values, dtype=ttnn.float32, device=DEVICE)
    return values, x, ttnn.zeros(values.shape, ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)


def check(seed: int, tmp_path: Path) -> None:
    program = drawn_program(seed)
    module = loaded(program.left_out, tmp_path / f"left_out_{seed}.py")
    values, x, y = tensors(program)
    module.operation(x, y)
    assert (ttl.to_numpy(y) == 2 * values).all(), program.left_out


@pytest.mark.parametrize("seed", SEEDS)
def test_simulated(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTL_BACKEND", "sim")
    check(seed, tmp_path)


@pytest.mark.parametrize("seed", COMPILED)
def test_compiled(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTL_BACKEND", "host")
    check(seed, tmp_path)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_complete_program_needs_nothing(seed: int, tmp_path: Path) -> None:
    program = drawn_program(seed)
    module = loaded(program.complete, tmp_path / f"complete_{seed}.py")
    _, x, y = tensors(program)
    found = module.operation.program((x, y), {}, TARGET.default_grid)
    assert facts_of(found).points == []
