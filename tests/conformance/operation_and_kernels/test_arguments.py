"""Constants of any kind as arguments, tensors in lists, and tensors without a device."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import pytest

import ttl
from conformance.harness import empty, run, tensor, tile_numbers, tiles
from ttl import ttnn
from ttl.driver.remarks import Remarks

Scales = namedtuple("Scales", "by plus")


class Mode(Enum):
    ADD = 1
    SUBTRACT = 2


@dataclass
class Settings:
    scale: float = 1.0
    taps: list[int] = field(default_factory=list)
    inner: Any = None


def applying(function):
    """An operation that stores `function(block, *constants)`."""

    @ttl.operation(grid=(1, 1))
    def operation(a, y, *constants, **named):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.datamovement()
        def read():
            with a_dfb.reserve() as blk:
                ttl.copy(a[0, 0], blk).wait()

        @ttl.compute()
        def compute():
            with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
                y_blk.store(function(a_blk, *constants, **named))

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as blk:
                ttl.copy(blk, y[0, 0]).wait()

    return operation


CONSTANTS = {
    "tuple": (lambda b, c: b * c[0] + c[1], [(2, 1), (2, 5), (3, 1)], [7, 11, 10]),
    "list": (lambda b, c: b + float(sum(c)), [[1, 2], [1, 2, 3]], [6, 9]),
    "None": (lambda b, c: b if c is None else b * c, [None, 4, None], [3, 12, 3]),
    "dict": (lambda b, c: b * c["by"], [{"by": 2}, {"by": 5.0}, {"by": 2}], [6, 15, 6]),
    "nested": (
        lambda b, c: b * c["of"][1] + c["plus"],
        [{"of": (0, 2), "plus": 1}, {"of": (0, 3), "plus": 1}],
        [7, 10],
    ),
    "dataclass": (
        lambda b, c: b * c.scale + float(len(c.taps)),
        [Settings(2.0), Settings(2.0, [1, 1]), Settings(0.5)],
        [6, 8, 1.5],
    ),
    "dataclass in a dataclass": (
        lambda b, c: b * c.inner.scale,
        [Settings(inner=Settings(2.0)), Settings(inner=Settings(4.0))],
        [6, 12],
    ),
    "namedtuple": (lambda b, c: b * c.by + c.plus, [Scales(2, 1), Scales(1, 2)], [7, 5]),
    "enum": (
        lambda b, c: b + 1 if c is Mode.ADD else b - 1,
        [Mode.ADD, Mode.SUBTRACT],
        [4, 2],
    ),
    "element type": (
        lambda b, c: ttl.math.typecast(ttl.math.typecast(b + 0.5, c), ttnn.float32),
        [ttnn.int32, ttnn.float32],
        [3, 3.5],
    ),
}


@pytest.mark.rule("arguments")
@pytest.mark.parametrize("kind", CONSTANTS)
def test_constants_of_any_kind(kind):
    """One operation with one value after the other: each call has its own."""
    function, values, expected = CONSTANTS[kind]
    operation = applying(function)
    found = []
    for value in values:
        run(operation, tensor(tiles(3)), y := empty(32, 32), value)
        found += tile_numbers(y)
    assert found == expected


@pytest.mark.rule("arguments")
def test_constants_by_keyword():
    operation = applying(lambda b, by, plus=None: b * by[-1] if plus is None else b + plus["a"])
    run(operation, tensor(tiles(3)), y := empty(32, 32), by=[1, 2])
    run(operation, tensor(tiles(3)), z := empty(32, 32), by=[1, 2], plus={"a": 4})
    assert tile_numbers(y) + tile_numbers(z) == [6, 7]


@pytest.mark.rule("arguments")
def test_a_changed_list_is_another_constant():
    operation, taps = applying(lambda b, taps: b + float(sum(taps))), [1]
    found = []
    for _ in range(3):
        run(operation, tensor(tiles(3)), y := empty(32, 32), taps)
        found += tile_numbers(y)
        taps.append(10)
    assert found == [4, 14, 24]


@pytest.mark.rule("arguments")
def test_a_grid_and_buffers_from_constants():
    @ttl.operation(grid=lambda y, layout: layout["grid"])
    def operation(y, layout):
        dfb = ttl.make_dataflow_buffer_like(y, shape=layout["shape"])

        @ttl.compute()
        def compute():
            with dfb.reserve() as blk:
                blk.store(ttl.math.fill(layout["value"]))

        @ttl.datamovement()
        def write():
            with dfb.wait() as blk:
                at = 2 * ttl.node(1)
                ttl.copy(blk, y[0:1, at : at + 2]).wait()

    run(operation, y := empty(32, 128), {"grid": (1, 2), "shape": (1, 2), "value": 7})
    assert tile_numbers(y) == [7] * 4


def gathering(get):
    """Copies the first tiles of the tensors that `get(argument)` gives, one after the other."""

    @ttl.operation(grid=(1, 1))
    def operation(sources, y):
        dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.datamovement()
        def read():
            for source in get(sources):
                with dfb.reserve() as blk:
                    ttl.copy(source[0, 0], blk).wait()

        @ttl.datamovement()
        def write():
            for i in range(2):
                with dfb.wait() as blk:
                    ttl.copy(blk, y[0, i]).wait()

    return operation


@pytest.mark.rule("arguments")
@pytest.mark.parametrize(
    ("make", "get"),
    [
        (lambda a, b: [a, b], lambda given: given),
        (lambda a, b: (b, a), lambda given: (given[1], given[0])),
        (lambda a, b: {"a": a, "b": b}, lambda given: (given["a"], given["b"])),
        (lambda a, b: Settings(inner=[a, b]), lambda given: given.inner),
    ],
    ids=["list", "tuple", "dict", "dataclass"],
)
def test_tensors_in_containers(make, get):
    operation = gathering(get)
    for first in (3, 5):
        run(operation, make(tensor(tiles(first)), tensor(tiles(4))), y := empty(32, 64))
        assert tile_numbers(y) == [first, 4]


@pytest.mark.rule("host-tensors")
def test_tensors_without_a_device(monkeypatch, capsys):
    from ttl.driver import PROCESS_DRIVER

    monkeypatch.setattr(PROCESS_DRIVER, "remarks", Remarks())
    operation = applying(lambda b, c: b * c)
    a, y = ttnn.full((32, 32), 3, ttnn.float32), ttnn.zeros((32, 32), ttnn.float32)
    run(operation, a, y, 2)
    run(operation, tensor(tiles(5)), z := ttnn.zeros((32, 32), ttnn.float32), 2)
    assert tile_numbers(y) + tile_numbers(z) == [6, 10]
    notes = capsys.readouterr().err
    assert notes.count("note[TTL1020]") == 1 and "host tensors" in notes


@pytest.mark.rule("host-tensors")
def test_random_tensors_as_the_specification_makes_them():
    a, y = ttnn.rand((32, 32)), ttnn.zeros((32, 32))
    run(applying(lambda b: b + b), a, y)
    assert np.array_equal(ttl.to_numpy(y), ttl.to_numpy(a) + ttl.to_numpy(a))
