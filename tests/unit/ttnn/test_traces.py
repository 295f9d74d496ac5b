"""Traces: what is captured is computed again, on what the tensors hold then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.diagnostics import UsageError

DEVICE = ttnn.open_device(device_id=0)


def filled(value: float, device: Any = DEVICE) -> ttnn.Tensor:
    return ttnn.full((32, 32), value, ttnn.float32, layout=ttnn.TILE_LAYOUT, device=device)


def value(tensor: ttnn.Tensor) -> float:
    return float(ttnn.to_numpy(tensor)[0, 0])


@ttl.operation(grid=(1, 1))
def doubled(x, out):  # type: ignore[no-untyped-def]
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
    out_dfb = ttl.make_dataflow_buffer_like(out, shape=(1, 1))

    @ttl.datamovement()
    def read() -> None:
        with x_dfb.reserve() as block:
            ttl.copy(x[0, 0], block).wait()

    @ttl.compute()
    def compute() -> None:
        with x_dfb.wait() as block, out_dfb.reserve() as result:
            result.store(block + block)

    @ttl.datamovement()
    def write() -> None:
        with out_dfb.wait() as block:
            ttl.copy(block, out[0, 0]).wait()


@pytest.mark.parametrize("backend", ["sim", "host"])
def test_operations_of_ttnn_and_of_programs(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTL_BACKEND", backend)
    a, out = filled(1), filled(0)
    trace = ttnn.begin_trace_capture(DEVICE, cq_id=0)
    total = ttnn.add(a, 2)
    doubled(total, out)
    ttnn.add_(out, a)
    result = ttnn.typecast(ttnn.split(out, 16, dim=0)[1], ttnn.int32)
    ttnn.deallocate(total)
    ttnn.end_trace_capture(DEVICE, trace, cq_id=0)
    assert (value(out), value(result)) == (7, 7)
    ttnn.copy(filled(10), a)
    ttnn.execute_trace(DEVICE, trace, cq_id=0, blocking=False)
    ttnn.synchronize_device(DEVICE)
    assert (value(out), value(result)) == (34, 34)
    ttnn.execute_trace(DEVICE, trace)
    assert value(out) == 34
    ttnn.release_trace(DEVICE, trace)


def test_collectives_of_a_mesh() -> None:
    mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 2))
    a = filled(1, mesh)
    trace = ttnn.begin_trace_capture(mesh)
    total = ttnn.all_reduce(a)
    ttnn.end_trace_capture(mesh, trace)
    ttnn.copy(filled(5, mesh), a)
    ttnn.execute_trace(mesh, trace)
    assert [value(part) for part in ttnn.get_device_tensors(total)] == [10, 10]


def test_what_is_not_captured_is_not_made_again() -> None:
    a = filled(1)
    trace = ttnn.begin_trace_capture(DEVICE)
    ttnn.end_trace_capture(DEVICE, trace)
    ttnn.add_(a, 1)
    ttnn.execute_trace(DEVICE, trace)
    assert np.all(ttnn.to_numpy(a) == 2)


def _begun_twice() -> None:
    trace = ttnn.begin_trace_capture(DEVICE)
    try:
        ttnn.begin_trace_capture(DEVICE)
    finally:
        ttnn.end_trace_capture(DEVICE, trace)


def _executed_too_early() -> None:
    trace = ttnn.begin_trace_capture(DEVICE)
    try:
        ttnn.execute_trace(DEVICE, trace)
    finally:
        ttnn.end_trace_capture(DEVICE, trace)


def _released() -> Any:
    trace = ttnn.begin_trace_capture(DEVICE)
    ttnn.end_trace_capture(DEVICE, trace)
    ttnn.release_trace(DEVICE, trace)
    return trace


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (_begun_twice, "a trace is being captured already"),
        (_executed_too_early, "this trace is not complete"),
        (lambda: ttnn.execute_trace(DEVICE, _released()), "this trace is not complete"),
        (lambda: ttnn.end_trace_capture(DEVICE, _released()), "this trace is not being captured"),
        (lambda: ttnn.execute_trace(DEVICE, 0), "trace_id=0: not a trace"),
        (lambda: ttnn.begin_trace_capture(0), "device=0: not a device"),
    ],
)
def test_wrong_calls_point_at_the_call(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        call()
    primary = caught.value.diagnostics[0].primary
    assert primary is not None and primary.span.file == __file__
