"""The `ttl.Pipe` itself in a copy, instead of what the functions of if_src() and if_dst() get."""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from conformance.harness import refused, run, tensor, tiles
from ttl import ttnn


def passing_on(send, receive, asks_for_node=False):
    """Nodes 0 and 1 of three send their tile of `a` to the next, which writes it to `y`.

    `send(blk, pipe, ends)` and `receive(pipe, ends, blk)` make the copies; `ends` are the two
    pipes.
    """

    @ttl.operation(grid=(3, 1))
    def operation(a, y):
        first, second = ttl.Pipe((0, 0), (1, 0)), ttl.Pipe(src=(1, 0), dst=(slice(2, 3), 0))
        ends = (first, second)
        net = ttl.PipeNet([first, second])
        here = ttl.node(1) if asks_for_node else None
        out = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        into = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def sending():
            def give(pipe):
                with out.reserve() as blk:
                    ttl.copy(a[0, ttl.node(1) if here is None else here], blk).wait()
                    send(blk, pipe, ends)
                with out.wait() as blk:
                    ttl.copy(blk, y[1, ttl.node(1)]).wait()

            net.if_src(give)

        @ttl.datamovement()
        def receiving():
            def take(pipe):
                with into.reserve() as blk:
                    receive(pipe, ends, blk)
                with into.wait() as blk:
                    ttl.copy(blk, y[0, ttl.node(1)]).wait()

            net.if_dst(take)

    return operation


def send_by_hand(blk, pipe, ends):
    if ttl.node(1) == 0:
        ttl.copy(blk, ends[0]).wait()
    else:
        ttl.copy(blk, ends[1]).wait()


def receive_by_hand(pipe, ends, blk):
    if ttl.node(1) == 1:
        ttl.copy(ends[0], blk).wait()
    else:
        ttl.copy(ends[1], blk).wait()


def results():
    return tensor(tiles(5, 6, 7)), tensor(np.zeros((64, 96), np.float32))


@pytest.mark.rule("pipe-objects")
@pytest.mark.parametrize("asks_for_node", [False, True])
def test_pipes_of_the_operation_in_the_functions_of_a_net(asks_for_node):
    a, y = results()
    run(passing_on(send_by_hand, receive_by_hand, asks_for_node), a, y)
    assert ttnn.to_numpy(y)[::32, ::32].tolist() == [[0, 5, 6], [5, 6, 0]]


@pytest.mark.rule("pipe-objects")
def test_one_end_by_hand_the_other_by_the_argument():
    a, y = results()
    run(passing_on(send_by_hand, lambda pipe, ends, blk: ttl.copy(pipe, blk).wait()), a, y)
    assert ttnn.to_numpy(y)[::32, ::32].tolist() == [[0, 5, 6], [5, 6, 0]]


@pytest.mark.rule("pipe-objects")
def test_each_node_knows_its_own_pipe():
    @ttl.operation(grid=(3, 1))
    def operation(a, y):
        x, _ = ttl.node()
        ring = [ttl.Pipe((i, 0), ((i + 1) % 3, 0)) for i in range(3)]
        net = ttl.PipeNet(ring)
        own, other = ring[x], ring[x - 1]
        out = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        into = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def send():
            with out.reserve() as blk:
                ttl.copy(a[0, x], blk).wait()
                net.if_src(lambda _: ttl.copy(blk, own).wait())
            with out.wait() as blk:
                ttl.copy(blk, y[1, x]).wait()

        @ttl.datamovement()
        def receive():
            with into.reserve() as blk:
                net.if_dst(lambda _: ttl.copy(other, blk).wait())
            with into.wait() as blk:
                ttl.copy(blk, y[0, x]).wait()

    a, y = results()
    run(operation, a, y)
    assert ttnn.to_numpy(y)[::32, ::32].tolist() == [[7, 5, 6], [5, 6, 7]]


@pytest.mark.rule("pipe-objects")
def test_a_net_of_one_pipe():
    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        pipe = ttl.Pipe(src=(0, 0), dst=(1, 0))
        net = ttl.PipeNet([pipe])
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def move():
            with dfb.reserve() as blk:

                def give(_):
                    ttl.copy(a[0, pipe.dst[0]], blk).wait()
                    ttl.copy(blk, pipe).wait()

                net.if_src(give)
                net.if_dst(lambda _: ttl.copy(pipe, blk).wait())

        @ttl.datamovement()
        def write():
            with dfb.wait() as blk:
                ttl.copy(blk, y[0, ttl.node(1)]).wait()

    run(operation, tensor(tiles(5, 6)), y := tensor(tiles(0, 0)))
    assert ttnn.to_numpy(y)[0, ::32].tolist() == [6, 6]


@pytest.mark.rule("pipe-objects")
def test_another_pipe_than_that_of_the_function_is_refused():
    def always_the_first(blk, pipe, ends):
        ttl.copy(blk, ends[0]).wait()

    a, y = results()
    operation = passing_on(always_the_first, receive_by_hand)
    try:
        text = refused(operation, a, y, slug="pipe-role")
    except AssertionError:  # compiled, the function is one for all pipes
        text = refused(operation, a, y, slug="kernel-exception")
    assert "pipe (0, 0) -> (1, 0)" in text and "ttl.copy(blk, ends[0])" in text


@pytest.mark.rule("pipe-objects")
def test_a_pipe_outside_of_the_functions_of_its_net_is_refused():
    @ttl.operation(grid=(2, 1))
    def operation(a):
        pipe = ttl.Pipe((0, 0), (1, 0))
        net = ttl.PipeNet([pipe])
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def move():
            if net.is_src():
                with dfb.reserve() as blk:
                    ttl.copy(a[0, 0], blk).wait()
                    ttl.copy(blk, pipe).wait()

    text = refused(operation, tensor(tiles(1)), slug="pipe-role")
    assert "call if_src() of the pipe net" in text
