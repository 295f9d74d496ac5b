"""grid_size() and node() in any number of dimensions, in both scopes."""

from __future__ import annotations

import pytest

import ttl
from conformance.harness import empty, run


def looking(grid, look):
    """What `look()` gives in the body and in a kernel, by node, under every schedule."""
    in_body, in_kernel = {}, {}

    @ttl.operation(grid=grid)
    def operation(y):
        here = ttl.node(len(grid))
        in_body[here] = look()

        @ttl.datamovement()
        def move():
            in_kernel[ttl.node(len(grid))] = look()

    run(operation, empty(32, 32))
    return in_body, in_kernel


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
    body, kernel = looking((3, 2), lambda: (ttl.grid_size(), ttl.node(), ttl.node(dims=2)))
    assert body == kernel == {(x, y): ((3, 2), (x, y), (x, y)) for x in range(3) for y in range(2)}


@pytest.mark.rule("node")
def test_one_dimension_is_y_times_x_size_plus_x():
    body, kernel = looking((3, 2), lambda: ttl.node(dims=1))
    assert body == kernel == {(x, y): y * 3 + x for x in range(3) for y in range(2)}


@pytest.mark.rule("node")
def test_more_dimensions_are_padded_with_zero():
    body, kernel = looking((3, 2), lambda: ttl.node(dims=4))
    assert body == kernel == {(x, y): (x, y, 0, 0) for x in range(3) for y in range(2)}
