"""Grids of more than two dimensions, and meshes of devices."""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from conformance.harness import empty, numbers, refused, run, tensor, tile_numbers, tiles
from ttl import ttnn

GRID = (2, 3, 2, 2)
NODES = [(x, y, d0, d1) for x in range(2) for y in range(3) for d0 in range(2) for d1 in range(2)]


def collect(look, grid=GRID):
    seen = {}

    @ttl.operation(grid=grid)
    def operation(y):
        @ttl.datamovement()
        def move():
            seen[ttl.node(len(grid))] = look()

    run(operation, empty(32, 32))
    return seen


@pytest.mark.rule("mesh-node")
def test_entries_after_the_second_are_mesh_dimensions():
    assert sorted(collect(ttl.node)) == sorted(NODES)


@pytest.mark.rule("mesh-node")
@pytest.mark.parametrize("dims", [1, 2, 3, 4])
def test_the_rest_is_flattened_into_the_last_coordinate(dims):
    """(c[k-1] * s[k] + c[k]) * s[k+1] + ..."""

    def flat(node):
        head, rest, sizes = node[: dims - 1], node[dims - 1 :], GRID[dims - 1 :]
        last = 0
        for entry, size in zip(rest, sizes, strict=True):
            last = last * size + entry
        return last if dims == 1 else (*head, last)

    assert collect(lambda: ttl.node(dims)) == {node: flat(node) for node in NODES}


def sending(src, dst, grid=GRID):
    """Node `src` sends a 5 to `dst`, which writes it to y[0, node(1)]."""

    @ttl.operation(grid=grid)
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe(src, dst)])
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        in_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def send():
            if net.is_src():
                with dfb.reserve() as blk:
                    ttl.copy(a[0, 0], blk).wait()
                    net.if_src(lambda pipe: ttl.copy(blk, pipe).wait())
                with dfb.wait() as blk:
                    ttl.copy(blk, a[0, 0]).wait()

        @ttl.datamovement()
        def receive():
            if net.is_dst():
                with in_dfb.reserve() as blk:
                    net.if_dst(lambda pipe: ttl.copy(pipe, blk).wait())
                with in_dfb.wait() as blk:
                    ttl.copy(blk, y[0, ttl.node(1)]).wait()

    return operation


@pytest.mark.rule("mesh-coordinates", "mesh-simulated")
@pytest.mark.parametrize(
    "coordinate", [(1, 2, 1, 0), (1, 2, 2), (1, 10), 22, (22,)], ids=lambda c: str(c)
)
def test_a_coordinate_with_fewer_entries_is_flattened(coordinate):
    """All of these are the node (1, 2, 1, 0): ((1 * 3 + 2) * 2 + 1) * 2 + 0 = 22."""
    y = tensor(tiles(*[0] * 24))
    run(sending((0, 0, 0, 0), coordinate), tensor(tiles(5)), y)
    expected = [0] * 24
    expected[22] = 5
    assert tile_numbers(y) == expected


@pytest.mark.rule("mesh-coordinates")
def test_a_range_with_fewer_entries_is_flattened():
    """All of column 1 from its fifth node on."""
    y = tensor(tiles(*[0] * 24))
    run(sending((0, 0, 0, 0), (1, slice(4, 12))), tensor(tiles(5)), y)
    expected = [5 if i >= 12 + 4 else 0 for i in range(24)]
    assert tile_numbers(y) == expected


@pytest.mark.rule("mesh-simulated")
def test_every_node_of_a_three_dimensional_grid_computes():
    @ttl.operation(grid=(2, 2, 3))
    def operation(y):
        dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute():
            x, row, device = ttl.node(3)
            with dfb.reserve() as blk:
                blk.store(ttl.math.fill(100 * device + 10 * row + x))

        @ttl.datamovement()
        def write():
            with dfb.wait() as blk:
                ttl.copy(blk, y[0, ttl.node(1)]).wait()

    run(operation, y := empty(32, 32 * 12))
    expected = [100 * d + 10 * row + x for x in range(2) for row in range(2) for d in range(3)]
    assert tile_numbers(y) == expected


@pytest.mark.rule("mesh-not-compiled")
def test_compiling_such_a_grid_is_unsupported_with_spmd_as_the_alternative(monkeypatch):
    @ttl.operation(grid=(2, 1, 2))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def read():
            with dfb.reserve() as blk:
                ttl.copy(a[0, 0], blk).wait()

        @ttl.datamovement()
        def write():
            with dfb.wait() as blk:
                ttl.copy(blk, y[0, 0]).wait()

    monkeypatch.setenv("TTLANG_COMPILE_ONLY", "1")
    with pytest.raises(ttl.CompileError) as caught:
        operation(tensor(tiles(5)), empty(32, 32))
    assert "SPMD" in str(caught.value)


@pytest.mark.rule("mesh-coordinates")
def test_flattened_coordinates_lie_in_the_grid():
    refused(sending(0, 24), tensor(tiles(5)), empty(32, 32), slug="node-outside-grid")
    refused(sending(0, (0, 12)), tensor(tiles(5)), empty(32, 32), slug="node-outside-grid")


MESH = ttnn.open_mesh_device(ttnn.MeshShape(2, 2))
BY_ROWS = ttnn.ShardTensorToMesh(MESH, dim=0)
BLOCKS = ttnn.ShardTensor2dMesh(MESH, mesh_shape=(2, 2), dims=(0, 1))
COPIES = ttnn.ReplicateTensorToMesh(MESH)


def on_mesh(values, mapper):
    return ttl.from_numpy(values, device=MESH, mesh_mapper=mapper)


@ttl.operation(grid=(2, 1))
def add_row(a, row, y):
    """y = a + row; each of the two nodes has half of the columns of its device's part."""
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    row_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))
    rows, columns = a.shape[0] // 32, a.shape[1] // 64

    @ttl.compute()
    def compute():
        for _ in range(rows * columns):
            with a_dfb.wait() as a_blk, row_dfb.wait() as row_blk, y_dfb.reserve() as y_blk:
                y_blk.store(a_blk + row_blk)

    @ttl.datamovement()
    def read():
        x, _ = ttl.node(dims=2)
        for i in range(rows):
            for j in range(columns):
                with a_dfb.reserve() as a_blk, row_dfb.reserve() as row_blk:
                    ttl.copy(a[i, x * columns + j], a_blk).wait()
                    ttl.copy(row[0, 0], row_blk).wait()

    @ttl.datamovement()
    def write():
        x, _ = ttl.node(dims=2)
        for i in range(rows):
            for j in range(columns):
                with y_dfb.wait() as y_blk:
                    ttl.copy(y_blk, y[i, x * columns + j]).wait()


@pytest.mark.rule("spmd")
@pytest.mark.parametrize("backend", ["sim", "host"])
@pytest.mark.parametrize(
    ("mapper", "composer"),
    [
        (BY_ROWS, ttnn.ConcatMeshToTensor(MESH, dim=0)),
        (BLOCKS, ttnn.ConcatMesh2dToTensor(MESH, mesh_shape=(2, 2), dims=(0, 1))),
    ],
    ids=["rows", "blocks"],
)
def test_each_device_computes_its_part(mapper, composer, backend, monkeypatch):
    monkeypatch.setenv("TTL_BACKEND", backend)
    a, row = numbers(256, 128), np.full((32, 32), 5, np.float32)
    y = ttnn.zeros_like(tensors := on_mesh(a, mapper))
    add_row(tensors, on_mesh(row, COPIES), y)
    assert y.shape == (a.size // 4 // tensors.shape[1], tensors.shape[1])
    assert np.array_equal(ttl.to_numpy(y, composer), a + 5)


@pytest.mark.unwatched("it counts how often the body runs")
@pytest.mark.rule("spmd")
def test_the_body_runs_for_each_device_with_the_shapes_of_its_part():
    seen = []

    @ttl.operation(grid=(1, 1))
    def operation(y, scale):
        seen.append((y.device().id(), tuple(y.shape), scale))

        @ttl.datamovement()
        def move():
            pass

    operation(on_mesh(numbers(128, 32), BY_ROWS), scale=3)
    assert seen == [(device, (32, 32), 3) for device in range(4)]


@pytest.mark.rule("spmd")
def test_tensors_elsewhere_are_refused_by_name():
    y = on_mesh(numbers(128, 64), BY_ROWS)
    row = on_mesh(numbers(32, 32), COPIES)
    text = refused(add_row, y, tensor(tiles(5)), y, slug="unusable-tensor")
    assert "argument `row` of add_row is on no mesh" in text
    other = ttnn.open_mesh_device(ttnn.MeshShape(1, 4))
    elsewhere = ttnn.zeros((32, 64), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=other)
    text = refused(add_row, y, row, elsewhere, slug="unusable-tensor")
    assert "argument `y` of add_row is on another mesh" in text


@pytest.mark.rule("spmd", "host-tensors")
def test_parts_of_a_mesh_in_the_memory_of_the_host():
    y, row = on_mesh(numbers(128, 64), BY_ROWS), on_mesh(numbers(32, 32), COPIES)
    on_host = ttnn.from_device(y)
    add_row(y, row, y)
    add_row(on_host, row, on_host)
    pairs = zip(y.shards, on_host.shards, strict=True)
    assert all(np.array_equal(ttl.to_numpy(a), ttl.to_numpy(b)) for a, b in pairs)


@pytest.mark.rule("spmd")
def test_an_error_names_the_device():
    @ttl.operation(grid=(1, 1))
    def operation(y):
        device = y.device().id()
        dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.datamovement()
        def move():
            with dfb.reserve() as blk:
                ttl.copy(y[0, 1 if device == 2 else 0], blk).wait()
            with dfb.wait() as blk:
                ttl.copy(blk, y[0, 0]).wait()

    text = refused(operation, on_mesh(numbers(128, 32), BY_ROWS), slug="slice-out-of-range")
    assert "on device 2 of MeshDevice(2 x 2, wormhole_b0), at (1, 0)" in text
