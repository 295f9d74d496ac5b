"""Meshes, tensors spread over them, collectives, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ttl import ttnn
from ttl.diagnostics import UsageError

MESH = ttnn.open_mesh_device(ttnn.MeshShape(2, 2))
LINE = ttnn.open_mesh_device(ttnn.MeshShape(1, 4))
DIMS = st.sampled_from([None, 0, 1, -1])


def numbers(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def on_mesh(values: Any, mapper: Any, mesh: Any = MESH) -> ttnn.Tensor:
    return ttnn.from_numpy(values, device=mesh, mesh_mapper=mapper)


def parts(tensor: ttnn.Tensor) -> list[np.ndarray]:
    return [ttnn.to_numpy(part) for part in ttnn.get_device_tensors(tensor)]


def test_a_mesh_has_its_devices_row_by_row() -> None:
    assert (MESH.shape, MESH.get_num_devices(), MESH.num_devices) == ((2, 2), 4, 4)
    assert (MESH.shape.rows, MESH.shape.cols) == (2, 2)
    assert MESH.get_device_ids() == [0, 1, 2, 3]
    assert MESH.compute_with_storage_grid_size() == (8, 8)
    chosen = ttnn.open_mesh_device(ttnn.MeshShape([1, 2]), physical_device_ids=[3, 1])
    assert chosen.get_device_ids() == [3, 1]


def test_the_number_of_devices_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert ttnn.GetNumAvailableDevices() == 4
    monkeypatch.setenv("TTL_NUM_DEVICES", "8")
    assert ttnn.GetNumAvailableDevices() == 8
    assert ttnn.open_mesh_device().shape == (1, 8)
    assert ttnn.open_device(device_id=7).id() == 7


def test_the_shape_is_that_of_a_part() -> None:
    values = numbers(8, 12)
    tensor = on_mesh(values, ttnn.ShardTensorToMesh(MESH, dim=0))
    assert tensor.shape == (2, 12) and tensor.device() is MESH
    for index, part in enumerate(parts(tensor)):
        assert np.array_equal(part, values[2 * index : 2 * index + 2])
    devices = [part.device() for part in ttnn.get_device_tensors(tensor)]
    assert devices == list(MESH.devices)


@given(dims=st.tuples(DIMS, DIMS))
def test_rows_and_columns_of_the_mesh_cut_dimensions(dims: tuple[Any, Any]) -> None:
    values = numbers(8, 12)
    tensor = on_mesh(values, ttnn.ShardTensor2dMesh(MESH, mesh_shape=(2, 2), dims=dims))
    for index, part in enumerate(parts(tensor)):
        expected = values
        for dim, position in zip(dims, divmod(index, 2), strict=True):
            if dim is not None:
                expected = np.split(expected, 2, axis=dim)[position]
        assert np.array_equal(part, expected)


def test_every_spelling_of_mappers_and_composers() -> None:
    values = numbers(4, 4)
    config = ttnn.MeshMapperConfig([ttnn.PlacementShard(0), ttnn.PlacementReplicate()])
    for mapper in (
        ttnn.create_mesh_mapper(MESH, config),
        ttnn.ShardTensor2dMesh(MESH, (2, 2), (0, None)),
    ):
        assert [part[0, 0] for part in parts(on_mesh(values, mapper))] == [0, 0, 8, 8]
    for mapper in (ttnn.shard_tensor_to_mesh_mapper(MESH, 1), ttnn.ShardTensorToMesh(MESH, dim=1)):
        assert [part[0, 0] for part in parts(on_mesh(values, mapper))] == [0, 1, 2, 3]
    for mapper in (ttnn.replicate_tensor_to_mesh_mapper(MESH), ttnn.ReplicateTensorToMesh(MESH)):
        assert all(np.array_equal(part, values) for part in parts(on_mesh(values, mapper)))
    sharded = on_mesh(values, ttnn.ShardTensor2dMesh(MESH, (2, 2), (1, 0)))
    for composer in (
        ttnn.ConcatMesh2dToTensor(MESH, (2, 2), (1, 0)),
        ttnn.create_mesh_composer(MESH, ttnn.MeshComposerConfig([1, 0])),
    ):
        assert np.array_equal(ttnn.to_numpy(sharded, composer), values)
    rows = on_mesh(values, ttnn.ShardTensorToMesh(MESH, dim=0))
    for composer in (
        ttnn.ConcatMeshToTensor(MESH, dim=0),
        ttnn.concat_mesh_to_tensor_composer(MESH, 0),
    ):
        assert np.array_equal(ttnn.to_numpy(rows, composer), values)


def test_without_a_mapper_every_device_has_a_copy() -> None:
    for tensor in (
        ttnn.from_numpy(numbers(3, 5), device=MESH),
        ttnn.to_device(ttnn.from_numpy(numbers(3, 5)), MESH),
    ):
        assert len(parts(tensor)) == 4
        assert all(np.array_equal(part, numbers(3, 5)) for part in parts(tensor))
    first, second, *_ = ttnn.get_device_tensors(
        ttnn.zeros((2, 2), layout=ttnn.TILE_LAYOUT, device=MESH)
    )
    first.storage.fill(np.asarray(1.0))
    assert not ttnn.to_numpy(second).any()


def test_conversions_keep_the_parts() -> None:
    values = numbers(8, 12)
    host = ttnn.from_numpy(values, mesh_mapper=ttnn.ShardTensorToMesh(MESH, dim=0))
    assert host.device() is None
    moved = ttnn.to_device(host, MESH)
    composer = ttnn.ConcatMeshToTensor(MESH, dim=0)
    rows = ttnn.to_layout(moved, ttnn.ROW_MAJOR_LAYOUT)
    whole = ttnn.typecast(rows, ttnn.int32)
    assert (rows.layout, whole.dtype) == (ttnn.ROW_MAJOR_LAYOUT, ttnn.int32)
    assert moved.cpu().device() is None and whole.device() is MESH
    for tensor in (host, moved, rows, whole, moved.cpu(), ttnn.clone(moved)):
        assert np.array_equal(ttnn.to_numpy(tensor, composer), values)
    assert (ttnn.to_numpy(ttnn.ones_like(moved), composer) == 1).all()
    assert np.array_equal(ttnn.to_numpy(ttnn.aggregate_tensor(moved, composer)), values)
    spread = ttnn.distribute_tensor(ttnn.from_numpy(values), ttnn.ShardTensorToMesh(MESH, 0), MESH)
    assert np.array_equal(ttnn.to_numpy(spread, composer), values)
    again = ttnn.combine_device_tensors(ttnn.get_device_tensors(moved))
    assert np.array_equal(ttnn.to_numpy(again, composer), values)


@pytest.mark.parametrize("cluster_axis", [None, 0, 1])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_all_gather_and_all_reduce(cluster_axis: int | None, dim: int) -> None:
    tensor = on_mesh(numbers(8, 12), ttnn.ShardTensor2dMesh(MESH, (2, 2), (0, 1)))
    pieces = parts(tensor)
    groups = {None: [[0, 1, 2, 3]] * 4, 0: [[0, 2], [1, 3]] * 2, 1: [[0, 1]] * 2 + [[2, 3]] * 2}
    gathered = parts(ttnn.all_gather(tensor, dim, cluster_axis=cluster_axis, num_links=1))
    reduced = parts(ttnn.all_reduce(tensor, cluster_axis=cluster_axis))
    for index, group in enumerate(groups[cluster_axis]):
        held = [pieces[other] for other in group]
        assert np.array_equal(gathered[index], np.concatenate(held, axis=dim))
        assert np.array_equal(reduced[index], np.sum(held, axis=0))


def test_a_sum_over_devices_is_rounded_once() -> None:
    values = np.array([[256.0], [0.5], [0.5], [1.0]])
    tensor = ttnn.from_numpy(
        values, ttnn.bfloat16, device=LINE, mesh_mapper=ttnn.ShardTensorToMesh(LINE, dim=0)
    )
    assert {float(part[0, 0]) for part in parts(ttnn.all_reduce(tensor))} == {258.0}


def test_a_mesh_of_one_device_needs_no_composer() -> None:
    mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 1))
    tensor = ttnn.from_numpy(numbers(2, 3), device=mesh)
    copy = ttnn.to_numpy(tensor, ttnn.ConcatMeshToTensor(mesh, dim=0))
    copy[...] = 0
    assert np.array_equal(ttnn.to_numpy(tensor), numbers(2, 3))


def test_closed_devices_are_refused() -> None:
    mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 2))
    ttnn.close_mesh_device(mesh)
    ttnn.close_mesh_device(mesh)
    with pytest.raises(UsageError, match="is closed"):
        ttnn.zeros((2, 2), layout=ttnn.TILE_LAYOUT, device=mesh)
    with ttnn.manage_device(device_id=0) as device:
        assert ttnn.zeros((2, 2), layout=ttnn.TILE_LAYOUT, device=device).device() is device
    with pytest.raises(UsageError, match="is closed"):
        ttnn.zeros((2, 2), layout=ttnn.TILE_LAYOUT, device=device)


SPREAD = on_mesh(numbers(8, 12), ttnn.ShardTensorToMesh(MESH, dim=0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ttnn.open_device(device_id=4), "device_id=4: there are 4 devices"),
        (lambda: ttnn.open_device(device_id="0"), "device_id='0': there are 4 devices"),
        (lambda: ttnn.open_device(target="grayskull"), "grayskull is not a chip"),
        (lambda: ttnn.open_mesh_device(ttnn.MeshShape(4, 9)), "needs 36 devices, there are 32"),
        (lambda: ttnn.open_mesh_device(8), "mesh_shape=8: not the shape of a mesh"),
        (lambda: ttnn.MeshShape(0, 2), "not the shape of a mesh"),
        (lambda: ttnn.close_device(3), "device=3: not a device"),
        (lambda: ttnn.close_mesh_device(None), "not a mesh of devices"),
        (lambda: ttnn.zeros((2, 2), layout=ttnn.TILE_LAYOUT, device=0), "device=0: not a device"),
        (lambda: ttnn.ShardTensorToMesh("mesh", 0), "not a mesh of devices"),
        (lambda: ttnn.ShardTensor2dMesh(MESH, (2, 4), (0, 1)), "is for 8 devices, the mesh has 4"),
        (lambda: ttnn.ShardTensor2dMesh(MESH, (2, 2), (0,)), "not one dimension for each"),
        (lambda: on_mesh(numbers(6, 4), ttnn.ShardTensorToMesh(MESH, 0)), "cannot be cut into 4"),
        (lambda: on_mesh(numbers(8, 4), ttnn.ShardTensorToMesh(MESH, 2)), "no such dimension"),
        (lambda: on_mesh(numbers(8, 4), "shard"), "mesh_mapper='shard': not a mesh mapper"),
        (lambda: on_mesh(numbers(8, 4), ttnn.ShardTensorToMesh(LINE, 0)), "the mapper is for"),
        (lambda: ttnn.to_numpy(SPREAD), "spread over 4 devices"),
        (lambda: ttnn.to_numpy(SPREAD, "concat"), "not a mesh composer"),
        (lambda: ttnn.to_device(SPREAD, ttnn.open_device(device_id=0)), "does not fit on"),
        (lambda: ttnn.all_reduce(ttnn.zeros((2, 2), layout=ttnn.TILE_LAYOUT)), "not on a mesh"),
        (lambda: ttnn.all_gather(SPREAD, 2), "dim=2: a tensor of 2 dimensions has no such"),
        (lambda: ttnn.all_gather(SPREAD, 0, cluster_axis=2), "cluster_axis=2"),
        (lambda: ttnn.combine_device_tensors([]), "not a list of tensors"),
        (lambda: ttnn.get_device_tensors(3), "takes a ttnn tensor, not a int"),
    ],
)
def test_wrong_use_points_at_the_call(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        make()
    primary = caught.value.diagnostics[0].primary
    assert primary is not None and primary.span.file == __file__


def test_a_tensor_of_several_devices_is_joined_by_a_composer() -> None:
    with pytest.raises(UsageError, match=r"ConcatMeshToTensor.*ConcatMesh2dToTensor"):
        ttnn.to_torch(SPREAD)


def test_a_mesh_of_a_larger_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ttnn.open_mesh_device(ttnn.MeshShape(4, 8)).num_devices == 32
    monkeypatch.setenv("TTL_NUM_DEVICES", "4")
    with pytest.raises(UsageError, match="needs 32 devices, there are 4"):
        ttnn.open_mesh_device(ttnn.MeshShape(4, 8))


def test_the_devices_that_are_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTL_NUM_DEVICES", "2")
    assert ttnn._ttnn.multi_device.SystemMeshDescriptor().shape() == (1, 2)
    ttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_1D, ttnn.FabricReliabilityMode.RELAXED_INIT)


def test_elements_from_the_host_into_a_tensor_of_a_mesh() -> None:
    mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 2))
    there = ttnn.zeros((32, 32), layout=ttnn.TILE_LAYOUT, device=mesh)
    mapper = ttnn.ReplicateTensorToMesh(mesh)
    host = ttnn.from_numpy(np.ones((32, 32)), dtype=ttnn.bfloat16, mesh_mapper=mapper)
    ttnn.copy_host_to_device_tensor(host, there, cq_id=0)
    for part in ttnn.get_device_tensors(there):
        assert np.all(ttnn.to_numpy(part) == 1)
