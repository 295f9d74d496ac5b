"""Unified bodies that read back what they write mean what sequential Python does: run, strict, in
other orders, compiled and checked; where nothing can order nodes, an error names both lines.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.config import process_variables
from ttl.diagnostics import Severity, TTLError
from ttl.driver.check import check_operation
from ttl.source.unified.things import memory_of
from ttl.source.unified.unify import forget, threads_of
from ttl.source.unified.units import Thread, Unit
from ttl.target import load as load_target

DEVICE = ttnn.open_device(device_id=0)
TARGET = load_target("wormhole_b0")
RUNS = {
    "sim": {"TTL_BACKEND": "sim"},
    "strict": {"TTL_BACKEND": "sim", "TTL_STRICT": "1"},
    "seed": {"TTL_BACKEND": "sim", "TTL_SEED": "3"},
    "host": {"TTL_BACKEND": "host"},
    "host seed": {"TTL_BACKEND": "host", "TTL_SEED": "2"},
}
ON_ALL = pytest.mark.parametrize("way", [*RUNS, "check"])


def tensor(rows: int, value: float = 0.0) -> Any:
    numbers = np.full((32 * rows, 32), value, np.float32)
    return ttl.from_numpy(numbers, dtype=ttnn.float32, device=DEVICE)


def call(operation: Any, way: str, *tensors: Any) -> None:
    if way == "check":
        program = operation.program(tensors, {}, TARGET.default_grid)
        found = check_operation(program, TARGET)
        assert not [each for each in found if each.severity is Severity.ERROR]
        return
    with process_variables(RUNS[way]):
        operation(*tensors)


def rows(result: Any) -> list[float]:
    return [float(value) for value in ttl.to_numpy(result)[::32, 0]]


def buffers(like: Any, count: int) -> list[Any]:
    return [ttl.make_dataflow_buffer_like(like, shape=(1, 1)) for _ in range(count)]


@ttl.operation()
def load(x, row, dfb):
    with dfb.reserve() as block:
        ttl.copy(x[row, 0], block).wait()


@ttl.operation()
def save(dfb, y, row):
    with dfb.wait() as block:
        ttl.copy(block, y[row, 0]).wait()


@ttl.operation()
def twice(source, result):
    with source.wait() as block, result.reserve() as out:
        out.store(block * 2)


# On a node ----------------------------------------------------------------------------------------


@ttl.operation(grid=(1, 1))
def through(x, t, y):
    """The smallest: t = 2 x, y = 2 t."""
    x_dfb, t_dfb, r_dfb, y_dfb = buffers(x, 4)
    load(x, 0, x_dfb)
    twice(x_dfb, t_dfb)
    save(t_dfb, t, 0)
    load(t, 0, r_dfb)
    twice(r_dfb, y_dfb)
    save(y_dfb, y, 0)


@ON_ALL
def test_a_read_comes_after_the_write_above_it(way: str) -> None:
    x, t, y = tensor(1, 1.0), tensor(1), tensor(1)
    call(through, way, x, t, y)
    assert way == "check" or (rows(t), rows(y)) == ([2.0], [4.0])


@ttl.operation(grid=(1, 1))
def before_written(x, y, z):
    """z[0] = the old y + 1, y = 2 x; what is stored into y does not depend on what is read."""
    first, second, doubled, copied = buffers(x, 4)
    load(x, 0, first)
    twice(first, doubled)
    for i in range(4):
        load(x, i, second)
        with second.wait() as block, copied.reserve() as out:
            out.store(block)
        save(copied, z, i)
    load(y, 0, second)
    save(doubled, y, 0)
    with second.wait() as block, copied.reserve() as out:
        out.store(block + 1)
    save(copied, z, 0)


@ON_ALL
def test_a_write_comes_after_the_read_above_it(way: str) -> None:
    x, y, z = tensor(4, 1.0), tensor(1, 5.0), tensor(4)
    call(before_written, way, x, y, z)
    assert way == "check" or (rows(y), rows(z)) == ([2.0], [6.0, 1.0, 1.0, 1.0])


@ttl.operation(grid=(2, 1))
def reversed_on_nodes(x, t, y):
    """Each node reads what it wrote itself, in another order."""
    a_dfb, o_dfb = buffers(x, 2)
    first = ttl.node(dims=1) * 3
    for i in range(3):
        load(x, first + i, a_dfb)
        twice(a_dfb, o_dfb)
        save(o_dfb, t, first + i)
    for i in range(3):
        load(t, first + 2 - i, a_dfb)
        twice(a_dfb, o_dfb)
        save(o_dfb, y, first + i)


@ON_ALL
def test_each_node_may_read_what_it_wrote(way: str) -> None:
    x, t, y = tensor(6, 1.0), tensor(6), tensor(6)
    call(reversed_on_nodes, way, x, t, y)
    assert way == "check" or rows(y) == [4.0] * 6


@ttl.operation(grid=(2, 1))
def again_and_again(y):
    a_dfb, o_dfb = buffers(y, 2)
    first = ttl.node(dims=1) * 2
    for _ in range(3):
        for i in range(2):
            load(y, first + i, a_dfb)
            twice(a_dfb, o_dfb)
            save(o_dfb, y, first + i)


@ON_ALL
def test_the_next_turn_of_a_loop_reads_what_the_last_one_wrote(way: str) -> None:
    y = tensor(4, 1.0)
    call(again_and_again, way, y)
    assert way == "check" or rows(y) == [8.0] * 4


@ON_ALL
def test_one_tensor_under_two_names(way: str) -> None:
    """`t` and `u` may be one tensor or two, in this order."""

    @ttl.operation(grid=(1, 1))
    def operation(x, t, u, y):
        a_dfb, o_dfb = buffers(x, 2)
        load(x, 0, a_dfb)
        twice(a_dfb, o_dfb)
        save(o_dfb, t, 0)
        load(u, 0, a_dfb)
        twice(a_dfb, o_dfb)
        save(o_dfb, y, 0)

    x, t, u, y = tensor(1, 1.0), tensor(1), tensor(1, 7.0), tensor(1)
    call(operation, way, x, t, u, y)
    assert way == "check" or rows(y) == [14.0]
    call(operation, way, x, t, t, y)
    assert way == "check" or rows(y) == [4.0]


@ON_ALL
def test_a_captured_tensor_under_another_name(way: str) -> None:
    x, t, y = tensor(1, 1.0), tensor(1), tensor(1)

    @ttl.operation(grid=(1, 1))
    def operation(x, u, y):
        a_dfb, o_dfb = buffers(x, 2)
        load(x, 0, a_dfb)
        twice(a_dfb, o_dfb)
        with o_dfb.wait() as block:
            ttl.copy(block, t[0, 0]).wait()
        load(u, 0, a_dfb)
        twice(a_dfb, o_dfb)
        save(o_dfb, y, 0)

    call(operation, way, x, t, y)
    assert way == "check" or rows(y) == [4.0]


@ON_ALL
def test_tensors_in_a_list(way: str) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(*tensors):
        a_dfb, o_dfb = buffers(tensors[0], 2)
        for i in range(2):
            with a_dfb.reserve() as block:
                ttl.copy(tensors[i][0, 0], block).wait()
            twice(a_dfb, o_dfb)
            with o_dfb.wait() as block:
                ttl.copy(block, tensors[i + 1][0, 0]).wait()

    x, t, y = tensor(1, 1.0), tensor(1), tensor(1)
    call(operation, way, x, t, y)
    assert way == "check" or rows(y) == [4.0]


@ON_ALL
def test_helper_functions(way: str) -> None:
    def part(t, row):
        return t[row, 0]

    def fetch(t, row, dfb):
        with dfb.reserve() as block:
            ttl.copy(src=part(t, row), dst=block).wait()

    @ttl.operation(grid=(1, 1))
    def operation(x, t, y):
        a_dfb, o_dfb = buffers(x, 2)
        fetch(x, 0, a_dfb)
        twice(a_dfb, o_dfb)
        save(o_dfb, t, 0)
        fetch(t, 0, a_dfb)
        twice(a_dfb, o_dfb)
        save(o_dfb, y, 0)

    x, t, y = tensor(1, 1.0), tensor(1), tensor(1)
    call(operation, way, x, t, y)
    assert way == "check" or rows(y) == [4.0]


@ttl.operation(grid=(1, 1))
def by_an_element(x, t, y):
    """Data decides whether t is read: then all of t counts."""
    a_dfb, o_dfb = buffers(x, 2)
    load(x, 0, a_dfb)
    twice(a_dfb, o_dfb)
    save(o_dfb, t, 0)
    with a_dfb.reserve() as block:
        ttl.copy(x[0, 0], block).wait()
        if ttl.raw_element_read(block, 3, 5) > 0.5:
            ttl.copy(t[0, 0], block).wait()
    twice(a_dfb, o_dfb)
    save(o_dfb, y, 0)


@ON_ALL
def test_data_may_decide_what_is_read(way: str) -> None:
    x, t, y = tensor(1, 1.0), tensor(1), tensor(1)
    call(by_an_element, way, x, t, y)
    assert way == "check" or rows(y) == [4.0]


@ON_ALL
def test_tensors_whose_tiles_are_elements(way: str) -> None:
    """Rows of a row-major tensor: what is read back is part of a row."""

    @ttl.operation(grid=(1, 1))
    def operation(x, t, y):
        whole = ttl.make_dataflow_buffer_like(x, shape=(1, 64))
        half = ttl.make_dataflow_buffer_like(x, shape=(1, 32))
        with whole.reserve() as block:
            ttl.copy(x[0:1, 0:64], block).wait()
        with whole.wait() as block:
            ttl.copy(block, t[0:1, 0:64]).wait()
        with half.reserve() as block:
            ttl.copy(t[0:1, 32:64], block).wait()
        with half.wait() as block:
            ttl.copy(block, y[0:1, 0:32]).wait()

    def of_rows(values: Any) -> Any:
        return ttl.from_numpy(
            values, dtype=ttnn.float32, layout=ttnn.ROW_MAJOR_LAYOUT, device=DEVICE
        )

    numbers = np.arange(64, dtype=np.float32).reshape(1, 64)
    x, t, y = of_rows(numbers), of_rows(0 * numbers), of_rows(0 * numbers[:, :32])
    call(operation, way, x, t, y)
    assert way == "check" or (ttl.to_numpy(y) == numbers[:, 32:]).all()


@ON_ALL
def test_data_may_decide_about_another_tensor(way: str) -> None:
    """What is read back is then followed alone, on every node."""

    @ttl.operation(grid=(2, 1))
    def operation(x, t, y):
        a_dfb, o_dfb, t_dfb = buffers(x, 3)
        node = ttl.node(dims=1)
        with a_dfb.reserve() as block:
            ttl.copy(x[node, 0], block).wait()
            if ttl.raw_element_read(block, 0, 0) > 0:
                ttl.copy(x[1 - node, 0], block).wait()
        twice(a_dfb, o_dfb)
        save(o_dfb, t, node)
        load(t, node, t_dfb)
        twice(t_dfb, o_dfb)
        save(o_dfb, y, node)

    x, t, y = tensor(2, 1.0), tensor(2), tensor(2)
    call(operation, way, x, t, y)
    assert way == "check" or rows(y) == [4.0] * 2


@ON_ALL
def test_data_may_decide_about_a_tile_of_the_node(way: str) -> None:
    @ttl.operation(grid=(2, 1))
    def operation(x, t, y):
        a_dfb, o_dfb = buffers(x, 2)
        node = ttl.node(dims=1)
        load(x, node, a_dfb)
        twice(a_dfb, o_dfb)
        save(o_dfb, t, node)
        with a_dfb.reserve() as block:
            ttl.copy(x[node, 0], block).wait()
            row = node
            if ttl.raw_element_read(block, 0, 0) > 0:
                ttl.copy(t[row, 0], block).wait()
            else:
                ttl.copy(x[row, 0], block).wait()
        twice(a_dfb, o_dfb)
        save(o_dfb, y, node)

    x, t, y = tensor(2, 1.0), tensor(2), tensor(2)
    call(operation, way, x, t, y)
    assert way == "check" or rows(y) == [4.0] * 2


# Which threads ------------------------------------------------------------------------------------


def movers(operation: Any, *given: Any) -> set[Thread]:
    """The threads of the statements that copy from the second tensor, or to it."""
    forget()  # what was made for other tensors
    names = dict(zip(operation.signature.parameters, given, strict=True))
    found = threads_of(operation, names)
    assert found is not None
    of_t = memory_of(given[1] if len(given) > 1 else given[0])
    units: Sequence[Unit] = found.assignment.units
    moving = [unit for unit in units if of_t in unit.loads | unit.saves]
    return {found.assignment.threads[unit] for unit in moving}


BOTH = {Thread.READ, Thread.WRITE}


@ttl.operation(grid=(2, 1))
def in_place(y):
    a_dfb, o_dfb = buffers(y, 2)
    first = ttl.node(dims=1) * 8
    for i in range(8):
        load(y, first + i, a_dfb)
    for _ in range(8):
        twice(a_dfb, o_dfb)
    for i in range(8):
        save(o_dfb, y, first + i)


def test_what_blocks_order_keeps_its_threads() -> None:
    """More blocks are read than fit: on one thread this would be a deadlock."""
    assert movers(in_place, tensor(16)) == BOTH
    y = tensor(16, 1.0)
    call(in_place, "strict", y)
    assert rows(y) == [2.0] * 16


def test_a_measured_region_is_followed() -> None:
    @ttl.operation(grid=(1, 1))
    def operation(y):
        a_dfb, o_dfb = buffers(y, 2)
        for i in range(8):
            with ttl.signpost("load"), a_dfb.reserve() as block:
                ttl.copy(y[i, 0], block).wait()
            twice(a_dfb, o_dfb)
        for i in range(8):
            save(o_dfb, y, i)

    assert movers(operation, tensor(8)) == BOTH


def test_parts_that_do_not_overlap_keep_their_threads() -> None:
    @ttl.operation(grid=(1, 1))
    def operation(x, t):
        a_dfb, o_dfb = buffers(x, 2)
        load(x, 0, a_dfb)
        twice(a_dfb, o_dfb)
        save(o_dfb, t, 0)
        load(t, 1, a_dfb)
        twice(a_dfb, o_dfb)
        save(o_dfb, x, 1)

    assert movers(operation, tensor(2), tensor(2)) == BOTH


def test_what_is_read_back_is_on_one_thread() -> None:
    assert len(movers(through, tensor(1), tensor(1), tensor(1))) == 1


def test_a_body_is_asked_again_for_another_value_around_it() -> None:
    """The fields of an object are no part of what a body is known by."""

    class Place:
        row = 1

    place = Place()

    @ttl.operation(grid=(1, 1))
    def operation(x, t, y):
        a_dfb, o_dfb = buffers(x, 2)
        load(x, 0, a_dfb)
        twice(a_dfb, o_dfb)
        save(o_dfb, t, 0)
        with a_dfb.reserve() as block:
            ttl.copy(t[place.row, 0], block).wait()
        twice(a_dfb, o_dfb)
        save(o_dfb, y, 0)

    given = tensor(2), tensor(2), tensor(2)
    assert movers(operation, *given) == BOTH
    place.row = 0
    assert len(movers(operation, *given)) == 1


# Between nodes ------------------------------------------------------------------------------------


@ttl.operation(grid=(2, 1))
def exchange(x, t, y):
    a_dfb, o_dfb = buffers(x, 2)
    node = ttl.node(dims=1)
    load(x, node, a_dfb)
    twice(a_dfb, o_dfb)
    with o_dfb.wait() as block:
        ttl.copy(block, t[node, 0]).wait()  # written
    with a_dfb.reserve() as block:
        ttl.copy(t[1 - node, 0], block).wait()  # read
    twice(a_dfb, o_dfb)
    save(o_dfb, y, node)


@ttl.operation(grid=(2, 1))
def exchange_by_an_element(x, t):
    a_dfb, o_dfb = buffers(x, 2)
    node = ttl.node(dims=1)
    with a_dfb.reserve() as block:
        ttl.copy(x[node, 0], block).wait()
        if ttl.raw_element_read(block, 0, 0) > 0.5:
            ttl.copy(t[0, 0], block).wait()  # read
    twice(a_dfb, o_dfb)
    with o_dfb.wait() as block:
        ttl.copy(block, t[node, 0]).wait()  # written


@ttl.operation(grid=(2, 1))
def at_an_element(x, t):
    a_dfb, o_dfb = buffers(x, 2)
    node = ttl.node(dims=1)
    with a_dfb.reserve() as block:
        ttl.copy(x[node, 0], block).wait()
        place = int(ttl.raw_element_read(block, 0, 0))
        ttl.copy(t[place, 0], block).wait()  # read
    twice(a_dfb, o_dfb)
    with o_dfb.wait() as block:
        ttl.copy(block, t[node, 0]).wait()  # written


@ttl.operation(grid=(1, 1))
def too_early(x, t, y):
    a_dfb, o_dfb = buffers(x, 2)
    load(x, 0, a_dfb)
    twice(a_dfb, o_dfb)
    with o_dfb.wait() as block:
        sent = ttl.copy(block, t[0, 0])  # written
        with a_dfb.reserve() as again:
            ttl.copy(t[0, 0], again).wait()  # read
        sent.wait()
    twice(a_dfb, o_dfb)
    save(o_dfb, y, 0)


@ttl.operation(grid=(2, 1))
def sent_and_received(x, t, y):
    """A pipe wants on two threads what the tensor wants on one."""
    a_dfb, o_dfb, c_dfb, y_dfb = buffers(x, 4)
    net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0)), ttl.Pipe((1, 0), (0, 0))])
    node = ttl.node(dims=1)
    load(x, node, a_dfb)
    twice(a_dfb, o_dfb)
    with o_dfb.wait() as block:
        ttl.copy(block, t[node, 0]).wait()  # written
        net.if_src(lambda pipe: ttl.copy(block, pipe).wait())
    with c_dfb.reserve() as got:
        net.if_dst(lambda pipe: ttl.copy(pipe, got).wait())
    with c_dfb.reserve() as got:
        ttl.copy(t[node, 0], got).wait()  # read
    for _ in range(2):
        twice(c_dfb, y_dfb)
        save(y_dfb, y, node)


@ON_ALL
@pytest.mark.parametrize(
    "operation",
    [exchange, exchange_by_an_element, at_an_element, too_early, sent_and_received],
    ids=lambda operation: operation.__name__,
)
def test_what_nothing_can_order_is_an_error_with_both_lines(operation: Any, way: str) -> None:
    given = [tensor(2, 1.0) for _ in operation.signature.parameters]
    with pytest.raises(TTLError) as caught:
        call(operation, way, *given)
    found, *others = caught.value.diagnostics
    assert not others, str(caught.value)
    assert found.code.code == "TTL5005" and found.helps
    lines = {marked_line(operation.function, mark) for mark in ("# written", "# read")}
    assert found.primary is not None
    assert {found.primary.span.line, *(each.span.line for each in found.secondary)} == lines


def marked_line(function: Callable[..., Any], mark: str) -> int:
    texts, first = inspect.getsourcelines(function)
    return next(first + n for n, text in enumerate(texts) if text.rstrip().endswith(mark))


@ON_ALL
def test_semaphores_order_nodes(way: str) -> None:
    """What the help of the error says."""

    @ttl.operation(grid=(2, 1))
    def operation(x, t, y):
        a_dfb, o_dfb = buffers(x, 2)
        is_written = ttl.Semaphore()
        node = ttl.node(dims=1)
        load(x, node, a_dfb)
        twice(a_dfb, o_dfb)
        save(o_dfb, t, node)
        is_written.get_remote((1 - node, 0)).inc(1)
        is_written.wait_ge(1)
        load(t, 1 - node, a_dfb)
        twice(a_dfb, o_dfb)
        save(o_dfb, y, node)

    x, t, y = tensor(2, 1.0), tensor(2), tensor(2)
    call(operation, way, x, t, y)
    assert way == "check" or rows(y) == [4.0] * 2


@ON_ALL
def test_two_operations_order_nodes(way: str) -> None:
    """The other half of that help."""

    @ttl.operation(grid=(2, 1))
    def step(x, y, other):
        a_dfb, o_dfb = buffers(x, 2)
        node = ttl.node(dims=1)
        load(x, other - node if other else node, a_dfb)
        twice(a_dfb, o_dfb)
        save(o_dfb, y, node)

    x, t, y = tensor(2, 1.0), tensor(2), tensor(2)
    with process_variables(RUNS.get(way, {})):
        step(x, t, 0)
        step(t, y, 1)
    assert rows(y) == [4.0] * 2


def own_signal(count: int) -> Any:
    @ttl.operation(grid=(2, 1))
    def operation(x, t, y):
        a_dfb, o_dfb = buffers(x, 2)
        is_written = ttl.Semaphore()
        node = ttl.node(dims=1)
        load(x, node, a_dfb)
        twice(a_dfb, o_dfb)
        save(o_dfb, t, node)
        is_written.get_remote((0, 0)).inc(1)
        if node == 0:
            is_written.wait_ge(count)
            load(t, 0, a_dfb)
            twice(a_dfb, o_dfb)
            save(o_dfb, y, 0)

    return operation


def test_a_signal_of_the_node_itself_orders_what_cannot_start_without_it() -> None:
    """Both nodes signal node 0: only a wait for two of them is a wait for its own."""
    given = tensor(2, 1.0), tensor(2), tensor(2)
    assert movers(own_signal(2), *given) == BOTH
    assert len(movers(own_signal(1), *given)) == 1
    for count in (1, 2):
        x, t, y = tensor(2, 1.0), tensor(2), tensor(1)
        call(own_signal(count), "strict", x, t, y)
        assert rows(y) == [4.0]
