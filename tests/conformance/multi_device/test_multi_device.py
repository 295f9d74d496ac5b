"""Grids of more than two dimensions."""

from __future__ import annotations

import pytest

import ttl
from conformance.harness import empty, refused, run, tensor, tile_numbers, tiles

GRID = (2, 3, 2, 2)
NODES = [(x, y, d0, d1) for d1 in range(2) for d0 in range(2) for y in range(3) for x in range(2)]


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
    """c[k-1] + s[k-1] * (c[k] + s[k] * (...))."""

    def flat(node):
        head, rest, sizes = node[: dims - 1], node[dims - 1 :], GRID[dims - 1 :]
        last = 0
        for entry, size in zip(rest[::-1], sizes[::-1], strict=True):
            last = entry + size * last
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
    "coordinate", [(1, 2, 1, 0), (1, 2, 1), (1, 5), 11, (11,)], ids=lambda c: str(c)
)
def test_a_coordinate_with_fewer_entries_is_flattened(coordinate):
    """All of these are the node (1, 2, 1, 0): 1 + 2 * (2 + 3 * (1 + 2 * 0)) = 11."""
    y = tensor(tiles(*[0] * 24))
    run(sending((0, 0, 0, 0), coordinate), tensor(tiles(5)), y)
    expected = [0] * 24
    expected[11] = 5
    assert tile_numbers(y) == expected


@pytest.mark.rule("mesh-coordinates")
def test_a_range_with_fewer_entries_is_flattened():
    """All of column 1 from flat row 4 on."""
    y = tensor(tiles(*[0] * 24))
    run(sending((0, 0, 0, 0), (1, slice(4, 12))), tensor(tiles(5)), y)
    expected = [5 if i % 2 == 1 and i // 2 >= 4 else 0 for i in range(24)]
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
    expected = [100 * d + 10 * row + x for d in range(3) for row in range(2) for x in range(2)]
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
