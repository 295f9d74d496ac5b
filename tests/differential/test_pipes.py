"""Pipes: compiled as simulated, whatever the order in which the NoC carries things out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ttl
from differential.pipe_programs import (
    MODULE_NET,
    PATTERNS,
    Pattern,
    all_to_all,
    multicast_matmul,
    ring,
    scatter,
)
from ttl import ttnn
from ttl.config import Config
from ttl.driver.compile import compile_operation
from ttl.target import load

DEVICE = ttnn.open_device(device_id=0)
RUNS = [("sim", None), ("host", None), ("host", 1), ("host", 2)]


def small_integers(tiles: tuple[int, int], seed: int) -> np.ndarray:
    """Exact in f32 in all sums and products."""
    shape = tuple(32 * size for size in tiles)
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(np.float32)


def arrays_of(pattern: Pattern) -> list[np.ndarray]:
    inputs = [small_integers(tiles, seed) for seed, tiles in enumerate(pattern.shapes[:-1])]
    height, width = pattern.shapes[-1]
    return [*inputs, np.zeros((32 * height, 32 * width), np.float32)]


def run_on(
    backend: str,
    seed: int | None,
    operation: Any,
    arrays: list[np.ndarray],
    layout: Any = ttnn.TILE_LAYOUT,
) -> list[Any]:
    tensors = [ttl.from_numpy(a, dtype=ttnn.float32, layout=layout, device=DEVICE) for a in arrays]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TTL_BACKEND", backend)
        if seed is not None:
            patch.setenv("TTL_SEED", str(seed))
        operation(*tensors)
    return [ttl.to_numpy(tensor) for tensor in tensors]


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_runs_compiled_as_simulated(name: str) -> None:
    pattern = PATTERNS[name]
    operation, arrays = pattern.make(), arrays_of(pattern)
    expected = [array.copy() for array in arrays]
    pattern.expected(*expected)
    for backend, seed in RUNS:
        results = run_on(backend, seed, operation, arrays)
        for wanted, found in zip(expected, results, strict=True):
            assert np.array_equal(wanted, found), f"{backend}, seed {seed}"


ROWS_OF_THE_TABLE = {
    "true unicast split loop": "unicast_split_loop",
    "gather": "gather_tiles",
    "gather multiblock": "gather_multiblock",
    "forward ring": "forward_ring",
    "row rings, grid=full": "row_rings_on_the_full_grid",
    "pipe conv chain": "pipe_conv_chain",
    "row/col forwarding chains": "row_and_column_chains",
    "scatter": "scatter",
    "broadcast_2d": "broadcast_2d",
    "all-to-all 1D": "all_to_all_1d",
    "all-to-all 2D": "all_to_all_2d",
    "overlapping multicast": "overlapping_multicast",
    "partial overlap": "partial_overlap",
    "gather + broadcast loop": "gather_and_broadcast_in_a_loop",
    "rendezvous state": "rendezvous_state",
    "cross-DFB loopback multicast": "cross_buffer_loopback",
    "mcast matmul": "multicast_matmul_8x8",
    "minimal matmul mirror": "minimal_matmul_mirror",
    "captured/module/mixed-scope nets": "nets_of_all_scopes",
    "two nets on the same route": "two_nets_on_one_route",
    "a node that sends and receives on one buffer": "one_buffer_sends_and_receives",
    "tree reduction": "tree_reduction",
    "ring all-reduce": "ring_all_reduce",
    "Cannon's matmul": "cannons_matmul",
    "63 senders to one node": "senders_63_to_one",
}


def test_every_pattern_that_is_promised_is_run() -> None:
    """The others are below: a mesh, and in tests/conformance what must be refused."""
    assert set(ROWS_OF_THE_TABLE.values()) <= set(PATTERNS)


# Rows, bytes and devices --------------------------------------------------------------------------


def test_rows_go_through_pipes() -> None:
    """The receiver's rows have room after them, because it copies parts of them to a tensor."""

    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe(0, 1)])
        out = ttl.make_dataflow_buffer_like(a, shape=(4, 5))
        into = ttl.make_dataflow_buffer_like(a, shape=(4, 5))

        @ttl.datamovement()
        def send():
            def give(pipe):
                with out.reserve() as block:
                    ttl.copy(a[0:4, 0:5], block).wait()
                with out.wait() as block:
                    ttl.copy(block, pipe).wait()

            net.if_src(give)

        @ttl.datamovement()
        def receive():
            def take(pipe):
                with into.reserve() as block:
                    ttl.copy(pipe, block).wait()
                with into.wait() as block:
                    ttl.copy(block, y[1:5, 3:8]).wait()

            net.if_dst(take)

    rows = np.arange(40, dtype=np.float32).reshape(4, 10)
    expected = np.zeros((6, 9), np.float32)
    expected[1:5, 3:8] = rows[:, :5]
    for backend, seed in RUNS:
        arrays = [rows, np.zeros((6, 9), np.float32)]
        _, found = run_on(backend, seed, operation, arrays, ttnn.ROW_MAJOR_LAYOUT)
        assert np.array_equal(found, expected), f"{backend}, seed {seed}"


def test_each_device_of_a_mesh_has_pipes_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 2))
    mapper = ttnn.ShardTensorToMesh(mesh, dim=0)
    composer = ttnn.ConcatMeshToTensor(mesh, dim=0)
    operation, _ = ring(2, 1, 2)
    values = small_integers((4, 2), 0)
    results = []
    for backend in ("sim", "host"):
        monkeypatch.setenv("TTL_BACKEND", backend)
        a = ttl.from_numpy(values, device=mesh, mesh_mapper=mapper)
        y = ttl.from_numpy(np.zeros((256, 64), np.float32), device=mesh, mesh_mapper=mapper)
        operation(a, y)
        results.append(ttl.to_numpy(y, mesh_composer=composer))
    expected = np.concatenate(
        [
            np.concatenate([np.roll(values[row : row + 32], 32, axis=1), values[row : row + 32]])
            for row in range(0, 128, 32)
        ]
    )
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], expected)


@pytest.mark.parametrize("name", ["multicast_over_the_gap", "ring_over_the_gap"])
def test_blackhole_has_a_gap_between_its_columns(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The NoC's coordinates of columns 6 and 7 are not neighbours."""
    monkeypatch.setenv("TTL_TARGET", "blackhole")
    make = {
        "multicast_over_the_gap": lambda: all_to_all(10, 1),
        "ring_over_the_gap": lambda: ring(10, 1, 1),
    }[name]
    operation, expected = make()
    wanted = [small_integers((1, 10), 0), np.zeros((32, 320), np.float32)]
    arrays = [array.copy() for array in wanted]
    expected(*wanted)
    for seed in (None, 1):
        assert all(map(np.array_equal, wanted, run_on("host", seed, operation, arrays)))


# What is compiled ---------------------------------------------------------------------------------


def compiled(operation: Any, *shapes: tuple[int, int]) -> Any:
    tensors = [
        ttnn.zeros((32 * h, 32 * w), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
        for h, w in shapes
    ]
    target = load("wormhole_b0")
    program = operation.program(tuple(tensors), {}, target.default_grid)
    return compile_operation(program, target, Config())


def test_the_text_does_not_grow_with_the_pipes() -> None:
    rings = compiled(ring(8, 8, 2)[0], (8, 8), (16, 8))
    matmul = compiled(multicast_matmul(8, 4)[0], (8, 4), (4, 8), (8, 8))
    lines = [kernel.cpp_source.count("\n") for each in (rings, matmul) for kernel in each.kernels]
    assert max(lines) < 250
    small = compiled(multicast_matmul(4, 4)[0], (4, 4), (4, 4), (4, 4))
    assert lines[3:] == [kernel.cpp_source.count("\n") for kernel in small.kernels]


def test_pipes_share_counters_where_no_node_has_two_of_them() -> None:
    """A ring: one count of posts and one of blocks, whatever its length."""
    rings = compiled(ring(8, 8, 2)[0], (8, 8), (16, 8))
    assert [semaphore.initial for semaphore in rings.semaphores] == [0, 0]
    assert rings.pipe_net_count == 1


def test_counters_that_do_not_fit_are_in_the_scratch_memory() -> None:
    gather = compiled(PATTERNS["senders_63_to_one"].make(), (8, 8), (8, 8))
    assert len(gather.semaphores) == 1  # of the senders; the receiver's 63 are in the scratch
    assert gather.pipe_scratch_bytes == 32 + 63 * 16 + 16
    assert [kernel.uses_pipe_scratch for kernel in gather.kernels] == [True, True]


def test_the_scratch_memory_counts_in_the_budget() -> None:
    @ttl.operation(grid=(2, 1), options="--ttl-l1-budget=16384")
    def operation(a):
        MODULE_NET.routes((2, 1))
        dfb = ttl.make_dataflow_buffer_like(a, shape=(2, 1), block_count=2)

        @ttl.datamovement()
        def move():
            def send(pipe):
                with dfb.reserve() as block:
                    ttl.copy(a[0:2, 0], block).wait()
                with dfb.wait() as block:
                    ttl.copy(block, pipe).wait()

            def receive(pipe):
                with dfb.reserve() as block:
                    ttl.copy(pipe, block).wait()
                with dfb.wait() as block:
                    ttl.copy(block, a[0:2, 0]).wait()

            MODULE_NET.if_src(send)
            MODULE_NET.if_dst(receive)

    with pytest.raises(ttl.UsageError, match="scratch of the pipes"):
        compiled(operation, (2, 1))


def test_running_out_of_semaphores_lists_them() -> None:
    @ttl.operation(grid=(2, 1))
    def operation(a):
        many = [ttl.Semaphore(initial=number) for number in range(17)]

        @ttl.datamovement()
        def move():
            many[16].set(1)

    with pytest.raises(ttl.UsageError) as caught:
        compiled(operation, (1, 1))
    assert caught.value.diagnostics[0].code.slug == "too-many-semaphores"
    assert "many_16(16)" in str(caught.value)


def test_pipes_beside_sixteen_semaphores() -> None:
    """All ids are the program's: every counter of the pipes is in the scratch memory."""

    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        many = [ttl.Semaphore(initial=number) for number in range(16)]
        net = ttl.PipeNet([ttl.Pipe(0, (slice(0, 2), 0))])
        out = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        into = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def send():
            def give(pipe):
                for i in range(3):
                    many[15].wait_ge(15)
                    with out.reserve() as block:
                        ttl.copy(a[0, i], block).wait()
                    with out.wait() as block:
                        ttl.copy(block, pipe).wait()

            net.if_src(give)

        @ttl.datamovement()
        def receive():
            for i in range(3):
                with into.reserve() as block:
                    net.if_dst(lambda pipe: ttl.copy(pipe, block).wait())
                with into.wait() as block:
                    ttl.copy(block, y[ttl.node(1), i]).wait()

    a, y = small_integers((1, 3), 0), np.zeros((64, 96), np.float32)
    for backend, seed in RUNS:
        _, found = run_on(backend, seed, operation, [a, y])
        assert np.array_equal(found, np.concatenate([a, a])), f"{backend}, seed {seed}"
    made = compiled(operation, (1, 3), (2, 3))
    assert [semaphore.initial for semaphore in made.semaphores] == list(range(16))


def test_a_launch_starts_all_counts_anew() -> None:
    operation, expected = scatter()
    arrays = arrays_of(PATTERNS["scatter"])
    wanted = [array.copy() for array in arrays]
    expected(*wanted)
    for _ in range(3):
        results = run_on("host", 5, operation, arrays)
        assert all(map(np.array_equal, wanted, results))
