"""What tensors tell of themselves, and what can be done with them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.diagnostics import UsageError

DEVICE = ttnn.open_device(device_id=0)


def test_a_shape_has_its_sizes() -> None:
    shape = ttnn.Shape([2, 3, 4])
    assert shape == (2, 3, 4) and shape == [2, 3, 4] and shape[-1] == 4
    assert (shape.rank, len(shape), str(shape), shape[-4]) == (3, 3, "Shape([2, 3, 4])", 1)
    assert ttnn.Shape([3, 4]).to_rank(4) == (1, 1, 3, 4)
    assert ttnn.Shape([1, 1, 3]).to_rank(2) == (1, 3)
    tensor = ttnn.zeros(ttnn.Shape((33, 5)), layout=ttnn.TILE_LAYOUT)
    assert isinstance(tensor.shape, ttnn.Shape) and tensor.padded_shape == (64, 32)


@pytest.mark.parametrize("backend", ["sim", "host"])
def test_a_shape_is_a_tuple_in_kernels_only(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    @ttl.operation(grid=(1, 1))
    def cleared(y: Any) -> None:
        dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute() -> None:
            for _ in y.shape[:1]:
                with dfb.reserve() as blk:
                    blk.store(ttl.math.fill(0))

        @ttl.datamovement()
        def write() -> None:
            for _ in y.shape[:1]:
                with dfb.wait() as blk:
                    ttl.copy(blk, y[0, 0]).wait()

    monkeypatch.setenv("TTL_BACKEND", backend)
    tensor = ttnn.ones((32, 32), layout=ttnn.TILE_LAYOUT, device=DEVICE)
    cleared(tensor)
    assert not ttnn.to_numpy(tensor).any()
    with pytest.raises(TypeError, match=r"list\(tensor.shape\)"):
        tensor.shape[:1]


def test_a_tensor_describes_itself() -> None:
    tensor = ttnn.zeros((3, 33, 5), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    assert (tensor.logical_volume(), tensor.volume()) == (495, 3 * 64 * 32)
    assert tensor.element_size() == 4 and not tensor.is_sharded()
    assert tensor.spec.shape == tensor.shape and tensor.spec.dtype is ttnn.float32
    assert tensor.to(ttnn.ROW_MAJOR_LAYOUT).layout is ttnn.ROW_MAJOR_LAYOUT
    assert tensor.cpu().device() is None and tensor.cpu().to(DEVICE).device() is DEVICE


def test_elements_are_gone_after_deallocate() -> None:
    tensor = ttnn.ones((2, 2), layout=ttnn.TILE_LAYOUT, device=DEVICE)
    assert tensor.is_allocated()
    tensor.deallocate()
    ttnn.deallocate(tensor)
    assert not tensor.is_allocated()
    with pytest.raises(UsageError, match="was deallocated"):
        ttnn.to_numpy(tensor)


def test_moves_that_change_nothing_share_their_memory() -> None:
    tensor = ttnn.ones((32, 64), layout=ttnn.TILE_LAYOUT, device=DEVICE)
    shared = [
        ttnn.reshape(tensor, (1, 32, 64)),
        ttnn.unsqueeze(tensor, 0),
        ttnn.to_layout(tensor, ttnn.TILE_LAYOUT),
        ttnn.to_memory_config(tensor, ttnn.DRAM_MEMORY_CONFIG),
        ttnn.to_device(tensor, DEVICE),
    ]
    assert {found.buffer_address() for found in shared} == {tensor.buffer_address()}
    ttnn.copy(ttnn.full((1, 32, 64), 3.0, layout=ttnn.TILE_LAYOUT, device=DEVICE), shared[0])
    assert (ttnn.to_numpy(tensor) == 3).all()
    apart = [
        ttnn.reshape(tensor, (64, 32)),
        ttnn.typecast(tensor, ttnn.bfloat16),
        ttnn.to_layout(tensor, ttnn.ROW_MAJOR_LAYOUT),
    ]
    ttnn.deallocate(shared[1])
    assert not tensor.is_allocated() and not any(found.is_allocated() for found in shared)
    assert all(found.is_allocated() for found in apart)


@pytest.mark.parametrize("dtype", [ttnn.bfloat16, ttnn.bfloat8_b, ttnn.int32])
def test_a_tensor_of_a_file(dtype: Any, tmp_path: Path) -> None:
    tensor = ttnn.from_numpy(np.arange(15).reshape(3, 5), dtype, device=DEVICE)
    ttnn.dump_tensor(tmp_path / "x.tensorbin", tensor)
    found = ttnn.load_tensor(tmp_path / "x.tensorbin", device=DEVICE)
    assert (found.dtype, found.layout, found.shape) == (dtype, ttnn.TILE_LAYOUT, (3, 5))
    assert np.array_equal(ttnn.to_numpy(found), ttnn.to_numpy(tensor))
    (tmp_path / "y.tensorbin").write_text("no tensor")
    with pytest.raises(RuntimeError, match="holds no tensor"):
        ttnn.load_tensor(tmp_path / "y.tensorbin")


def test_a_loop_over_a_tensor_ends() -> None:
    tensor = ttnn.from_numpy(np.arange(6, dtype=np.float32).reshape(3, 2), device=DEVICE)
    assert [row.to_list() for row in tensor] == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(IndexError):
        tensor[3]


def test_errors_are_caught_as_those_of_the_real_ttnn() -> None:
    tensor = zeros(2, 2)
    with pytest.raises(RuntimeError):
        tensor + zeros(3, 3)
    with pytest.raises(TypeError):
        ttnn.add(tensor)
    with pytest.raises(AttributeError):
        ttnn.nosuch  # noqa: B018
    with pytest.raises(RuntimeError):
        tensor.item()
    assert ttnn.full((1, 1), 2.5).item() == 2.5


def test_random_numbers_and_ranges() -> None:
    first, again = (
        ttnn.to_numpy(ttnn.rand((40, 50), dtype=ttnn.float32, seed=5)) for _ in range(2)
    )
    assert np.array_equal(first, again) and 0 <= first.min() < 0.1 and 0.9 < first.max() <= 1
    other = ttnn.to_numpy(ttnn.rand((40, 50), dtype=ttnn.float32, low=-2.0, high=-1.0))
    assert not np.array_equal(first, other) and other.min() >= -2 and other.max() <= -1
    normal = ttnn.to_numpy(ttnn.randn((100, 100), dtype=ttnn.float32, seed=1))
    assert abs(normal.mean()) < 0.1 and 0.9 < normal.std() < 1.1
    assert ttnn.to_numpy(ttnn.arange(5, dtype=ttnn.int32)).tolist() == [0, 1, 2, 3, 4]
    assert ttnn.to_numpy(ttnn.arange(4, 0, -2, dtype=ttnn.int32)).tolist() == [4, 2]


@pytest.mark.parametrize("layout", [ttnn.TILE_LAYOUT, ttnn.ROW_MAJOR_LAYOUT])
def test_like_tensors_take_what_is_not_said(layout: Any) -> None:
    like = ttnn.ones((3, 5), ttnn.float32, layout, DEVICE)
    found = ttnn.full_like(like, 7)
    assert (found.shape, found.dtype, found.layout) == (like.shape, like.dtype, like.layout)
    assert found.device() is DEVICE and (ttnn.to_numpy(found) == 7).all()
    assert ttnn.zeros_like(like, dtype=ttnn.int32).dtype is ttnn.int32
    assert np.isnan(ttnn.to_numpy(ttnn.empty_like(like))).all()


def test_typecast_and_copy() -> None:
    source = ttnn.from_numpy(np.array([[1.75, -1.75, 300.0]], np.float32), device=DEVICE)
    assert ttnn.to_numpy(ttnn.typecast(source, ttnn.int32)).tolist() == [[1, -1, 300]]
    assert ttnn.to_numpy(ttnn.typecast(source, ttnn.uint16)).tolist() == [[2, 65534, 300]]
    assert ttnn.to_numpy(ttnn.typecast(source, ttnn.uint8)).tolist() == [[1, 255, 44]]
    on_host = ttnn.typecast(ttnn.from_device(source), ttnn.uint16)
    assert ttnn.to_numpy(on_host).tolist() == [[1, 65535, 300]]
    target = ttnn.zeros((1, 3), ttnn.bfloat16, ttnn.TILE_LAYOUT, DEVICE)
    assert ttnn.typecast(source, ttnn.bfloat16, output_tensor=target) is target
    assert ttnn.to_numpy(target).astype(float).tolist() == [[1.75, -1.75, 300.0]]


@pytest.mark.parametrize("dtype", [ttnn.bfloat16, ttnn.float16, ttnn.float32])
def test_filling_rounds_once_from_every_type(dtype: Any) -> None:
    """A tie and its neighbours, also where a step through f32 would make a tie."""
    values = np.array([[1 + 2**-8, 1 + 2**-8 + 2**-30, 1 + 3 * 2**-8, 1e39, -1e39, 3e-42]])
    with np.errstate(all="ignore"):
        single = values.astype(np.float32)
    for given in (values, single):
        with np.errstate(all="ignore"):
            expected = given.astype(np.float32).astype(dtype.storage)
        if given.dtype == np.float64 and dtype is ttnn.bfloat16:
            expected[0, 1] = 1 + 2**-7  # above the tie, which f32 cannot tell
        found = ttnn.to_numpy(ttnn.from_numpy(given, dtype))
        assert found.tobytes() == expected.tobytes()


def test_a_spec_says_what_from_torch_makes() -> None:
    values = np.ones((64, 64), np.float32)
    core_ranges = ttnn.num_cores_to_corerangeset(2, (8, 8))
    spec = ttnn.TensorSpec((64, 64), ttnn.bfloat16, ttnn.TILE_LAYOUT).height_sharded(core_ranges)
    tensor = ttnn.from_torch(torch_tensor(values), spec=spec, device=DEVICE)
    assert tensor.dtype is ttnn.bfloat16 and tensor.memory_config() == spec.memory_config
    assert ttnn.from_torch(torch_tensor(values), dtype=ttnn.bfloat16, spec=spec).is_sharded()
    assert ttnn.from_torch(None, layout=ttnn.TILE_LAYOUT) is None


def torch_tensor(array: np.ndarray) -> Any:
    """As much of a torch tensor as from_torch() uses."""
    kind = type("Tensor", (), {"__module__": "torch", "dtype": "torch.float32"})
    kind.detach = kind.cpu = lambda self: self  # type: ignore[attr-defined]
    kind.numpy = lambda self: array  # type: ignore[attr-defined]
    return kind()


def test_to_torch_hands_over_a_fresh_array(monkeypatch: pytest.MonkeyPatch) -> None:
    handed: list[np.ndarray] = []

    class Handed:
        def view(self, dtype: str) -> str:
            return f"viewed as {dtype}"

    def from_numpy(array: np.ndarray) -> Handed:
        handed.append(array)
        return Handed()

    torch = SimpleNamespace(from_numpy=from_numpy, bfloat16="torch.bfloat16")
    monkeypatch.setitem(sys.modules, "torch", torch)
    tensor = ttnn.ones((1, 1, 33, 5), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT)
    assert tensor.to_torch() == "viewed as torch.bfloat16"
    ttnn.to_torch(tensor, torch_rank=2)
    assert [array.shape for array in handed] == [(1, 1, 33, 5), (33, 5)]
    assert handed[0].dtype == np.int16
    assert (handed[0].view(ml_dtypes.bfloat16) == 1).all()
    handed[0][...] = 0
    assert (ttnn.to_numpy(tensor) == 1).all()


def test_to_torch_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UsageError, match="needs torch"):
        ttnn.to_torch(ttnn.ones((2, 2), layout=ttnn.TILE_LAYOUT))


@ttl.operation(grid=(1, 1))
def clear(y: Any) -> None:
    dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

    @ttl.compute()
    def compute() -> None:
        with dfb.reserve() as blk:
            blk.store(ttl.math.fill(0))

    @ttl.datamovement()
    def write() -> None:
        with dfb.wait() as blk:
            ttl.copy(blk, y[0, 0]).wait()


@pytest.mark.parametrize("backend", ["sim", "host"])
def test_operations_need_open_devices_and_tensors(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTL_BACKEND", backend)
    device = ttnn.open_device(device_id=1)
    gone, left = (ttnn.ones((32, 32), layout=ttnn.TILE_LAYOUT, device=device) for _ in range(2))
    ttnn.deallocate(gone)
    clear(left)
    assert not ttnn.to_numpy(left).any()
    with pytest.raises(UsageError, match="was deallocated"):
        clear(gone)
    ttnn.close_device(device)
    with pytest.raises(UsageError, match="argument `y` of clear is on device 1, which is closed"):
        clear(left)


def zeros(*shape: int) -> ttnn.Tensor:
    return ttnn.zeros(shape, device=DEVICE)


def spec_of(*shape: int) -> ttnn.TensorSpec:
    return ttnn.TensorSpec(shape, ttnn.bfloat16, ttnn.TILE_LAYOUT)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ttnn.Shape(3), "shape=3: not a tuple of sizes"),
        (lambda: ttnn.Shape([2, 3]).to_rank(1), "has more than 1 dimensions that are not 1"),
        (lambda: ttnn.full((2, 2), "one"), "fill_value='one': not a number"),
        (lambda: ttnn.arange(0, 5, 0), "a step of zero"),
        (lambda: ttnn.typecast(ttnn.zeros((2, 2)), "f32"), "dtype='f32': not an element type"),
        (lambda: ttnn.copy(zeros(2, 2), zeros(2, 3)), "cannot be copied"),
        (lambda: ttnn.to_device(ttnn.zeros((2, 2)), None), "device=None: not a device"),
        (lambda: ttnn.to_memory_config(zeros(2, 2), None), "not a memory config"),
        (lambda: ttnn.zeros_like(np.zeros(2)), "takes a ttnn tensor, not a ndarray"),
        (
            lambda: ttnn.from_torch(
                torch_tensor(np.ones((2, 3))), pad_value=1.0, layout=ttnn.TILE_LAYOUT
            ),
            "pad_value=1.0: padding is zero",
        ),
        (
            lambda: ttnn.from_torch(torch_tensor(np.ones((2, 3))), spec=spec_of(2, 2)),
            r"the spec is for the shape \(2, 2\)",
        ),
        (
            lambda: ttnn.from_torch(
                torch_tensor(np.ones((2, 3))),
                ttnn.float32,
                spec=spec_of(2, 3),
            ),
            "dtype=float32 is given beside a spec that says bfloat16",
        ),
    ],
)
def test_wrong_use_points_at_the_call(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        make()
    primary = caught.value.diagnostics[0].primary
    assert primary is not None and primary.span.file == __file__
    assert "src/ttl" not in str(caught.value)
