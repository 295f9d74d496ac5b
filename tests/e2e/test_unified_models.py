"""Parts of models as unified operations, composed and not, against numpy."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.config import process_variables
from ttl.source.unified.unify import show_threads

EXAMPLES = Path(__file__).parents[2] / "examples"
BACKENDS = pytest.mark.parametrize("backend", ["sim", "host"])
ERROR = 0.01  # of the largest value, in bf16
NODES = 4


def example(folder: str, name: str) -> ModuleType:
    sys.path.insert(0, str(EXAMPLES / folder))
    try:
        return __import__(name)
    finally:
        sys.path.pop(0)


@BACKENDS
@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("unified", "flash_attention"),
        ("unified", "transformer_mlp"),
        ("pieces", "transformer_block"),
    ],
)
def test_it_is_near_to_numpy(folder: str, name: str, backend: str) -> None:
    with process_variables({"TTL_BACKEND": backend}):
        result, exact = example(folder, name).run()
    assert np.abs(result - exact).max() < ERROR * np.abs(exact).max()


def test_the_transformer_block_is_short() -> None:
    block = example("pieces", "transformer_block").transformer_block.function.__code__
    lines = {line for _, _, line in block.co_lines() if line}
    assert max(lines) - min(lines) + 1 < 60


@BACKENDS
def test_a_ring_of_nodes_is_summed(backend: str) -> None:
    pieces = example("pieces", "movement")
    load, ring_reduce, store = pieces.load, pieces.ring_reduce, pieces.store

    @ttl.operation(grid=(NODES, 1))
    def operation(x, y):
        ring = ttl.PipeNet([ttl.Pipe((n, 0), ((n + 1) % NODES, 0)) for n in range(NODES)])
        x_dfb, sent, got, y_dfb = (
            ttl.make_dataflow_buffer_like(x, shape=(1, 2), block_count=2) for _ in range(4)
        )
        node = ttl.node(dims=1)
        load(x, node, 0, x_dfb)
        ring_reduce(x_dfb, ring, NODES, sent, got, y_dfb)
        store(y_dfb, y, node, 0)

    device = ttnn.open_device(device_id=0)
    numbers = np.random.default_rng(0).integers(0, 9, (32 * NODES, 64)).astype(np.float32)
    x = ttl.from_numpy(numbers, dtype=ttnn.bfloat16, device=device)
    y = ttnn.zeros_like(x)
    with process_variables({"TTL_BACKEND": backend}):
        operation(x, y)
    expected = np.tile(numbers.reshape(NODES, 32, 64).sum(axis=0), (NODES, 1))
    np.testing.assert_array_equal(ttl.to_numpy(y), expected)


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("unified", "flash_attention"),
        ("unified", "transformer_mlp"),
        ("pieces", "transformer_block"),
    ],
)
def test_the_kernels_that_are_shown_run(
    folder: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    call = ttl.Operation.__call__

    def noted(operation, *tensors):
        calls.append((operation, tensors))
        call(operation, *tensors)

    monkeypatch.setattr(ttl.Operation, "__call__", noted)
    example(folder, name).run()
    operation, given = calls[0]
    shown = show_threads(operation, dict(zip(operation.signature.parameters, given, strict=True)))
    assert shown is not None
    file = tmp_path / "shown.py"
    file.write_text(shown.partition("becomes\n")[2], encoding="utf-8")
    module: dict = {}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), module)
    again = ttnn.zeros_like(given[-1])
    call(module[operation.__name__], *given[:-1], again)
    np.testing.assert_array_equal(ttl.to_numpy(again), ttl.to_numpy(given[-1]))
