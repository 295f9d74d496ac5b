"""Receives that only some nodes start, waited for after the callback under a condition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ttl
from agreement.verdicts import checked
from ttl import ttnn
from ttl.config import chosen_options

COLUMNS, ROUNDS = 3, 3
DEVICE = ttnn.open_device(device_id=0)
Receive = Callable[[Any, Any, int], None]


def if_not_none(net, blk, i):
    started = None

    def receive(pipe):
        nonlocal started
        started = ttl.copy(pipe, blk)

    net.if_dst(receive)
    if started is not None:
        started.wait()


def in_one_branch_or_the_other(net, blk, i):
    if net.is_dst():
        started = None

        def receive(pipe):
            nonlocal started
            started = ttl.copy(pipe, blk)

        net.if_dst(receive)
        if i == 1:
            started.wait()
        else:
            other = started
            other.wait()


def of_a_list(net, blk, i):
    started = []
    net.if_dst(lambda pipe: started.append(ttl.copy(pipe, blk)))
    if net.is_dst():
        started[0].wait()


def all_of_a_list(net, blk, i):
    started = []
    net.if_dst(lambda pipe: started.append(ttl.copy(pipe, blk)))
    for transfer in started:
        transfer.wait()


def operation_of(receive: Receive, first: int) -> Any:
    """Node 0 sends to the nodes from `first` on, itself too if that is 0."""

    @ttl.operation(grid=(COLUMNS, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
        net = ttl.PipeNet([ttl.Pipe((0, 0), (slice(first, COLUMNS), 0))])

        @ttl.datamovement()
        def read():
            def send(pipe):
                ttl.copy(a[0, i], blk).wait()
                ttl.copy(blk, pipe).wait()

            for i in range(ROUNDS):
                blk = dfb.reserve()
                net.if_src(send)
                receive(net, blk, i)
                blk.push()

        @ttl.datamovement()
        def write():
            column = ttl.node(dims=1)
            for i in range(ROUNDS):
                with dfb.wait() as blk:
                    ttl.copy(blk, y[0, column * ROUNDS + i]).wait()

    return operation


def tensors() -> tuple[Any, Any]:
    values = np.repeat(np.arange(1, ROUNDS + 1), 32) * np.ones((32, 1))
    a = ttl.from_numpy(values, ttnn.float32, device=DEVICE)
    return a, ttl.from_numpy(np.zeros((32, 32 * ROUNDS * COLUMNS)), ttnn.float32, device=DEVICE)


# A list of a helper that only some nodes change is not compiled yet.
CASES = [
    (if_not_none, 0),
    (if_not_none, 1),
    (in_one_branch_or_the_other, 0),
    (in_one_branch_or_the_other, 1),
    (of_a_list, 0),
    (all_of_a_list, 0),
]


@pytest.mark.parametrize("backend", ["sim", "host"])
@pytest.mark.parametrize("receive, first", CASES)
def test_every_node_has_what_was_sent(receive: Receive, first: int, backend: str) -> None:
    a, y = tensors()
    with chosen_options(backend=backend):
        operation_of(receive, first)(a, y)
    assert [*ttl.to_numpy(y)[0, ::32]] == [1, 2, 3] * COLUMNS


@pytest.mark.parametrize("receive, first", CASES)
def test_the_check_accepts_it(receive: Receive, first: int) -> None:
    assert checked(operation_of(receive, first), (tensors(), {})) == ()


@ttl.operation(grid=(COLUMNS, 1))
def one_variable_for_all_rounds(a, y):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
    net = ttl.PipeNet([ttl.Pipe((0, 0), (slice(1, COLUMNS), 0))])

    @ttl.datamovement()
    def read():
        started = None

        def send(pipe):
            ttl.copy(blk, pipe).wait()

        def receive(pipe):
            nonlocal started
            started = ttl.copy(pipe, blk)

        for i in range(ROUNDS):
            blk = dfb.reserve()
            if net.is_src():
                ttl.copy(a[0, i], blk).wait()
            net.if_src(send)
            net.if_dst(receive)
            if started is not None:
                started.wait()
            blk.push()

    @ttl.datamovement()
    def write():
        column = ttl.node(dims=1)
        for i in range(ROUNDS):
            with dfb.wait() as blk:
                ttl.copy(blk, y[0, column * ROUNDS + i]).wait()


@pytest.mark.parametrize("backend", ["sim", "host"])
def test_a_variable_from_before_the_loop_is_none_where_nothing_is_received(backend: str) -> None:
    a, y = tensors()
    with chosen_options(backend=backend):
        one_variable_for_all_rounds(a, y)
    assert [*ttl.to_numpy(y)[0, ::32]] == [1, 2, 3] * COLUMNS
