"""Blocks that generators hold, that are held into loops, or received under conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ttl
from agreement.verdicts import checked
from ttl import ttnn
from ttl.config import chosen_options

NODES = 3
DEVICE = ttnn.open_device(device_id=0)
Kernels = Callable[..., tuple[Callable[[], None], ...]]


def operation_of(kernels: Kernels) -> Any:
    @ttl.operation(grid=(NODES, 1))
    def operation(x, y):
        count = 3 if "three" in kernels.__name__ else 2
        x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=count)
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=count)
        sent = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
        net = ttl.PipeNet([ttl.Pipe((0, 0), (n, 0)) for n in range(1, NODES)])
        compute, read, write = kernels(x, y, x_dfb, y_dfb, sent, net)
        ttl.compute()(compute)
        ttl.datamovement()(read)
        ttl.datamovement()(write)

    return operation


def tensors() -> tuple[Any, Any]:
    values = np.arange(32 * 32 * NODES).reshape(32, -1) % 7 + 1
    x = ttl.from_numpy(values.astype(np.float32), ttnn.float32, device=DEVICE)
    return x, ttnn.zeros_like(x)


def reader(x, x_dfb, count):
    def read():
        for i in range(count):
            with x_dfb.reserve() as block:
                ttl.copy(x[0, (i + ttl.node(dims=1)) % NODES], block).wait()

    return read


def adding_one(x_dfb, y_dfb, count):
    def compute():
        for _ in range(count):
            with x_dfb.wait() as block, y_dfb.reserve() as out:
                out.store(block + 1)

    return compute


def writer(y, y_dfb, count):
    def write():
        for _ in range(count):
            with y_dfb.wait() as block:
                ttl.copy(block, y[0, ttl.node(dims=1)]).wait()

    return write


def waited(x_dfb, count):
    for _ in range(count):
        with x_dfb.wait() as block:
            yield block


def a_generator_of_blocks(x, y, x_dfb, y_dfb, sent, net):
    def compute():
        for block in waited(x_dfb, 5):
            with y_dfb.reserve() as out:
                out.store(block + 1)

    return compute, reader(x, x_dfb, 5), writer(y, y_dfb, 5)


def a_generator_that_pushes(x, y, x_dfb, y_dfb, sent, net):
    def reserved(count):
        for i in range(count):
            out = y_dfb.reserve()
            yield i, out
            out.push()

    def compute():
        for i, out in reserved(5):
            block = x_dfb.wait()
            out.store(block + i)
            block.pop()

    return compute, reader(x, x_dfb, 5), writer(y, y_dfb, 5)


def numbered_blocks(x, y, x_dfb, y_dfb, sent, net):
    def compute():
        for i, block in enumerate(waited(x_dfb, 5)):
            with y_dfb.reserve() as out:
                out.store(block + i)

    return compute, reader(x, x_dfb, 5), writer(y, y_dfb, 5)


def a_generator_expression_of_blocks(x, y, x_dfb, y_dfb, sent, net):
    def compute():
        for block in (x_dfb.wait() for _ in range(5)):
            with y_dfb.reserve() as out:
                out.store(block + 1)
            block.pop()

    return compute, reader(x, x_dfb, 5), writer(y, y_dfb, 5)


def a_generator_of_places(x, y, x_dfb, y_dfb, sent, net):
    def places(count):
        for i in range(count):
            for j in range(2):
                yield 0, (i + j) % NODES

    def read():
        for row, column in places(3):
            with x_dfb.reserve() as block:
                ttl.copy(x[row, column], block).wait()

    return adding_one(x_dfb, y_dfb, 6), read, writer(y, y_dfb, 6)


def a_generator_that_is_left_in_a_with(x, y, x_dfb, y_dfb, sent, net):
    def compute():
        for i, block in enumerate(waited(x_dfb, 5)):
            with y_dfb.reserve() as out:
                out.store(block + i)
            if i == 3:
                break

    return compute, reader(x, x_dfb, 4), writer(y, y_dfb, 4)


def two_of_three(x, y, x_dfb, y_dfb, sent, net):
    def compute():
        one, two = x_dfb.wait(), x_dfb.wait()
        for _ in range(4):
            three = x_dfb.wait()
            with y_dfb.reserve() as out:
                out.store(one + two * 10 + three * 100)
            one.pop()
            one, two = two, three
        one.pop()
        two.pop()

    return compute, reader(x, x_dfb, 6), writer(y, y_dfb, 4)


def held_into_a_loop(x, y, x_dfb, y_dfb, sent, net):
    def compute():
        block = x_dfb.wait()
        for i in range(4):
            if i > 0:
                block = x_dfb.wait()
            with y_dfb.reserve() as out:
                out.store(block + i)
            block.pop()

    return compute, reader(x, x_dfb, 4), writer(y, y_dfb, 4)


def released_in_one_iteration(x, y, x_dfb, y_dfb, sent, net):
    def compute():
        block = x_dfb.wait()
        for i in range(4):
            with y_dfb.reserve() as out:
                out.store(block + i)
            if i == 2:
                block.pop()
                block = x_dfb.wait()
        block.pop()

    return compute, reader(x, x_dfb, 2), writer(y, y_dfb, 4)


def released_in_the_last_iteration(x, y, x_dfb, y_dfb, sent, net):
    def compute():
        block = x_dfb.wait()
        for i in range(4):
            with y_dfb.reserve() as out:
                out.store(block + i)
            if i == 3:
                block.pop()

    return compute, reader(x, x_dfb, 1), writer(y, y_dfb, 4)


def _sends(x, sent, net):
    with sent.reserve() as block:
        ttl.copy(x[0, 0], block).wait()
    with sent.wait() as block:
        net.if_src(lambda pipe: ttl.copy(block, pipe).wait())


def received_on_some_nodes(x, y, x_dfb, y_dfb, sent, net):
    def read():
        block = x_dfb.reserve()
        if ttl.node(dims=1) > 0:
            net.if_dst(lambda pipe: ttl.copy(pipe, block).wait())
        else:
            _sends(x, sent, net)
            ttl.copy(x[0, 1], block).wait()
        block.push()

    return adding_one(x_dfb, y_dfb, 1), read, writer(y, y_dfb, 1)


def waited_for_under_a_condition(x, y, x_dfb, y_dfb, sent, net):
    def read():
        node = ttl.node(dims=1)
        block = x_dfb.reserve()

        def receive(pipe):
            transfer = ttl.copy(pipe, block)
            if node > 1:
                transfer.wait()
            else:
                print("nearer")
                transfer.wait()

        _sends(x, sent, net)
        net.if_dst(receive)
        if not net.is_dst():
            ttl.copy(x[0, 1], block).wait()
        block.push()

    return adding_one(x_dfb, y_dfb, 1), read, writer(y, y_dfb, 1)


PROGRAMS = [
    a_generator_of_blocks,
    a_generator_that_pushes,
    numbered_blocks,
    a_generator_expression_of_blocks,
    a_generator_of_places,
    a_generator_that_is_left_in_a_with,
    two_of_three,
    held_into_a_loop,
    released_in_one_iteration,
    released_in_the_last_iteration,
    received_on_some_nodes,
    waited_for_under_a_condition,
]


@pytest.mark.parametrize("kernels", PROGRAMS)
def test_it_runs_alike_and_passes_the_check(kernels: Kernels) -> None:
    results = []
    for backend in ("sim", "host"):
        x, y = tensors()
        with chosen_options(backend=backend):
            operation_of(kernels)(x, y)
        results.append(ttl.to_numpy(y))
    assert np.abs(results[0]).max() > 0
    np.testing.assert_array_equal(*results)
    assert checked(operation_of(kernels), (tensors(), {})) == ()
