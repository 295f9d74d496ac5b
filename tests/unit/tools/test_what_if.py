"""Constants of blocks, and other values for them."""

from __future__ import annotations

from types import SimpleNamespace as Values
from typing import Any

import pytest

from ttl.cli.what_if import block_constants, change_of, make_other_values

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
    assert list(make_other_values({"A": 1, "B": 6})) == [{"A": 2}, {"B": 12}, {"B": 3}, both]
    assert list(make_other_values({"A": 3})) == [{"A": 6}]
    assert list(make_other_values({})) == []


def model(cycles: int, flops: int = 8, written: int = 64, name: str = "op") -> Any:
    machine = Values(end=cycles, dram=Values(written_bytes=written))
    compiled = Values(name=name, target="chip")
    return Values(compiled=compiled, flops=flops, costs=lambda: None, run=lambda costs: machine)


def test_only_the_same_work_in_less_time_is_a_change() -> None:
    known: Any = Values(
        operation="op",
        chip="chip",
        flops=8,
        written_bytes=64,
        lines=(),
        microseconds=Values(typical=1.0),
        clock_ghz=1.0,
    )
    now, values = {"BLOCK": 2}, {"BLOCK": 4}
    found = change_of(known, model(750), now, values)
    assert found is not None
    assert found.saved == pytest.approx(0.25)
    assert "BLOCK=4 (now 2)" in str(found)
    others = (model(1000), model(750, flops=4), model(750, written=32), model(750, name="other"))
    assert [change_of(known, each, now, values) for each in others] == [None] * 4
