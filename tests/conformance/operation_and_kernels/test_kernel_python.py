"""The Python that kernel bodies may use."""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from conformance.harness import empty, numbers, run, tensor

HALF = 0.5


def plain_helper(value, factor):
    return value * factor


@pytest.mark.rule("kernel-python")
def test_statements_and_expressions_of_a_kernel():
    """One program that uses all of them; what it does is written again in numpy below."""

    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        limits = (1, 3)
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))
        columns = a.shape[1] // ttl.TILE_SIZE

        @ttl.datamovement()
        def read():
            column = 0
            while column < columns:
                with a_dfb.reserve() as a_blk:
                    part = slice(column, column + 1)
                    ttl.copy(a[0:1, part], a_blk).wait()
                column += 1

        @ttl.compute()
        def compute():
            def nested(value):
                return plain_helper(value, 2)

            low, high = limits
            for column in range(columns):
                with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
                    if column < low and not column:
                        value = a_blk + max(low, high, 2) - abs(-1)
                    elif low <= column < high or column == len(limits) + 7:
                        value = nested(a_blk)
                    else:
                        value = a_blk * HALF if column % 2 else a_blk * (column // 2 - 2**2)
                    y_blk.store(value)

        @ttl.datamovement()
        def write():
            for column in range(columns):
                with y_dfb.wait() as y_blk:
                    ttl.copy(y_blk, y[0, column]).wait()

    values = numbers(32, 160) % 64
    run(operation, tensor(values), y := empty(32, 160))
    first, second, third, fourth, fifth = np.split(values, 5, axis=1)
    expected = np.hstack([first + 2, second * 2, third * 2, fourth * 0.5, fifth * -2])
    assert np.array_equal(ttl.to_numpy(y), expected)
