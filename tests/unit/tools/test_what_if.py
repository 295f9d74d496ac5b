"""Constants of blocks, and other values for them."""

from __future__ import annotations

from ttl.tools.cli.what_if import block_constants, other_values

TEXT = """
ROWS, COUNT = 4, 8
BLOCK = 2
HALF = BLOCK // 2
WIDE = 4
SIZE = 512
K = 3

def operation(a):
    x = ttl.make_dataflow_buffer_like(a, shape=(HALF, 1), block_count=K)
    y = ttl.make_dataflow_buffer_like(a, shape=(1, WIDE))
    z = ttnn.zeros(shape=(SIZE, SIZE))
"""


def test_constants_that_shapes_of_buffers_depend_on() -> None:
    assert block_constants(TEXT) == {"BLOCK": 2, "WIDE": 4}


def test_twice_half_and_all() -> None:
    both = {"A": 2, "B": 12}
    assert list(other_values({"A": 1, "B": 6})) == [{"A": 2}, {"B": 12}, {"B": 3}, both]
    assert list(other_values({"A": 3})) == [{"A": 6}]
    assert list(other_values({})) == []
