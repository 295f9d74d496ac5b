"""Programs with a switch for each synchronization that orders two accesses; all combinations.

A run is right if it says "race" exactly where a switch is off, whatever the schedule.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import ttl
from ttl import sim, ttnn
from ttl.diagnostics import TTLError, accesses
from ttl.target import load

DEVICE = ttnn.open_device(device_id=0)
TARGET = load("wormhole_b0")
SEEDS = (None, 0, 1, 2)


def run(operation, *tensors, seed=None, finds_races=True, warnings=None):
    """The text of what the run raises, "" if it succeeds."""
    program = operation.program(tensors, {}, TARGET.default_grid)
    report = None if warnings is None else warnings.append
    try:
        sim.run(program, target=TARGET, seed=seed, finds_races=finds_races, report=report)
    except TTLError as error:
        text = str(error)
        assert "src/ttl" not in text
        return text
    return ""


def tensor(rows=1, columns=1, is_alike=False, **options):
    """Each column of tiles has a number of its own, or all have the same."""
    values = np.ones((32 * rows, 32 * columns), np.float32)
    if not is_alike:
        values *= np.arange(1, 32 * columns + 1) // 32 + 1
    return ttl.from_numpy(values, dtype=ttnn.bfloat16, device=DEVICE, **options)


def through_semaphore(signals, waits, grid=(2, 1)):
    """Node 0 writes a tile and signals; node 1 reads it after the signal."""

    @ttl.operation(grid=grid)
    def operation(a, scratch, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
        done = ttl.Semaphore(0)

        @ttl.datamovement()
        def move():
            column, _ = ttl.node(dims=2)
            if column == 0:
                with dfb.reserve() as block:
                    ttl.copy(a[0, 0], block).wait()
                with dfb.wait() as block:
                    ttl.copy(block, scratch[0, 0]).wait()
                if signals:
                    done.get_remote((1, 0)).inc(1)
            else:
                if waits:
                    done.wait_ge(1)
                with dfb.reserve() as block:
                    ttl.copy(scratch[0, 0], block).wait()
                with dfb.wait() as block:
                    ttl.copy(block, y[0, 0]).wait()

    return operation


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("signals", "waits"), list(product([True, False], repeat=2)))
def test_nodes_ordered_by_a_semaphore(signals, waits, seed) -> None:
    found = run(through_semaphore(signals, waits), tensor(), tensor(), tensor(), seed=seed)
    if waits and not signals:
        assert "error[TTL5001]" in found
    elif waits:
        assert found == ""
    else:
        assert "race: tile (0, 0) of `scratch` is written on node (0, 0) and read on node" in found
        assert "`move` on node (0, 0) writes it here" in found or "node (1, 0)" in found


def through_pipe(after_write):
    """Node 0 writes a tile and sends a block; node 1 receives it and reads the tile."""

    @ttl.operation(grid=(2, 1))
    def operation(a, scratch, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
        net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])

        @ttl.datamovement()
        def move():
            def save():
                with dfb.wait() as block:
                    ttl.copy(block, scratch[0, 0]).wait()

            def send(pipe):
                with dfb.reserve() as block:
                    ttl.copy(a[0, 0], block).wait()
                    if not after_write:
                        ttl.copy(block, pipe).wait()
                save()
                if after_write:
                    with dfb.reserve() as block:
                        ttl.copy(a[0, 0], block).wait()
                        ttl.copy(block, pipe).wait()
                    with dfb.wait() as block:
                        ttl.copy(block, y[0, 0]).wait()

            def receive(pipe):
                with dfb.reserve() as block:
                    ttl.copy(pipe, block).wait()
                with dfb.wait() as block:
                    ttl.copy(block, y[0, 1]).wait()
                with dfb.reserve() as block:
                    ttl.copy(scratch[0, 0], block).wait()
                with dfb.wait() as block:
                    ttl.copy(block, y[0, 2]).wait()

            net.if_src(send)
            net.if_dst(receive)

    return operation


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("after_write", [True, False])
def test_nodes_ordered_by_a_pipe(after_write, seed) -> None:
    found = run(through_pipe(after_write), tensor(), tensor(), tensor(1, 3), seed=seed)
    assert ("error[TTL5005]: race: tile (0, 0) of `scratch`" in found) is not after_write


def in_place(offset, count=2, blocks=4):
    """`read` reads tile i, `write` writes tile i - offset after it."""

    @ttl.operation(grid=(1, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=count)

        @ttl.datamovement()
        def read():
            for i in range(blocks):
                with dfb.reserve() as block:
                    ttl.copy(a[0, i], block).wait()

        @ttl.datamovement()
        def write():
            for i in range(blocks):
                with dfb.wait() as block:
                    ttl.copy(block, a[0, i + offset]).wait()

    return operation


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("offset", "count"), list(product([0, 1, 2, 3, 4], [1, 2, 3])))
def test_kernels_of_a_node_are_ordered_by_a_buffer(offset, count, seed) -> None:
    """Tile i + offset is written before tile i is popped, and read when tile i + offset - count
    is: in order if that is tile i or a later one. Tile i itself is read before it is pushed.
    """
    is_race = 0 < offset < count
    found = run(in_place(offset, count), tensor(1, 8), seed=seed)
    assert ("error[TTL5005]" in found) is is_race
    if is_race:
        assert "= help: order the two kernels" in found


def test_two_transfers_of_one_kernel() -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

        @ttl.datamovement()
        def move():
            for i in range(2):
                with dfb.reserve() as block:
                    ttl.copy(a[0, i], block).wait()
            with dfb.wait() as one, dfb.wait() as two:
                first = ttl.copy(one, y[0, 0])
                second = ttl.copy(two, y[0, 0])
                first.wait()
                second.wait()

    found = run(operation, tensor(1, 2), tensor())
    assert "race: tile (0, 0) of `y` is written on node (0, 0) and written there, in no" in found
    assert "= help: wait() for the first transfer before the second starts" in found
    assert found.count("`move` on node (0, 0) writes it here") == 1
    warnings = []
    assert run(operation, tensor(1, 2, is_alike=True), tensor(), warnings=warnings) == ""
    assert [each.code.slug for each in warnings] == ["race"]


def neighbours(write_offset, read_offset, layout=ttnn.TILE_LAYOUT):
    """Each node reads and writes tiles of one tensor; nothing orders the nodes."""
    size = 1 if layout is ttnn.TILE_LAYOUT else 32

    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(size, size), block_count=2)

        @ttl.datamovement()
        def read():
            column, _ = ttl.node(dims=2)
            start = (column + read_offset) % 2 * size
            with dfb.reserve() as block:
                ttl.copy(a[0:size, start : start + size], block).wait()

        @ttl.datamovement()
        def write():
            column, _ = ttl.node(dims=2)
            start = column * write_offset * size
            with dfb.wait() as block:
                ttl.copy(block, y[0:size, start : start + size]).wait()

    return operation


@pytest.mark.parametrize("finds_races", [True, False])
@pytest.mark.parametrize("layout", [ttnn.TILE_LAYOUT, ttnn.ROW_MAJOR_LAYOUT], ids=str)
@pytest.mark.parametrize(("own", "shift"), list(product([True, False], [0, 1])))
def test_nodes_that_nothing_orders(own, shift, layout, finds_races) -> None:
    """Also without clocks: such nodes are in no order."""
    a, y = tensor(1, 2, layout=layout), tensor(1, 2, layout=layout)
    found = run(neighbours(int(own), shift, layout), a, y, finds_races=finds_races)
    unit = "tile" if layout is ttnn.TILE_LAYOUT else "element"
    if own:
        assert found == ""
    else:
        assert f"race: {unit} (0, 0) of `y` is written on node (0, 0) and written on node" in found
        assert "= help: let each node write tiles of its own" in found
    in_place = run(neighbours(1, shift, layout), a, a, finds_races=finds_races)
    assert ("race" in in_place) is bool(shift)
    if shift:
        assert "= help: write to another tensor than the one read" in in_place


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("finds_races", [True, False])
@pytest.mark.parametrize("layout", [ttnn.TILE_LAYOUT, ttnn.ROW_MAJOR_LAYOUT], ids=str)
def test_nodes_that_write_the_same_bytes(layout, finds_races, seed) -> None:
    options = {"layout": layout, "is_alike": True}
    warnings = []
    a, y = tensor(1, 2, **options), tensor(1, 1, **options)
    operation = neighbours(0, 0, layout)
    assert run(operation, a, y, seed=seed, finds_races=finds_races, warnings=warnings) == ""
    (found,) = warnings
    assert found.code.slug == "race"
    assert found.notes == (accesses.SAME_BYTES,)
    different = tensor(1, 2, layout=layout)
    assert "error[TTL5005]" in run(operation, different, y, seed=seed, finds_races=finds_races)


def written_and_read_back(reads_first=False, writers=2, steps=1, layout=ttnn.TILE_LAYOUT):
    """Each node writes a tile of `scratch`, reads it back and writes it to a tile of its own."""
    size = 1 if layout is ttnn.TILE_LAYOUT else 32

    @ttl.operation(grid=(2, 1))
    def operation(a, scratch, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(size, size), block_count=2)

        @ttl.datamovement()
        def move():
            column, _ = ttl.node(dims=2)

            def move_tile(source, destination):
                with dfb.reserve() as block:
                    ttl.copy(source, block).wait()
                with dfb.wait() as block:
                    ttl.copy(block, destination).wait()

            own = column * size
            for step in range(steps):
                start = step * size
                if reads_first:
                    move_tile(scratch[0:size, 0:size], y[0:size, own : own + size])
                if column < writers:
                    move_tile(a[0:size, start : start + size], scratch[0:size, 0:size])
                if not reads_first:
                    move_tile(scratch[0:size, 0:size], y[0:size, own : own + size])

    return operation


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("finds_races", [True, False])
@pytest.mark.parametrize("layout", [ttnn.TILE_LAYOUT, ttnn.ROW_MAJOR_LAYOUT], ids=str)
def test_what_nodes_write_alike_they_may_read_back(layout, finds_races, seed) -> None:
    def found(operation, warnings=None, is_alike=False):
        tensors = (tensor(1, 2, is_alike, layout=layout), tensor(layout=layout))
        y = tensor(1, 2, layout=layout)
        return run(operation, *tensors, y, seed=seed, finds_races=finds_races, warnings=warnings)

    warnings = []
    assert found(written_and_read_back(layout=layout), warnings) == ""
    assert {each.code.slug for each in warnings} == {"race"}
    assert {each.notes for each in warnings} == {(accesses.SAME_BYTES,)}
    again = written_and_read_back(steps=2, layout=layout)
    assert found(again, is_alike=True) == ""
    for refused in (
        again,  # a slow node writes the first bytes over the second ones of the other
        written_and_read_back(reads_first=True, layout=layout),
        written_and_read_back(writers=1, layout=layout),
    ):
        assert "error[TTL5005]" in found(refused)


@pytest.mark.parametrize("finds_races", [True, False])
def test_a_write_that_meets_a_later_one_of_a_node_spoils_what_that_reads_between(
    finds_races,
) -> None:
    """Node 1 writes what node 0 writes in the end, perhaps before node 0 reads its first tile."""

    @ttl.operation(grid=(2, 1))
    def operation(a, scratch, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

        @ttl.datamovement()
        def move():
            column, _ = ttl.node(dims=2)

            def move_tile(source, destination):
                with dfb.reserve() as block:
                    ttl.copy(source, block).wait()
                with dfb.wait() as block:
                    ttl.copy(block, destination).wait()

            if column == 0:
                move_tile(a[0, 0], scratch[0, 0])
                move_tile(scratch[0, 0], y[0, 0])
            move_tile(a[0, 1], scratch[0, 0])

    found = run(operation, tensor(1, 2), tensor(), tensor(1, 2), finds_races=finds_races)
    assert "error[TTL5005]: race: tile (0, 0) of `scratch`" in found


def test_padding_is_not_compared() -> None:
    """The last columns of the block are left over from a wider tensor; `y` does not hold them."""
    values = np.tile(np.arange(64.0) // 32 * (np.arange(64) % 32 > 15), (32, 1))
    a = ttl.from_numpy(values, dtype=ttnn.bfloat16, device=DEVICE)
    y = ttl.from_numpy(np.zeros((32, 16)), dtype=ttnn.bfloat16, device=DEVICE)
    for finds_races in (True, False):
        warnings = []
        assert run(neighbours(0, 0), a, y, finds_races=finds_races, warnings=warnings) == ""
        assert [each.code.slug for each in warnings] == ["race"]


def in_steps(firsts, seconds, signals):
    """Node 0 writes tiles one after the other, node 1 its own after all or at any time."""

    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
        done = ttl.Semaphore(0)

        @ttl.datamovement()
        def move():
            column, _ = ttl.node(dims=2)
            if column == 1 and signals:
                done.wait_ge(1)
            for value in seconds if column else firsts:
                with dfb.reserve() as block:
                    ttl.copy(a[0, value], block).wait()
                with dfb.wait() as block:
                    ttl.copy(block, y[0, 0]).wait()
            if column == 0 and signals:
                done.get_remote((1, 0)).inc(1)

    return operation


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("firsts", "seconds", "is_race"),
    [((0,), (0,), False), ((0,), (1,), True), ((0,), (0, 1), True), ((0, 1), (0,), True)],
)
@pytest.mark.parametrize("signals", [True, False])
def test_a_write_after_one_that_was_alike(firsts, seconds, is_race, signals, seed) -> None:
    found = run(in_steps(firsts, seconds, signals), tensor(1, 2), tensor(), seed=seed)
    assert ("error[TTL5005]" in found) is (is_race and not signals)


def test_tensors_behind_a_helper_are_looked_at_too() -> None:
    def load_block(part, block):
        ttl.copy(part, block).wait()

    @ttl.operation(grid=(2, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

        @ttl.datamovement()
        def read():
            column, _ = ttl.node(dims=2)
            with dfb.reserve() as block:
                load_block(a[0, 1 - column], block)

        @ttl.datamovement()
        def write():
            column, _ = ttl.node(dims=2)
            with dfb.wait() as block:
                ttl.copy(block, a[0, column]).wait()

    found = run(operation, tensor(1, 2), finds_races=False)
    assert "error[TTL5005]" in found
    assert "ttl.copy(part, block).wait()" in found  # the line of the helper


# Outputs


@pytest.mark.parametrize(("rows", "left"), [(4, 0), (5, 1), (7, 3)])
def test_an_output_that_is_not_covered(rows, left) -> None:
    """Two nodes, a floor division, a tail."""

    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
        own = 2

        @ttl.datamovement()
        def read():
            column, _ = ttl.node(dims=2)
            for i in range(own):
                with dfb.reserve() as block:
                    ttl.copy(a[column * own + i, 0], block).wait()

        @ttl.datamovement()
        def write():
            column, _ = ttl.node(dims=2)
            for i in range(own):
                with dfb.wait() as block:
                    ttl.copy(block, y[column * own + i, 0]).wait()

    warnings: list = []
    assert run(operation, tensor(rows), tensor(rows), warnings=warnings) == ""
    assert [found.code.slug for found in warnings] == ["output-not-covered"] * bool(left)
    if left:
        were = "was" if left == 1 else "were"
        assert warnings[0].message == f"{left} of {rows} tiles of `y` {were} never written"
        assert f"the first is (4, 0); `y` is ({rows}, 1) in tiles" in warnings[0].notes


def test_a_tensor_that_is_read_is_no_output() -> None:
    warnings: list = []
    assert run(in_place(0, blocks=2), tensor(1, 8), warnings=warnings) == ""
    assert warnings == []
