"""`operation.bind` gives calls that skip the body, `operation.compile` artifacts without a call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.language.engine import LAUNCH_HOOK

DEVICE = ttnn.open_device(device_id=0)
OTHER = ttnn.open_device(device_id=0, l1_small_size=0)
BACKENDS = ("sim", "host")
BODIES: list[int] = []


@ttl.operation(grid=(1, 1))
def scale(x: Any, y: Any, factor: float = 2.0) -> None:
    BODIES.append(1)
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

    @ttl.compute()
    def compute() -> None:
        with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
            y_blk.store(x_blk * factor)

    @ttl.datamovement()
    def read() -> None:
        with x_dfb.reserve() as x_blk:
            ttl.copy(x[0, 0], x_blk).wait()

    @ttl.datamovement()
    def write() -> None:
        with y_dfb.wait() as y_blk:
            ttl.copy(y_blk, y[0, 0]).wait()


def tensor(value: float = 0.0, **options: Any) -> Any:
    given = {"dtype": ttnn.float32, "layout": ttnn.TILE_LAYOUT, "device": DEVICE, **options}
    return ttnn.full(given.pop("shape", (32, 32)), value, **given)


def first(found: Any) -> float:
    return float(ttl.to_numpy(found)[0, 0])


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("TTL_BACKEND", request.param)
    return str(request.param)


def test_a_bound_call_runs_on_its_tensors_and_on_others(backend: str) -> None:
    x, y = tensor(3), tensor()
    bound = scale.bind(x, y)
    assert first(y) == 0  # nothing has run
    bound()
    assert first(y) == 6
    x.storage.fill(np.float32(5))
    bound()
    assert first(y) == 10
    other = tensor()
    bound(tensor(7), other)
    assert first(other) == 14 and first(y) == 10


def test_a_bound_call_of_compiled_kernels_does_not_run_the_body(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TTL_BACKEND", "host")
    bound = scale.bind(tensor(3), tensor())
    before = len(BODIES)
    bound()
    bound(tensor(1), tensor())
    assert len(BODIES) == before


def test_its_text_is_short(backend: str) -> None:
    assert repr(scale.bind(tensor(), tensor())) == "<scale bound to x, y>"


def test_constants_are_bound_too(backend: str) -> None:
    x, y = tensor(3), tensor()
    bound = scale.bind(x, y, factor=5.0)
    scale(x, y)
    assert first(y) == 6
    bound()
    assert first(y) == 15


def test_the_artifact_is_there(backend: str) -> None:
    artifact = scale.bind(tensor(), tensor()).artifact
    assert (artifact is None) == (backend == "sim")
    if artifact is not None:
        assert artifact.name == "scale"


@pytest.mark.parametrize(
    "others, message",
    [
        (lambda: [tensor()], r"the bound scale takes 2 \(x, y\) tensors, not 1"),
        (lambda: [tensor(), 5], "`y` of the bound scale is a tensor, not 5"),
        (
            lambda: [tensor(shape=(64, 32)), tensor()],
            r"`x` .* has shape \(32, 32\), not \(64, 32\)",
        ),
        (lambda: [tensor(dtype=ttnn.bfloat16), tensor()], "`x` .* has dtype float32, not bfloat16"),
        (
            lambda: [tensor(memory_config=ttnn.L1_MEMORY_CONFIG), tensor()],
            "`x` .* has memory .*DRAM.*, not .*L1",
        ),
        (lambda: [tensor()] * 2, "given one tensor in several places"),
    ],
)
def test_tensors_of_other_kinds_are_refused(backend: str, others: Any, message: str) -> None:
    bound = scale.bind(tensor(), tensor())
    with pytest.raises(ttl.UsageError, match=message) as raised:
        bound(*others())
    assert raised.value.diagnostics[0].primary is not None
    assert "bind the operation to these tensors" in raised.value.diagnostics[0].helps


def test_a_bound_call_on_a_tensor_whose_memory_is_gone(backend: str) -> None:
    x = tensor()
    bound = scale.bind(x, tensor())
    x.deallocate()
    with pytest.raises(ttl.UsageError, match="deallocated"):
        bound()


def test_operations_of_a_mesh_are_bound_device_by_device() -> None:
    mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 2))
    x = ttnn.from_torch(
        np.zeros((32, 32), np.float32),
        dtype=ttnn.float32,
        layout=ttnn.TILE_LAYOUT,
        device=mesh,
        mesh_mapper=ttnn.ReplicateTensorToMesh(mesh),
    )
    with pytest.raises(ttl.UsageError, match="spread over a mesh"):
        scale.bind(x, x)


def test_an_operation_is_not_bound_inside_another() -> None:
    @ttl.operation(grid=(1, 1))
    def outer(x: Any, y: Any) -> None:
        scale.bind(x, y)

    with pytest.raises(ttl.UsageError, match="called in the body of an operation"):
        outer(tensor(), tensor())


def test_a_mistake_in_the_call_is_told_when_it_is_bound(backend: str) -> None:
    with pytest.raises(ttl.UsageError):
        scale.bind(tensor())


def test_a_captured_trace_replays_a_bound_call(backend: str) -> None:
    x, y = tensor(3), tensor()
    bound = scale.bind(x, y)
    bound()
    trace = ttnn.begin_trace_capture(DEVICE, cq_id=0)
    bound()
    ttnn.end_trace_capture(DEVICE, trace, cq_id=0)
    x.storage.fill(np.float32(4))
    ttnn.execute_trace(DEVICE, trace, cq_id=0)
    assert first(y) == 8
    ttnn.release_trace(DEVICE, trace)


@pytest.mark.parametrize("kind", ["tensors", "specs"])
def test_an_operation_is_compiled_ahead(backend: str, kind: str) -> None:
    spec = ttnn.TensorSpec((32, 32), ttnn.float32, ttnn.TILE_LAYOUT)
    before = LAUNCH_HOOK.last_grid
    given = [spec, spec] if kind == "specs" else [tensor(1), tensor()]
    artifact = scale.compile(*given, factor=3.0)
    assert "3.0f" in "".join(kernel.cpp_source for kernel in artifact.kernels)
    assert [operand.shape for operand in artifact.operands] == [(32, 32)] * 2
    assert before is None or LAUNCH_HOOK.last_grid == (1, 1)


G = tensor(100.0)


@ttl.operation(grid=(1, 1))
def add_global(x: Any, y: Any) -> None:
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
    g_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

    @ttl.compute()
    def compute() -> None:
        with x_dfb.wait() as x_blk, g_dfb.wait() as g_blk, y_dfb.reserve() as y_blk:
            y_blk.store(x_blk + g_blk)

    @ttl.datamovement()
    def read() -> None:
        with x_dfb.reserve() as x_blk, g_dfb.reserve() as g_blk:
            ttl.copy(x[0, 0], x_blk).wait()
            ttl.copy(G[0, 0], g_blk).wait()

    @ttl.datamovement()
    def write() -> None:
        with y_dfb.wait() as y_blk:
            ttl.copy(y_blk, y[0, 0]).wait()


def test_a_tensor_that_kernels_capture_stays(backend: str) -> None:
    y = tensor()
    bound = add_global.bind(tensor(1.0), y)
    bound()
    assert first(y) == 101
    bound(tensor(2.0), y)
    assert first(y) == 102
    both = add_global.bind(G, y)
    both()
    assert first(y) == 200
    with pytest.raises(ttl.UsageError, match="`x` of the bound add_global is captured"):
        both(tensor(1.0), y)


@pytest.mark.parametrize("way", ["call", "bind"])
def test_a_description_is_no_tensor(backend: str, way: str) -> None:
    spec = ttnn.TensorSpec((32, 32), ttnn.float32, ttnn.TILE_LAYOUT)
    with pytest.raises(ttl.UsageError, match="TensorSpec, not a ttnn tensor"):
        (scale if way == "call" else scale.bind)(spec, tensor())
