"""Ways to write a unified body: loops, helpers, containers of buffers, operations from everywhere.

Each runs on the simulator and compiled, and so do the kernels that `--show-threads` prints.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.config import process_variables
from ttl.source.unified.unify import show_threads

DEVICE = ttnn.open_device(device_id=0)
ROWS = 3


def buffers(*likes):
    return [ttl.make_dataflow_buffer_like(like, shape=(1, 2), block_count=2) for like in likes]


@ttl.operation()
def load(x, row, dfb):
    with dfb.reserve() as block:
        ttl.copy(x[row, 0:2], block).wait()


@ttl.operation()
def save(dfb, y, row):
    with dfb.wait() as block:
        ttl.copy(block, y[row, 0:2]).wait()


def scaling(factor):
    @ttl.operation()
    def scale(source, result):
        with source.wait() as block, result.reserve() as scaled:
            scaled.store(block * factor)

    return scale


@ttl.operation()
def apply(operation, source, result):
    operation(source, result)


doubled = scaling(2.0)
PARTS = [scaling(2.0), scaling(3.0)]
NAMED = {"double": doubled}


@dataclass
class Settings:
    rows: int = ROWS
    width: int = 2


SETTINGS = Settings()

BODIES: list[tuple[Callable, float]] = []


def body(factor: float):
    """What the operation multiplies by."""

    def add(operation):
        BODIES.append((operation, factor))
        return operation

    return add


@body(2)
@ttl.operation(grid=(1, 1))
def a_while_loop(x, y):
    x_dfb, y_dfb = buffers(x, y)
    row = 0
    while row < ROWS:
        ttl.copy(x[row, 0:2], x_dfb.reserve())
        block = x_dfb.wait()
        y_dfb.reserve().store(block + block)
        ttl.copy(y_dfb.wait(), y[row, 0:2])
        row += 1


@body(2)
@ttl.operation(grid=(1, 1))
def helpers_of_the_body(x, y):
    """Nothing of what kernels do stands in the body itself."""
    x_dfb, y_dfb = buffers(x, y)

    def move(tensor, dfb, row, is_load=True):
        if is_load:
            with dfb.reserve() as block:
                ttl.copy(tensor[row, 0:2], block).wait()
        else:
            with dfb.wait() as block:
                ttl.copy(block, tensor[row, 0:2]).wait()

    def add(source, result):
        with source.wait() as block, result.reserve() as total:
            total.store(block + block)

    for row in range(ROWS):
        move(x, x_dfb, row)
        add(x_dfb, y_dfb)
        move(y, y_dfb, row, is_load=False)


def fetch(x, row, dfb):
    with dfb.reserve() as block:
        ttl.copy(x[row, 0:2], block).wait()


def add(source, result):
    with source.wait() as block, result.reserve() as total:
        total.store(block + block)


def put(dfb, y, row):
    with dfb.wait() as block:
        ttl.copy(block, y[row, 0:2]).wait()


@body(2)
@ttl.operation(grid=(1, 1))
def helpers_of_the_module(x, y):
    x_dfb, y_dfb = buffers(x, y)
    for row in range(ROWS):
        fetch(x, row, x_dfb)
        add(x_dfb, y_dfb)
        put(y_dfb, y, row)


@body(2)
@ttl.operation(grid=(1, 1))
def a_dict_of_buffers(x, y):
    dfbs = {"x": ttl.make_dataflow_buffer_like(x, shape=(1, 2), block_count=2)}
    dfbs["y"] = ttl.make_dataflow_buffer_like(y, shape=(1, 2), block_count=2)
    for row in range(ROWS):
        load(x, row, dfbs["x"])
        with dfbs["x"].wait() as block, dfbs["y"].reserve() as total:
            total.store(block + block)
        save(dfbs["y"], y, row)


@body(6)
@ttl.operation(grid=(1, 1))
def a_numbered_list_of_operations(x, y):
    chain = [ttl.make_dataflow_buffer_like(x, shape=(1, 2), block_count=2) for _ in range(3)]
    for row in range(ROWS):
        load(x, row, chain[0])
        for number, part in enumerate(PARTS):
            part(chain[number], chain[number + 1])
        save(chain[2], y, row)


@body(6)
@ttl.operation(grid=(1, 1))
def operations_beside_buffers(x, y):
    chain = [ttl.make_dataflow_buffer_like(x, shape=(1, 2), block_count=2) for _ in range(3)]
    for row in range(ROWS):
        load(x, row, chain[0])
        for part, source, result in zip(PARTS, chain[:2], chain[1:], strict=False):
            part(source, result)
        save(chain[2], y, row)


@body(2)
@ttl.operation(grid=(1, 1))
def buffers_that_a_loop_gives_to_an_operation(x, y):
    left_dfb, right_dfb, y_dfb = buffers(x, x, y)
    for row in range(ROWS):
        for tensor, dfb in ((x, left_dfb), (x, right_dfb)):
            load(tensor, row, dfb)
        with left_dfb.wait() as left, right_dfb.wait() as right, y_dfb.reserve() as total:
            total.store(left + right)
        save(y_dfb, y, row)


@body(2)
@ttl.operation(grid=(1, 1))
def an_operation_as_an_argument(x, y):
    x_dfb, y_dfb = buffers(x, y)
    for row in range(ROWS):
        load(x, row=row, dfb=x_dfb)
        apply(doubled, x_dfb, y_dfb)
        save(y_dfb, y, row)


@body(2)
@ttl.operation(grid=(1, 1))
def an_operation_under_other_names(x, y):
    x_dfb, between_dfb, y_dfb = buffers(x, x, y)
    own = PARTS[0]
    half = HALF
    for row in range(SETTINGS.rows):
        with x_dfb.reserve() as block:
            ttl.copy(x[row, 0 : SETTINGS.width], block).wait()
        if row % 2:
            own(x_dfb, between_dfb)
        else:
            NAMED["double"](x_dfb, between_dfb)
        half(between_dfb, y_dfb)
        save(y_dfb, y, row)


HALF = scaling(1.0)


def tensors() -> tuple[ttnn.Tensor, ttnn.Tensor]:
    numbers = np.random.default_rng(0).integers(-8, 9, (32 * ROWS, 64))
    x = ttl.from_numpy(numbers.astype(np.float32), dtype=ttnn.float32, device=DEVICE)
    return x, ttnn.zeros_like(x)


def check(operation, factor: float, backend: str) -> None:
    x, y = tensors()
    with process_variables({"TTL_BACKEND": backend}), redirect_stderr(io.StringIO()):
        operation(x, y)
    np.testing.assert_array_equal(ttl.to_numpy(y), factor * ttl.to_numpy(x))


NAMES = [operation.__name__ for operation, _ in BODIES]


@pytest.mark.parametrize("backend", ["sim", "host"])
@pytest.mark.parametrize(("operation", "factor"), BODIES, ids=NAMES)
def test_it_runs(operation, factor: float, backend: str) -> None:
    check(operation, factor, backend)


@pytest.mark.parametrize(("operation", "factor"), BODIES, ids=NAMES)
def test_the_kernels_that_are_shown_run_by_themselves(
    operation, factor: float, tmp_path: Path
) -> None:
    text = show_threads(operation, dict(zip("xy", tensors(), strict=True)))
    assert text is not None
    file = tmp_path / "shown.py"
    file.write_text(text.partition("becomes\n")[2])
    module: dict = {}
    exec(compile(file.read_text(), str(file), "exec"), module)
    check(module[operation.__name__], factor, "sim")
