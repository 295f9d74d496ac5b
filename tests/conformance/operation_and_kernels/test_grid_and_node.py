"""grid_size() and node() in any number of dimensions, in both scopes."""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from conformance.harness import run, tensor, tiles
from ttl.language.engine import LAUNCH_HOOK


def looking(grid, look):
    """What `look()` gives in the body and in a kernel, by node, under every schedule.

    A kernel tells a number by copying the tile that holds it.
    """
    in_body = {}
    nodes = list(np.ndindex(*grid))
    count = max(65, *(number + 1 for number in grid))
    length = 8

    @ttl.operation(grid=grid)
    def operation(a, y):
        here = ttl.node(len(grid))
        in_body[here] = look()
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def move():
            told = look()
            for place, number in enumerate(told if isinstance(told, tuple) else (told,)):
                with dfb.reserve() as blk:
                    ttl.copy(a[0, number], blk).wait()
                with dfb.wait() as blk:
                    ttl.copy(blk, y[ttl.node(1), place]).wait()

    y = tensor(np.full((32 * len(nodes), 32 * length), -1))
    run(operation, tensor(tiles(*range(count))), y)
    rows = ttl.to_numpy(y)[::32, ::32].astype(int).tolist()
    in_kernel = {}
    for node in nodes:
        told = tuple(number for number in rows[flat(node, grid)] if number >= 0)
        in_kernel[node] = told if isinstance(in_body[node], tuple) else told[0]
    return in_body, in_kernel


def flat(node, grid):
    """node(1)"""
    number = 0
    for coordinate, size in zip(node, grid, strict=True):
        number = number * size + coordinate
    return number


@pytest.mark.rule("grid-size")
@pytest.mark.parametrize(
    ("grid", "dims", "expected"),
    [
        ((8, 8), 1, 64),
        ((8, 8), 2, (8, 8)),
        ((8, 8), 3, (8, 8, 1)),
        ((8, 8, 8), 2, (8, 64)),
        ((2, 3, 4), 3, (2, 3, 4)),
        ((2, 3, 4), 2, (2, 12)),
        ((2, 3, 4), 1, 24),
        ((2, 3), 5, (2, 3, 1, 1, 1)),
    ],
)
def test_grid_size_flattens_or_pads(grid, dims, expected):
    """The specification's examples, and more."""
    for values in looking(grid, lambda: ttl.grid_size(dims)):
        assert set(values.values()) == {expected}


@pytest.mark.rule("grid-size", "node")
def test_two_dimensions_are_the_default():
    body, kernel = looking((3, 2), lambda: (*ttl.grid_size(), *ttl.node(), *ttl.node(dims=2)))
    assert body == kernel == {(x, y): (3, 2, x, y, x, y) for x in range(3) for y in range(2)}


@pytest.mark.rule("grid-size")
def test_between_calls_the_grid_is_that_of_the_last_one():
    for grid in ((3, 2), (1, 4), (2, 1)):
        looking(grid, lambda: ttl.node(1))
        assert (ttl.grid_size(), ttl.grid_size(dims=1)) == (grid, grid[0] * grid[1])
        assert ttl.grid_size(3) == (*grid, 1)


@pytest.mark.rule("grid-size")
def test_before_the_first_call_there_is_no_grid(monkeypatch):
    monkeypatch.setattr(LAUNCH_HOOK, "last_grid", None)
    with pytest.raises(ttl.TTLError, match="works only in an operation, or after one was called"):
        ttl.grid_size()


@pytest.mark.rule("node")
def test_one_dimension_is_x_times_y_size_plus_y():
    body, kernel = looking((3, 2), lambda: ttl.node(dims=1))
    assert body == kernel == {(x, y): x * 2 + y for x in range(3) for y in range(2)}


@pytest.mark.rule("node")
def test_more_dimensions_are_padded_with_zero():
    body, kernel = looking((3, 2), lambda: ttl.node(dims=4))
    assert body == kernel == {(x, y): (x, y, 0, 0) for x in range(3) for y in range(2)}
