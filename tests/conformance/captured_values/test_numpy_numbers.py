"""Numbers of numpy in kernels are the Python numbers of the same value, wherever kernels run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

import ttl
from conformance.harness import (
    empty,
    evaluate,
    refused_expression,
    run,
    tensor,
    tile_numbers,
    tiles,
)

SMALL, BYTE, SINGLE = np.int8(100), np.uint8(250), np.float32(0.1)
MANY = np.array([100, 100, 27], np.int8)
NONE, ROWS = np.array(100, np.int8), np.array([[100, 100], [27, 1]], np.int8)
PAIR = (np.int8(100), (np.int8(27), 1))


@dataclass
class Settings:
    factor: Any = BYTE

    def twice(self) -> Any:
        return self.factor * 2


class Attributes:
    number, array = np.int8(100), np.array(100, np.int8)


class Computing:
    @property
    def factor(self) -> Any:
        return np.int8(90)


class Size(Enum):
    LARGE = np.int16(30000)


class Level(IntEnum):
    HIGH = 100


class Both(NamedTuple):
    low: Any
    high: Any


SETTINGS, COMPUTING, BOTH = Settings(), Computing(), Both(np.int8(-100), np.int8(100))


def twice(value: Any, more: Any = SMALL) -> Any:
    return value + value + more


def total(values: Any) -> Any:
    found = 0
    for value in values:
        found = found + value + value
    return found


VALUES: dict[str, tuple[Callable[[], Any], float]] = {
    "a sum": (lambda: SMALL + SMALL, 200),
    "a sum with an int": (lambda: SMALL + 100, 200),
    "a difference": (lambda: 0 - BYTE, -250),
    "a negative": (lambda: -BYTE, -250),
    "its inverse": (lambda: ~BYTE, -251),
    "a shift": (lambda: SMALL << 4, 1600),
    "a quotient": (lambda: -SMALL // np.int8(3), -34),
    "a rest": (lambda: -SMALL % np.int8(3), 2),
    "a power": (lambda: np.int8(5) ** np.int8(4), 625),
    "one that is made": (lambda: np.uint8(200) + np.uint8(100), 300),
    "a comparison": (lambda: 1 if BYTE + 10 > 255 else 0, 1),
    "a truth": (lambda: np.bool_(True) + np.bool_(True), 2),
    "an item": (lambda: MANY[0] + MANY[1], 200),
    "items in a loop": (lambda: total(MANY), 454),
    "the sum of items": (lambda: sum(MANY), 227),
    "the sum of a tuple": (lambda: sum(tuple(MANY), np.int8(100)), 327),
    "the largest item": (lambda: max(MANY) + max(PAIR[0], 1), 200),
    "of a tuple": (lambda: PAIR[0] + PAIR[1][0] + 100, 227),
    "unpacked": (lambda: (lambda one, other: one + one + other[0])(*PAIR), 227),
    "a field": (lambda: SETTINGS.factor + SETTINGS.factor, 500),
    "in a method": (lambda: SETTINGS.twice(), 500),
    "that is computed": (lambda: COMPUTING.factor + COMPUTING.factor, 180),
    "of an enum": (lambda: Size.LARGE.value + Size.LARGE.value, 60000),
    "beside an IntEnum": (lambda: Level.HIGH + SMALL, 200),
    "of a named tuple": (lambda: BOTH.high - BOTH.low, 200),
    "in a helper": (lambda: twice(SMALL), 300),
    "in a default": (lambda: twice(100), 300),
    "bound": (lambda: partial(twice, SMALL)(), 300),
    "in a list": (lambda: [value + value for value in [1, SMALL]][1], 200),
    "of a range": (lambda: sum([i * SMALL for i in range(np.int8(3))]), 300),
    "divided with its rest": (lambda: sum(divmod(BYTE, np.uint8(7))), 40),
    "without dimensions": (lambda: NONE * 2 - NONE, 100),
    "several without dimensions": (lambda: sum([NONE, NONE]) + max(NONE, 1) + -NONE - NONE, 100),
    "of an array of arrays": (lambda: ROWS[0][0] + ROWS[0, 1], 200),
    "of rows in a loop": (lambda: sum([row[0] + one for row in ROWS for one in row]), 482),
    "attributes of a class": (lambda: Attributes.number * 2 + Attributes.array * 2, 400),
    "divided by zero": (lambda: 1 if SMALL * 0 else 4, 4),
}


@pytest.mark.rule("captured-kinds")
@pytest.mark.parametrize("name", VALUES)
def test_numbers_of_numpy_are_pythons(name: str) -> None:
    use, expected = VALUES[name]
    assert (evaluate(lambda a: a * use(), tiles(1)) == expected).all()


@pytest.mark.rule("captured-kinds")
def test_a_float_of_numpy_has_the_digits_of_pythons() -> None:
    found = evaluate(lambda a: a * (SINGLE * 3), tiles(1))
    assert (found == np.float32(float(SINGLE) * 3)).all()


@pytest.mark.rule("captured-kinds")
def test_an_int_enum_beside_a_number_of_the_run() -> None:
    def use(a):
        node = ttl.node(dims=1)
        return a * ((Level.HIGH + node) * (1 if node != Level.HIGH else 2) + (node | Level.HIGH))

    assert (evaluate(use, tiles(1)) == 200).all()


@pytest.mark.rule("captured-kinds")
@pytest.mark.parametrize(("value", "expected"), [(-5, -1), (7, 0)])
def test_a_shift_to_the_right_has_no_end(value: int, expected: int) -> None:
    use = lambda a: a * ((value + ttl.node(dims=1)) >> 200)  # noqa: E731
    assert (evaluate(use, tiles(1)) == expected).all()


@pytest.mark.rule("captured-kinds")
def test_a_truth_of_the_run_fills_no_block() -> None:
    text = refused_expression(
        lambda a: ttl.math.fill(ttl.node(dims=1) == 0) * a, tiles(1), slug="wrong-argument"
    )
    assert "fill" in text


@pytest.mark.rule("captured-kinds")
def test_those_that_differ_between_nodes() -> None:
    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        factor = np.int8(100 + ttl.node(dims=1))
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.datamovement()
        def read():
            with a_dfb.reserve() as a_blk:
                ttl.copy(a[0, 0], a_blk).wait()

        @ttl.compute()
        def compute():
            with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
                y_blk.store(a_blk * (factor + factor))

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[0, ttl.node(1)]).wait()

    run(operation, tensor(tiles(1)), y := empty(32, 64))
    assert tile_numbers(y) == [200, 202]


@pytest.mark.rule("captured-kinds")
@pytest.mark.parametrize("name", VALUES)
def test_what_a_unified_body_computes_before_its_kernels(name: str) -> None:
    use, expected = VALUES[name]

    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        factor = use()
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))
        with a_dfb.reserve() as a_blk:
            ttl.copy(a[0, 0], a_blk).wait()
        with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
            y_blk.store(a_blk * factor)
        with y_dfb.wait() as y_blk:
            ttl.copy(y_blk, y[0, 0]).wait()

    run(operation, tensor(tiles(1)), y := empty(32, 32))
    assert tile_numbers(y) == [expected]
