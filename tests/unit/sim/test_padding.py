"""A reduction over the padding of a ragged tensor is a warning."""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from ttl import sim, ttnn
from ttl.diagnostics import Diagnostic, render_text
from ttl.target import load

TARGET = load("wormhole_b0")
DEVICE = ttnn.open_device(device_id=0)


def run(expression, shape=(20, 32)) -> list[Diagnostic]:
    """The warnings of y.store(expression(block of a, block of ones))."""

    @ttl.operation(grid=(1, 1))
    def operation(a, ones, y):
        a_dfb, ones_dfb, y_dfb = (
            ttl.make_dataflow_buffer_like(t, shape=(1, 1)) for t in (a, ones, y)
        )

        @ttl.compute()
        def compute():
            with a_dfb.wait() as a_blk, ones_dfb.wait() as ones_blk, y_dfb.reserve() as y_blk:
                everywhere = ttl.math.broadcast(ones_blk, dims=[-2, -1], shape=(1, 1))
                y_blk.store(expression(a_blk, ones_blk) + everywhere)

        @ttl.datamovement()
        def read():
            with a_dfb.reserve() as a_blk, ones_dfb.reserve() as ones_blk:
                ttl.copy(a[0, 0], a_blk).wait()
                ttl.copy(ones[0, 0], ones_blk).wait()

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[0, 0]).wait()

    a = ttl.from_numpy(np.full(shape, -1.0), dtype=ttnn.float32, device=DEVICE)
    ones, y = (
        ttnn.ones((32, 32), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE) for _ in range(2)
    )
    warnings: list[Diagnostic] = []
    program = operation.program((a, ones, y), {}, TARGET.default_grid)
    sim.run(program, target=TARGET, report=warnings.append)
    return warnings


def largest(a, ones):
    return ttl.math.reduce_max(a, dims=[-2])


def sum_of_exponentials(a, ones):
    return ttl.math.reduce_sum(ttl.math.exp(a), dims=[-2])


@pytest.mark.parametrize("expression", [largest, sum_of_exponentials])
def test_a_reduction_over_padding_is_a_warning(expression) -> None:
    (warning,) = run(expression)
    text = render_text(warning)
    assert text.startswith("warning[TTL2008]: ttl.math.reduce_")
    assert "return ttl.math.reduce_" in text
    assert "ttl.math.mask" in text


def test_a_tensor_without_padding_is_none() -> None:
    assert run(largest, shape=(32, 32)) == []


def test_a_sum_of_what_was_loaded_is_none() -> None:
    assert run(lambda a, ones: ttl.math.reduce_sum(a, dims=[-2])) == []


def test_a_mask_takes_the_padding_out() -> None:
    def above(a, ones):
        return ttl.math.reduce_max(-ttl.math.mask_posinf(-a, ones), dims=[-2])

    def total(a, ones):
        return ttl.math.reduce_sum(ttl.math.mask(ttl.math.exp(a), ones), dims=[-2])

    assert run(above) == run(total) == []


def test_a_mask_with_zeros_is_in_a_maximum() -> None:
    found = run(lambda a, ones: ttl.math.reduce_max(ttl.math.mask(a, ones), dims=[-2]))
    assert "TTL2008" in codes(found)


def test_nothing_is_reduced() -> None:
    assert "TTL2008" not in codes(run(lambda a, ones: ttl.math.exp(a)))


def codes(found: list[Diagnostic]) -> list[str]:
    return [each.code.code for each in found]


def largest_in_columns(a, ones):
    return ttl.math.reduce_max(a, dims=[-1])


def largest_of_broadcast(a, ones):
    return ttl.math.reduce_max(ttl.math.broadcast(a, dims=[-1], shape=(1, 1)), dims=[-1])


def largest_of_exponentials(a, ones):
    return largest_of_broadcast(ttl.math.exp(a), ones)


def largest_of_largest(a, ones):
    return ttl.math.reduce_max(ttl.math.reduce_max(a, dims=[-1]), dims=[-2])


def largest_of_transposed(a, ones):
    return ttl.math.reduce_max(ttl.math.transpose(a), dims=[-1])


@pytest.mark.parametrize(
    ("expression", "shape", "is_found"),
    [
        (largest_in_columns, (20, 32), False),  # the padding of the result is where that of a is
        (largest_in_columns, (32, 20), True),
        (largest_of_broadcast, (32, 1), False),  # a broadcast leaves none there
        (largest_of_broadcast, (20, 1), False),
        (largest_of_exponentials, (32, 1), False),
        (largest_of_largest, (20, 32), True),
        (largest_of_transposed, (20, 32), True),
        (largest_of_transposed, (32, 20), False),
    ],
)
def test_only_the_dimension_that_is_reduced_matters(expression, shape, is_found) -> None:
    assert codes(run(expression, shape)).count("TTL2008") == is_found


def times(a, ones):
    return a * ones


def times_broadcast(a, ones):
    return ttl.math.broadcast(a, dims=[-2]) * ones


def times_broadcast_column(a, ones):
    return ttl.math.broadcast(a, dims=[-1]) * ones


def masked(a, ones):
    return ttl.math.mask(a, ones)


def sum_of_rows(a, ones):
    return ttl.math.broadcast(ttl.math.reduce_sum(a, dims=[-2]), dims=[-2]) * ones


def without_largest(a, ones):
    return a - ttl.math.reduce_max(a, dims=[1])


def without_largest_of_all(a, ones):
    return a - ttl.math.broadcast(ttl.math.reduce_max(a, dims=[0, 1]), dims=[0, 1])


def share(a, ones):
    powers = ttl.math.exp(a)
    return powers / ttl.math.reduce_sum(powers, dims=[0])


def of_both(a, ones):
    return ttl.math.sqrt(ttl.math.reduce_mean(a * a, dims=[1]) + 1) * (ones @ ones)


def kept_apart(a, ones):
    return ttl.math.reduce_sum(a, dims=[1]) + ttl.math.transpose(ttl.math.reduce_sum(a, dims=[1]))


def of_edges(a, ones):
    return ttl.math.reduce_sum(a, dims=[1]) / ttl.math.reduce_max(ones, dims=[1])


def selected(a, ones):
    return ttl.math.where(ttl.math.reduce_max(a, dims=[1]) > 0, a, ones)


def selected_from_a_number(a, ones):
    return ttl.math.where(ttl.math.reduce_max(a, dims=[0]) > 0, a, ttl.math.fill(1))


def masked_by_an_edge(a, ones):
    return ttl.math.mask(a, ttl.math.reduce_max(a, dims=[1]) > 0)


def masked_by_a_row(a, ones):
    return ttl.math.mask_posinf(ones, a)


def selected_with_broadcast(a, ones):
    largest = ttl.math.broadcast(ttl.math.reduce_max(a, dims=[1]), dims=[1])
    return ttl.math.where(largest > 0, a, ttl.math.mask(ones, largest > 0))


def an_edge_selected(a, ones):
    return ttl.math.where(ones, ttl.math.reduce_max(a, dims=[1]), a)


def edges_only(a, ones):
    edge = ttl.math.reduce_max(a, dims=[1])
    return ttl.math.where(edge > 0, edge, ttl.math.mask(edge, edge > 1))


def selected_where_there_is_data(a, ones):
    return ttl.math.where(a > 0, a, ones) + ttl.math.where(ones, a, ones)


def beside_a_number(a, ones):
    return (ttl.math.reduce_sum(a, dims=[1]) + 1) * ttl.math.fill(2)


@pytest.mark.parametrize(
    ("expression", "shape", "dim"),
    [
        (times, (1, 32), -2),
        (times, (32, 1), -1),
        (times_broadcast, (1, 1), -1),
        (times, (20, 32), -2),
        (times, (32, 7), -1),
        (without_largest, (32, 32), -1),
        (share, (32, 32), -2),
        (of_both, (32, 32), -1),
        (kept_apart, (32, 32), -2),
        (selected, (32, 32), -1),
        (selected_from_a_number, (32, 32), -2),
        (masked_by_an_edge, (32, 32), -1),
        (masked_by_a_row, (1, 32), -2),
    ],
)
def test_a_broadcast_that_is_left_out_is_a_warning(expression, shape, dim) -> None:
    (warning,) = (each for each in run(expression, shape) if each.code.code == "TTL2010")
    assert f"dims=[{dim}]" in warning.helps[0]


@pytest.mark.parametrize(
    ("expression", "shape"),
    [
        (times_broadcast, (1, 32)),
        (times_broadcast_column, (32, 1)),
        (masked, (1, 32)),
        (sum_of_rows, (1, 32)),
        (times, (32, 32)),
        (without_largest_of_all, (32, 32)),
        (of_edges, (32, 32)),
        (beside_a_number, (32, 32)),
        (selected_with_broadcast, (32, 32)),
        (an_edge_selected, (32, 32)),
        (edges_only, (32, 32)),
        (selected_where_there_is_data, (20, 32)),
        (selected_where_there_is_data, (32, 7)),
        (masked, (20, 7)),
    ],
)
def test_no_warning_where_none_is_left_out(expression, shape) -> None:
    assert "TTL2010" not in codes(run(expression, shape))
