"""Numbers of numpy are Python's in all statements of a unified body, also in those that the
operation does before its kernels: on all ways to run, and in the check.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.config import process_variables
from ttl.diagnostics import Severity
from ttl.driver.check import check_operation
from ttl.target import load as load_target

DEVICE = ttnn.open_device(device_id=0)
TARGET = load_target("wormhole_b0")
RUNS = {
    "sim": {"TTL_BACKEND": "sim"},
    "strict": {"TTL_BACKEND": "sim", "TTL_STRICT": "1"},
    "host": {"TTL_BACKEND": "host"},
}
ON_ALL = pytest.mark.parametrize("way", [*RUNS, "check"])
MANY, ONE = np.array([100, 27], np.int8), np.array(100, np.int8)


def call(operation: Any, way: str, *arguments: Any) -> None:
    if way == "check":
        tensors, constants = arguments[:2], {"factors": arguments[2]} if arguments[2:] else {}
        program = operation.program(tensors, constants, TARGET.default_grid)
        found = check_operation(program, TARGET)
        assert not [each for each in found if each.severity is Severity.ERROR]
        return
    with process_variables(RUNS[way]):
        operation(*arguments)


def tensors() -> tuple[Any, Any]:
    ones = np.ones((32, 32), np.float32)
    x = ttl.from_numpy(ones, dtype=ttnn.float32, device=DEVICE)
    return x, ttnn.zeros_like(x)


@ttl.operation()
def scale(x_dfb, y_dfb, factor):
    more = MANY[0] * 2
    with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
        y_blk.store(x_blk * factor + more)


def twice() -> Any:
    return ONE + MANY[0]


class Settings:
    def __init__(self) -> None:
        self.factor = np.int8(100)

    def twice(self) -> Any:
        return self.factor * 2


SETTINGS = Settings()


def copied(make: Any) -> Any:
    """An operation whose body computes a factor before its kernels."""

    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        factor = make() + MANY[0] * 2
        assert factor == 400, factor
        x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))
        with x_dfb.reserve() as x_blk:
            ttl.copy(x[0, 0], x_blk).wait()
        with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
            y_blk.store(x_blk * factor + MANY[0] * 2 + ONE * 2)
        with y_dfb.wait() as y_blk:
            ttl.copy(y_blk, y[0, 0]).wait()

    return operation


MAKERS = {
    "an expression": lambda: ONE * 2,
    "a helper": twice,
    "a helper of a helper": lambda: twice() + 0,
    "a method": lambda: SETTINGS.twice(),
}


@ON_ALL
@pytest.mark.parametrize("maker", MAKERS)
def test_a_statement_before_the_kernels(maker: str, way: str) -> None:
    x, y = tensors()
    call(copied(MAKERS[maker]), way, x, y)
    assert way == "check" or (ttl.to_numpy(y) == 800).all()


@ttl.operation(grid=(1, 1))
def nested(x, y):
    def added(value, more=MANY[0]):
        return value + more + ONE

    several = [row * 2 for row in MANY]
    factor = added(MANY[0]) + (lambda value: value + MANY[0])(0) + several[0]
    assert factor == 600, factor
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))
    with x_dfb.reserve() as x_blk:
        ttl.copy(x[0, 0], x_blk).wait()
    with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
        y_blk.store(x_blk * factor + added(MANY[0]))
    with y_dfb.wait() as y_blk:
        ttl.copy(y_blk, y[0, 0]).wait()


@ON_ALL
def test_functions_in_the_body(way: str) -> None:
    x, y = tensors()
    call(nested, way, x, y)
    assert way == "check" or (ttl.to_numpy(y) == 900).all()


@ttl.operation(grid=(1, 1))
def expanded(x, y, factors):
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))
    factor = factors[0] + factors[0]
    with x_dfb.reserve() as x_blk:
        ttl.copy(x[0, 0], x_blk).wait()
    scale(x_dfb, y_dfb, factor)
    with y_dfb.wait() as y_blk:
        ttl.copy(y_blk, y[0, 0]).wait()


@ON_ALL
def test_arguments_and_expanded_operations(way: str) -> None:
    x, y = tensors()
    call(expanded, way, x, y, (np.int8(100),))
    assert way == "check" or (ttl.to_numpy(y) == 400).all()
