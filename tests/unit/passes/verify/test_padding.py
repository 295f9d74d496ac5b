"""Reductions over padding: the check finds what the simulator finds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import ttl
from ttl import sim, ttnn
from ttl.diagnostics import Diagnostic
from ttl.driver.check import check_operation
from ttl.target import load

TARGET = load("wormhole_b0")
DEVICE = ttnn.open_device(device_id=0)


def reduces(rows: int, reduce: Callable, is_received: bool = False):
    """y = reduce(block of a, block of ones), with a of so many rows; it may come through a pipe."""

    @ttl.operation(grid=(2 if is_received else 1, 1))
    def operation(a, ones, y):
        a_dfb, ones_dfb, y_dfb = (ttl.make_dataflow_buffer_like(t, (1, 1)) for t in (a, ones, y))
        net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))]) if is_received else None

        @ttl.compute()
        def compute():
            with a_dfb.wait() as a_blk, ones_dfb.wait() as ones_blk, y_dfb.reserve() as y_blk:
                y_blk.store(reduce(a_blk, ones_blk) + ones_blk)

        @ttl.datamovement()
        def read():
            with a_dfb.reserve() as a_blk, ones_dfb.reserve() as ones_blk:
                ttl.copy(ones[0, 0], ones_blk).wait()

                def send(pipe):
                    ttl.copy(a[1, 0], a_blk).wait()
                    ttl.copy(a_blk, pipe).wait()

                def receive(pipe):
                    ttl.copy(pipe, a_blk).wait()

                if is_received:
                    net.if_src(send)
                    net.if_dst(receive)
                else:
                    ttl.copy(a[0, 0], a_blk).wait()

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[0, ttl.node(dims=1)]).wait()

    a = ttnn.ones((rows, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    ones = ttnn.ones((32, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    width = 64 if is_received else 32
    return operation, [
        a,
        ones,
        ttnn.zeros((32, width), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE),
    ]


def largest(x, ones):
    return ttl.math.reduce_max(x, dims=[-2])


def total(x, ones):
    return ttl.math.reduce_sum(x, dims=[-2])


def total_of_exponentials(x, ones):
    return ttl.math.reduce_sum(ttl.math.exp(x), dims=[-2])


def masked(x, ones):
    return ttl.math.reduce_max(-ttl.math.mask_posinf(-x, ones), dims=[-2])


def masked_with_zeros(x, ones):
    return ttl.math.reduce_max(ttl.math.mask(x, ones), dims=[-2])


def across(x, ones):
    return ttl.math.reduce_max(x, dims=[-1])


def across_broadcast(x, ones):
    return ttl.math.reduce_max(ttl.math.broadcast(x, dims=[-2], shape=(1, 1)), dims=[-2])


@pytest.mark.parametrize(
    ("rows", "reduce", "is_received", "is_found"),
    [
        (20, largest, False, True),
        (20, total_of_exponentials, False, True),
        (40, largest, True, True),
        (20, total, False, False),
        (20, masked, False, False),
        (20, masked_with_zeros, False, True),
        (20, across, False, False),  # its rows are padded, and columns are reduced
        (1, across_broadcast, False, False),
        (40, largest, False, False),  # the first tile has no padding
        (64, largest, True, False),
    ],
)
def test_padding_is_found_as_by_the_simulator(rows, reduce, is_received, is_found) -> None:
    operation, args = reduces(rows, reduce, is_received)
    program = operation.program(tuple(args), {}, TARGET.default_grid)
    simulated: list[Diagnostic] = []
    sim.run(program, target=TARGET, report=simulated.append)
    checked = check_operation(program, TARGET)
    places = [[each.primary for each in found] for found in (checked, simulated)]
    assert places[0] == places[1]
    assert [each.code.slug for each in checked].count("padding-reduced") == is_found


@pytest.mark.parametrize(
    ("rows", "expression"),
    [
        (1, lambda x, ones: x * ones),
        (20, lambda x, ones: x * ones),
        (32, lambda x, ones: x - ttl.math.reduce_max(x, dims=[1])),
        (64, lambda x, ones: ttl.math.exp(x) / ttl.math.reduce_sum(ttl.math.exp(x), dims=[0])),
    ],
)
def test_a_broadcast_left_out_is_found_as_by_the_simulator(rows: int, expression) -> None:
    operation, args = reduces(rows, expression)
    program = operation.program(tuple(args), {}, TARGET.default_grid)
    simulated: list[Diagnostic] = []
    sim.run(program, target=TARGET, report=simulated.append)
    checked = check_operation(program, TARGET)
    assert [each.code.code for each in checked] == ["TTL2010"]
    assert [each.message for each in checked] == [each.message for each in simulated]


def accumulates(rows: int, first, second):
    """y = first(blocks of a, blocks of ones) of all blocks of a, with `+=`, + second(both)."""

    @ttl.operation(grid=(1, 1))
    def operation(a, ones, y):
        a_dfb, ones_dfb, y_dfb = (ttl.make_dataflow_buffer_like(t, (1, 1)) for t in (a, ones, y))
        tiles = -(-a.shape[0] // 32)

        @ttl.compute()
        def compute():
            with ones_dfb.wait() as ones_blk, y_dfb.reserve() as y_blk:
                for _ in range(tiles):
                    with a_dfb.wait() as a_blk:
                        y_blk += first(a_blk, ones_blk)
                y_blk += second(ones_blk)

        @ttl.datamovement()
        def read():
            with ones_dfb.reserve() as ones_blk:
                ttl.copy(ones[0, 0], ones_blk).wait()
            for row in range(tiles):
                with a_dfb.reserve() as a_blk:
                    ttl.copy(a[row, 0], a_blk).wait()

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[0, 0]).wait()

    a = ttnn.ones((rows, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    ones, y = (
        ttnn.ones((32, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE)
        for _ in range(2)
    )
    return operation, (a, ones, y)


def edge(ones):
    return ttl.math.reduce_max(ones, dims=[0])


@pytest.mark.parametrize(
    ("rows", "first", "second", "is_found"),
    [
        (32, lambda a, ones: a, edge, True),
        (64, lambda a, ones: a * ones, edge, True),
        (32, lambda a, ones: ttl.math.reduce_max(a, dims=[0]), lambda ones: ones * 2, True),
        (1, lambda a, ones: a, lambda ones: ones * 2, True),
        (32, lambda a, ones: ttl.math.reduce_max(a, dims=[0]), edge, False),
        (32, lambda a, ones: a, lambda ones: ttl.math.broadcast(edge(ones), dims=[0]), False),
        (52, lambda a, ones: a, lambda ones: ones * 2, False),  # the last tile is not full
        (33, lambda a, ones: a, lambda ones: ones * 2, False),  # nor is this, with one row
        (20, lambda a, ones: a, lambda ones: ones * 2, False),
    ],
)
def test_a_sum_in_place_without_its_broadcast(rows, first, second, is_found) -> None:
    operation, args = accumulates(rows, first, second)
    program = operation.program(args, {}, TARGET.default_grid)
    simulated: list[Diagnostic] = []
    sim.run(program, target=TARGET, report=simulated.append)
    checked = check_operation(program, TARGET)
    assert [each.code.code for each in checked] == ["TTL2010"] * is_found
    assert [each.message for each in checked] == [each.message for each in simulated]
    assert [each.primary for each in checked] == [each.primary for each in simulated]


@pytest.mark.parametrize(
    ("expression", "is_found"),
    [
        (lambda x, ones: ttl.math.where(ttl.math.reduce_max(x, dims=[1]) > 0, x, ones), True),
        (lambda x, ones: ttl.math.mask(x, ttl.math.reduce_max(x, dims=[1]) > 0), True),
        (lambda x, ones: ttl.math.where(x > 0, x, ones), False),
        (lambda x, ones: ttl.math.mask(x, ones), False),
    ],
)
@pytest.mark.parametrize("rows", [32, 20])
def test_a_selection_without_its_broadcast(expression, is_found, rows) -> None:
    operation, args = reduces(rows, expression)
    program = operation.program(tuple(args), {}, TARGET.default_grid)
    simulated: list[Diagnostic] = []
    sim.run(program, target=TARGET, report=simulated.append)
    checked = check_operation(program, TARGET)
    assert "TTL2010" in [each.code.code for each in checked] or not is_found
    assert [each.message for each in checked] == [each.message for each in simulated]
