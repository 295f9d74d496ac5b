"""Devices of a mesh in processes: the same results, output, warnings and errors as in one."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.driver import mesh_processes
from ttl.ttnn.shared_memory import is_shared

SHAPE = ttnn.MeshShape(2, 2)


def negating(wrong_device: int | None = None, prints: bool = False) -> Any:
    """y = -x; another column on one of the devices, which its tensors do not have."""

    @ttl.operation(grid=(2, 1))
    def negate(x, y):
        x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))
        device = y.device().id()
        row = 5 if device == wrong_device else 0
        if prints:
            print("device", device)
        PROCESSES.append(os.getpid())

        @ttl.compute()
        def compute():
            with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                y_blk.store(-x_blk)

        @ttl.datamovement()
        def read():
            with x_dfb.reserve() as x_blk:
                ttl.copy(x[row, ttl.node(1)], x_blk).wait()

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[0, ttl.node(1)]).wait()

    return negate


PROCESSES: list[int] = []  # of this process: what forks add does not arrive


def tensors(dtype: Any = ttnn.bfloat16) -> tuple[Any, Any, Any]:
    mesh = ttnn.open_mesh_device(SHAPE)
    numbers = np.random.default_rng(3).integers(-99, 99, (64, 128)).astype(np.float32)
    mapper = ttnn.ShardTensor2dMesh(mesh, mesh_shape=SHAPE, dims=(0, 1))
    x = ttl.from_numpy(numbers, dtype=dtype, device=mesh, mesh_mapper=mapper)
    return x, ttnn.zeros_like(x), ttnn.ConcatMesh2dToTensor(mesh, mesh_shape=SHAPE, dims=(0, 1))


@pytest.fixture
def split(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many devices each call had that was split."""
    counts: list[int] = []
    launch = mesh_processes.launch_split

    def spy(call: Any, calls: Any, at_a_time: int) -> None:
        counts.append(len(calls))
        launch(call, calls, at_a_time)

    monkeypatch.setenv("TTL_MESH_PROCESSES", "2")
    monkeypatch.setattr(mesh_processes, "launch_split", spy)
    # Whatever threads the tests before this one left.
    monkeypatch.setattr(mesh_processes, "may_fork", lambda: True)
    return counts


@pytest.mark.parametrize("backend", ["sim", "host"])
def test_the_same_results(backend: str, split: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTL_BACKEND", backend)
    operation = negating()
    x, y, composer = tensors()
    PROCESSES.clear()
    operation(x, y)
    operation(y, x)  # what forks have written is there for the next ones
    assert [os.getpid()] * 2 == PROCESSES and split == [4, 4]
    found = [ttl.to_numpy(each, composer) for each in (x, y)]
    total = ttl.to_numpy(ttnn.all_reduce(y).shards[0])
    monkeypatch.delenv("TTL_MESH_PROCESSES")
    x, y, composer = tensors()
    operation(x, y)
    assert np.array_equal(found[1], ttl.to_numpy(y, composer))
    assert np.array_equal(found[0], -found[1])
    assert np.array_equal(total, ttl.to_numpy(ttnn.all_reduce(y).shards[0]))
    assert split == [4, 4]


def test_what_is_printed_comes_in_the_order_of_the_devices(
    split: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    x, y, _ = tensors()
    negating(prints=True)(x, y)
    assert capsys.readouterr().out.splitlines() == [f"device {number}" for number in range(4)]
    assert split == [4]


@pytest.mark.parametrize("device", [0, 2])
def test_an_error_is_that_of_one_process(
    device: int, split: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    operation = negating(wrong_device=device)
    texts = []
    for _ in range(2):
        x, y, _ = tensors()
        with pytest.raises(ttl.KernelFault) as caught:
            operation(x, y)
        texts.append(str(caught.value))
        monkeypatch.delenv("TTL_MESH_PROCESSES", raising=False)
    assert texts[0] == texts[1] and f"on device {device} of MeshDevice(2 x 2" in texts[0]
    assert split == [4]


def test_a_process_that_ends_is_an_error(split: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    parent = os.getpid()

    def leave(*_: Any) -> Any:
        if os.getpid() != parent:
            os._exit(3)
        return None

    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        leave()

        @ttl.datamovement()
        def move():
            pass

    x, y, _ = tensors()
    with pytest.raises(ttl.KernelFault, match="its process ended with status 3"):
        operation(x, y)


@pytest.mark.parametrize("variable", ["TTL_FLOAT32", "TTL_CHECK", "TTL_TRACE"])
def test_runs_that_leave_more_than_elements_stay_here(
    variable: str, split: list[int], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    x, y, _ = tensors()
    monkeypatch.setenv(variable, str(tmp_path / "t.jsonl") if "TRACE" in variable else "1")
    PROCESSES.clear()
    negating()(x, y)
    assert len(PROCESSES) == 4 and split == []


def test_tensors_that_are_not_shared_stay_here(
    split: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TTL_MESH_PROCESSES")
    x, y, _ = tensors()
    assert not is_shared(x.shards[0].storage.elements)
    monkeypatch.setenv("TTL_MESH_PROCESSES", "2")
    negating()(x, y)
    assert split == []


def test_a_full_disk_is_reported(split: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(ttl.UsageError, match="no room for 4096 bytes") as caught:
        tensors()
    assert tempfile.gettempdir() in str(caught.value) and "TMPDIR" in str(caught.value)
