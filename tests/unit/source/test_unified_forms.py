"""Forms of Python in unified bodies, and callbacks of pipes that write blocks reserved before them.

Each runs on the simulator and compiled, `ttl check` accepts it, and so do the kernels that
`--show-threads` prints run by themselves.
"""

# ruff: noqa: B023 - pipes call their callbacks at once, the loop has not gone on
from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.config import process_variables
from ttl.driver.check import check_operation
from ttl.source.unified.unify import show_threads
from ttl.target import load as load_target

DEVICE = ttnn.open_device(device_id=0)
TARGET = load_target("wormhole_b0")
ROWS = 3
WAYS = pytest.mark.parametrize("way", ["sim", "host", "check"])

BODIES: list[Callable] = []


def buffers(*likes):
    return [ttl.make_dataflow_buffer_like(like, shape=(1, 2), block_count=2) for like in likes]


def body(operation: Callable) -> Callable:
    """y = 6 x"""
    BODIES.append(operation)
    return operation


def scaling(factor: float):
    @ttl.operation()
    def scale(source, result):
        with source.wait() as block, result.reserve() as scaled:
            scaled.store(block * factor)

    return scale


PARTS = [scaling(3.0), scaling(2.0)]


@body
@ttl.operation(grid=(1, 1))
def operations_in_reverse(x, y):
    chain = buffers(x, x, x)
    for row in range(ROWS):
        ttl.copy(x[row, 0:2], chain[0].reserve())
        for number, part in enumerate(reversed(PARTS)):
            part(chain[number], chain[number + 1])
        ttl.copy(chain[2].wait(), y[row, 0:2])


@body
@ttl.operation(grid=(1, 1))
def a_loop_that_ends_by_itself(x, y):
    x_dfb, y_dfb = buffers(x, y)
    for row in range(ROWS):
        ttl.copy(x[row, 0:2], x_dfb.reserve())
        for number in range(3):
            if number == row + 5:
                break
        else:
            y_dfb.reserve().store(x_dfb.wait() * 6)
        ttl.copy(y_dfb.wait(), y[row, 0:2])


@body
@ttl.operation(grid=(1, 1))
def operators_by_name(x, y):
    x_dfb, y_dfb = buffers(x, y)
    for row in range(ROWS):
        ttl.copy(x[row, 0:2], x_dfb.reserve())
        with x_dfb.wait() as block, y_dfb.reserve() as out:
            out.store(block.__mul__(4))
            out.__iadd__(block.__add__(block))
        ttl.copy(y_dfb.wait(), y[row, 0:2])


@body
@ttl.operation(grid=(1, 1))
def a_value_from_before_a_break(x, y):
    x_dfb, y_dfb = buffers(x, y)
    for row in range(ROWS):
        factor = 1
        for number in (4, 6, 8):
            if number % 3 == 0:
                factor = number
                break
        ttl.copy(x[row, 0:2], x_dfb.reserve())
        y_dfb.reserve().store(x_dfb.wait() * factor)
        ttl.copy(y_dfb.wait(), y[row, 0:2])


@body
@ttl.operation(grid=(1, 1))
def a_value_from_before_a_continue(x, y):
    x_dfb, y_dfb = buffers(x, y)
    for row in range(ROWS):
        factor = 0
        for number in (1, 2, 3):
            factor += number
            if number < 4:
                continue
            factor = 1
        ttl.copy(x[row, 0:2], x_dfb.reserve())
        y_dfb.reserve().store(x_dfb.wait() * factor)
        ttl.copy(y_dfb.wait(), y[row, 0:2])


@body
@ttl.operation(grid=(1, 1))
def values_named_where_they_are_used(x, y):
    x_dfb, y_dfb = buffers(x, y)
    number = 0
    while (row := number) < ROWS:
        ttl.copy(x[row, 0:2], x_dfb.reserve())
        y_dfb.reserve().store((block := x_dfb.wait()) * 5 + block)
        ttl.copy(y_dfb.wait(), y[row, 0:2])
        number += 1


def move(source, result, kind="load"):
    match kind:
        case "load":
            with result.reserve() as block:
                ttl.copy(source, block).wait()
        case "save" | "store":
            with source.wait() as block:
                ttl.copy(block, result).wait()


@body
@ttl.operation(grid=(1, 1))
def arguments_in_tuples_and_dicts(x, y):
    x_dfb, y_dfb = buffers(x, y)
    for row in range(ROWS):
        given = (x[row, 0:2], x_dfb)
        move(*given)
        y_dfb.reserve().store(x_dfb.wait() * 6)
        named = {"kind": "save"}
        move(*(y_dfb, y[row, 0:2]), **named)


@body
@ttl.operation(grid=(1, 1))
def a_match_on_constants(x, y, mode=3):
    x_dfb, y_dfb = buffers(x, y)
    for row in range(ROWS):
        ttl.copy(x[row, 0:2], x_dfb.reserve())
        with x_dfb.wait() as block, y_dfb.reserve() as out:
            match mode:
                case 1 | 2:
                    out.store(block * 2)
                case 3:
                    out.store(block * 6)
                case _:
                    out.store(block)
        ttl.copy(y_dfb.wait(), y[row, 0:2])


@body
@ttl.operation(grid=(1, 1))
def buffers_numbered_and_in_reverse(x, y):
    x_dfb, y_dfb = buffers(x, y)
    for number, (dfb, first) in enumerate(zip(reversed([y_dfb, x_dfb][1:]), [0], strict=True)):
        for row in range(ROWS):
            ttl.copy(x[row + number, 0:2], dfb.reserve())
            y_dfb.reserve().store(x_dfb.wait() * 6)
            ttl.copy(y_dfb.wait(), y[row + first, 0:2])


@body
@ttl.operation(grid=(1, 1))
def a_starred_target(x, y):
    x_dfb, *others = buffers(x, x, y)
    between_dfb, y_dfb = others
    for row in range(ROWS):
        ttl.copy(x[row, 0:2], x_dfb.reserve())
        between_dfb.reserve().store(x_dfb.wait() * 2)
        y_dfb.reserve().store(between_dfb.wait() * 3)
        ttl.copy(y_dfb.wait(), y[row, 0:2])


@body
@ttl.operation(grid=(1, 1))
def a_function_named_like_a_kernel(x, y):
    x_dfb, y_dfb = buffers(x, y)

    def read(row):
        ttl.copy(x[row, 0:2], x_dfb.reserve())

    for row in range(ROWS):
        read(row)
        y_dfb.reserve().store(x_dfb.wait() * 6)
        ttl.copy(y_dfb.wait(), y[row, 0:2])


@body
@ttl.operation(grid=(1, 1))
def buffers_in_a_dict(x, y):
    x_dfb, y_dfb = buffers(x, y)
    named = {"load": x_dfb, "save": y_dfb}
    for row in range(ROWS):
        for name, dfb in named.items():
            if name == "load":
                ttl.copy(x[row, 0:2], dfb.reserve())
        source, _ = named.values()
        named.get("save").reserve().store(source.wait() * 6)
        ttl.copy(named["save"].wait(), y[row, 0:2])


@body
@ttl.operation(grid=(1, 1))
def names_that_are_imported_in_the_body(x, y):
    import math as numbers
    from math import floor

    x_dfb, y_dfb = buffers(x, y)
    for row in range(floor(ROWS + 0.5)):
        ttl.copy(x[row, 0:2], x_dfb.reserve())
        y_dfb.reserve().store(x_dfb.wait() * numbers.gcd(12, 18))
        ttl.copy(y_dfb.wait(), y[row, 0:2])


@body
@ttl.operation(grid=(1, 1))
def a_function_that_counts(x, y):
    x_dfb, y_dfb = buffers(x, y)
    row = 0

    def advance():
        nonlocal row
        row += 1

    while row < ROWS:
        ttl.copy(x[row, 0:2], x_dfb.reserve())
        y_dfb.reserve().store(x_dfb.wait() * 6)
        ttl.copy(y_dfb.wait(), y[row, 0:2])
        advance()


@body
@ttl.operation(grid=(1, 1))
def more_arguments_than_are_named(x, y):
    x_dfb, y_dfb = buffers(x, y)

    def load(*rest, tensor=None, **named):
        ttl.copy(tensor[rest[-1], 0:2], named["result"].reserve())

    for row in range(ROWS):
        load(0, row, tensor=x, result=x_dfb)
        y_dfb.reserve().store(x_dfb.wait() * 6)
        ttl.copy(y_dfb.wait(), y[row, 0:2])


@body
@ttl.operation(grid=(1, 1))
def targets_in_the_middle(x, y):
    x_dfb, *others, y_dfb = buffers(x, x, y)
    for row in range(ROWS):
        ttl.copy(x[row, 0:2], x_dfb.reserve())
        for dfb in others:
            dfb.reserve().store(x_dfb.wait() * 2)
        y_dfb.reserve().store(others[0].wait() * 3)
        ttl.copy(y_dfb.wait(), y[row, 0:2])


def call(operation, way: str, x, y) -> bool:
    """Does `y` have a result after it?"""
    if way == "check":
        assert check_operation(operation.program((x, y), {}, TARGET.default_grid), TARGET) == []
        return False
    with process_variables({"TTL_BACKEND": way}), redirect_stderr(io.StringIO()):
        operation(x, y)
    return True


def tensors(rows: int):
    numbers = np.random.default_rng(0).integers(-8, 9, (32 * rows, 64)).astype(np.float32)
    x = ttl.from_numpy(numbers, dtype=ttnn.float32, device=DEVICE)
    return numbers, x, ttnn.zeros_like(x)


NAMES = [operation.__name__ for operation in BODIES]


@WAYS
@pytest.mark.parametrize("operation", BODIES, ids=NAMES)
def test_it_means_what_python_means(operation, way: str) -> None:
    numbers, x, y = tensors(ROWS)
    if call(operation, way, x, y):
        np.testing.assert_array_equal(ttl.to_numpy(y), 6 * numbers)


@pytest.mark.parametrize("operation", BODIES, ids=NAMES)
def test_the_kernels_that_are_shown_run_by_themselves(operation, tmp_path: Path) -> None:
    numbers, x, y = tensors(ROWS)
    given = {"x": x, "y": y, "mode": 3}
    text = show_threads(operation, {name: given[name] for name in operation.signature.parameters})
    assert text is not None
    file = tmp_path / "shown.py"
    file.write_text(text.partition("becomes\n")[2])
    module: dict = {}
    exec(compile(file.read_text(), str(file), "exec"), module)
    assert call(module[operation.__name__], "sim", x, y)
    np.testing.assert_array_equal(ttl.to_numpy(y), 6 * numbers)


def rows_of(count: int):
    for row in range(count):
        if row % 2 == 0:
            yield row
    yield from [count]


@ttl.operation(grid=(1, 1))
def generated(x, y):
    x_dfb, y_dfb = buffers(x, y)
    for row in rows_of(ROWS - 1):
        ttl.copy(x[row, 0:2], x_dfb.reserve())
        y_dfb.reserve().store(x_dfb.wait() * 6)
        ttl.copy(y_dfb.wait(), y[row, 0:2])


def test_generators_of_the_program_are_read() -> None:
    _, x, y = tensors(ROWS)
    text = show_threads(generated, {"x": x, "y": y})
    assert text is not None and text.count("for row in rows_of(ROWS - 1)") == 4


# Blocks that are reserved before if_src() and if_dst() --------------------------------------------

RING = [ttl.Pipe((0, 0), (1, 0)), ttl.Pipe((1, 0), (0, 0))]
RINGS: list[Callable] = []


def ring(operation: Callable) -> Callable:
    """Both nodes add their row and that of the other."""
    RINGS.append(operation)
    return operation


@ring
@ttl.operation(grid=(2, 1))
def all_is_written(x, y):
    own_dfb, got_dfb, y_dfb = buffers(x, x, y)
    net = ttl.PipeNet(RING)
    node = ttl.node(dims=1)
    for number in range(2):
        row = 2 * number + node
        own = own_dfb.reserve()

        def send(pipe):
            ttl.copy(x[row, 0:2], own).wait()
            ttl.copy(own, pipe).wait()

        net.if_src(send)
        own.push()
        got = got_dfb.reserve()
        net.if_dst(lambda pipe: ttl.copy(pipe, got).wait())
        got.push()
        with own_dfb.wait() as one, got_dfb.wait() as other, y_dfb.reserve() as out:
            out.store(one + other)
        with y_dfb.wait() as block:
            ttl.copy(block, y[row, 0:2]).wait()


@ring
@ttl.operation(grid=(2, 1))
def in_a_with(x, y):
    own_dfb, got_dfb, y_dfb = buffers(x, x, y)
    net = ttl.PipeNet(RING)
    node = ttl.node(dims=1)
    for number in range(2):
        row = 2 * number + node
        with own_dfb.reserve() as block:

            def send(pipe):
                transfer = ttl.copy(x[row, 0:2], block)
                transfer.wait()
                ttl.copy(block, pipe).wait()

            net.if_src(send)
        with got_dfb.reserve() as block:

            def receive(pipe):
                transfer = ttl.copy(pipe, block)
                transfer.wait()

            net.if_dst(receive)
        with own_dfb.wait() as one, got_dfb.wait() as other, y_dfb.reserve() as out:
            out.store(one + other)
        with y_dfb.wait() as block:
            ttl.copy(block, y[row, 0:2]).wait()


@ring
@ttl.operation(grid=(2, 1))
def waits_and_releases_are_left_out(x, y):
    own_dfb, got_dfb, y_dfb = buffers(x, x, y)
    net = ttl.PipeNet(RING)
    node = ttl.node(dims=1)
    for number in range(2):
        row = 2 * number + node
        own = own_dfb.reserve()
        got = got_dfb.reserve()

        def send(pipe):
            ttl.copy(x[row, 0:2], own)
            ttl.copy(own, pipe)

        net.if_src(send)
        net.if_dst(lambda pipe: ttl.copy(pipe, got))
        y_dfb.reserve().store(own_dfb.wait() + got_dfb.wait())
        ttl.copy(y_dfb.wait(), y[row, 0:2])


@WAYS
@pytest.mark.parametrize("operation", RINGS, ids=[each.__name__ for each in RINGS])
def test_callbacks_write_blocks_that_are_reserved_before_them(operation, way: str) -> None:
    numbers, x, y = tensors(4)
    if call(operation, way, x, y):
        pairs = numbers.reshape(2, 2, 32, 64)
        np.testing.assert_array_equal(ttl.to_numpy(y), (pairs + pairs[:, ::-1]).reshape(128, 64))
