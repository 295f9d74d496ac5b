"""The `ttl.Pipe` itself in a copy, instead of what the functions of if_src() and if_dst() get,
and outside of those functions."""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from conformance.harness import empty, refused, run, tensor, tiles


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
    assert ttl.to_numpy(y)[::32, ::32].tolist() == [[0, 5, 6], [5, 6, 0]]


@pytest.mark.rule("pipe-objects")
def test_one_end_by_hand_the_other_by_the_argument():
    a, y = results()
    run(passing_on(send_by_hand, lambda pipe, ends, blk: ttl.copy(pipe, blk).wait()), a, y)
    assert ttl.to_numpy(y)[::32, ::32].tolist() == [[0, 5, 6], [5, 6, 0]]


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
    assert ttl.to_numpy(y)[::32, ::32].tolist() == [[7, 5, 6], [5, 6, 7]]


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
    assert ttl.to_numpy(y)[0, ::32].tolist() == [6, 6]


@pytest.mark.rule("pipe-objects")
def test_another_pipe_than_that_of_the_function_is_refused():
    def always_the_first(blk, pipe, ends):
        ttl.copy(blk, ends[0]).wait()

    a, y = results()
    text = refused(passing_on(always_the_first, receive_by_hand), a, y, slug="pipe-role")
    assert "pipe (0, 0) -> (1, 0), which does not start here" in text
    assert "ttl.copy(blk, ends[0])" in text


# Outside of the functions ------------------------------------------------------------------------


def connecting(send, receive, ends, in_net=True, asks_for_node=False):
    """Each of three nodes reads its tile of `a`, may send it by `send(blk, ends)`, and may receive
    by `receive(ends, into)`, which gives the number of blocks; it writes them to `y`.

    `ends` are sources and destinations of the pipes.
    """

    @ttl.operation(grid=(3, 1))
    def operation(a, y):
        pipes = [ttl.Pipe(src, dst) for src, dst in ends]
        net = ttl.PipeNet(pipes) if in_net else None
        here = ttl.node(1) if asks_for_node else None
        out = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        into = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=3)

        @ttl.datamovement()
        def sending():
            with out.reserve() as blk:
                ttl.copy(a[0, ttl.node(1) if here is None else here], blk).wait()
                send(blk, pipes, net)
            with out.wait() as blk:
                ttl.copy(blk, y[0, ttl.node(1)]).wait()

        @ttl.datamovement()
        def receiving():
            for row in range(receive(into, pipes, net)):
                with into.wait() as blk:
                    ttl.copy(blk, y[1 + row, ttl.node(1)]).wait()

    return operation


def connected(*given, **options):
    y = tensor(np.zeros((96, 96), np.float32))
    run(connecting(*given, **options), tensor(tiles(5, 6, 7)), y)
    return ttl.to_numpy(y)[32::32, ::32].tolist()


TRIANGLE = [((0, 0), (1, 0)), ((1, 0), (2, 0)), ((0, 0), (2, 0))]


def send_triangle(blk, pipes, net):
    if ttl.node(1) == 0:
        ttl.copy(blk, pipes[0]).wait()
        ttl.copy(blk, pipes[2]).wait()
    elif ttl.node(1) == 1:
        ttl.copy(blk, pipes[1]).wait()


def receive_triangle(into, pipes, net):
    if ttl.node(1) == 1:
        with into.reserve() as blk:
            ttl.copy(pipes[0], blk).wait()
    if ttl.node(1) == 2:
        with into.reserve() as first, into.reserve() as second:
            late = ttl.copy(pipes[2], second)
            early = ttl.copy(pipes[1], first)
            early.wait()
            late.wait()
    return ttl.node(1)


@pytest.mark.rule("pipe-objects")
@pytest.mark.parametrize("in_net", [True, False])
@pytest.mark.parametrize("asks_for_node", [False, True])
def test_pipes_under_conditions_on_the_node(in_net, asks_for_node):
    options = {"in_net": in_net, "asks_for_node": asks_for_node}
    found = connected(send_triangle, receive_triangle, TRIANGLE, **options)
    assert found == [[0, 5, 6], [0, 0, 5]]


@pytest.mark.rule("pipe-objects")
def test_pipes_under_roles_and_functions_at_the_other_end():
    def send(blk, pipes, net):
        if net.is_src():
            ttl.copy(blk, pipes[0]).wait()

    def receive(into, pipes, net):
        def take(pipe):
            with into.reserve() as blk:
                ttl.copy(pipe, blk).wait()

        net.if_dst(take)
        return 1 if net.is_dst() else 0

    assert connected(send, receive, [((2, 0), (slice(0, 2), 0))]) == [[7, 7, 0], [0, 0, 0]]


@pytest.mark.rule("pipe-objects")
def test_pipes_of_a_list_in_a_loop():
    def send(blk, pipes, net):
        if ttl.node(1) == 1:
            for number in range(2):
                ttl.copy(blk, pipes[number]).wait()

    def receive(into, pipes, net):
        for number in range(2):
            if ttl.node(1) == 2 * number:
                with into.reserve() as blk:
                    ttl.copy(pipes[number], blk).wait()
        return (ttl.node(1) + 1) % 2

    assert connected(send, receive, [((1, 0), (0, 0)), ((1, 0), (2, 0))])[0] == [6, 0, 6]


@pytest.mark.rule("pipe-objects")
def test_pipes_of_a_list_at_the_rest_of_a_negative_number():
    def send(blk, pipes, net):
        ttl.copy(blk, pipes[ttl.node(1)]).wait()

    def receive(into, pipes, net):
        with into.reserve() as blk:
            ttl.copy(pipes[(ttl.node(1) - 1) % 3], blk).wait()
        return 1

    ring = [((node, 0), ((node + 1) % 3, 0)) for node in range(3)]
    assert connected(send, receive, ring)[0] == [7, 5, 6]


@pytest.mark.rule("pipe-objects")
@pytest.mark.parametrize("in_net", [True, False])
def test_equal_pipes_are_not_one(in_net):
    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        pipes = [ttl.Pipe((0, 0), (1, 0)) for _ in range(2)]
        net = ttl.PipeNet(pipes) if in_net else None
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

        @ttl.datamovement()
        def move():
            assert (net is not None) == in_net
            with dfb.reserve() as first, dfb.reserve() as second:
                if ttl.node(1) == 0:
                    ttl.copy(a[0, 0], first).wait()
                    ttl.copy(a[0, 1], second).wait()
                    ttl.copy(first, pipes[0]).wait()
                    ttl.copy(second, pipes[1]).wait()
                else:
                    late, early = ttl.copy(pipes[1], second), ttl.copy(pipes[0], first)
                    early.wait()
                    late.wait()

        @ttl.datamovement()
        def write():
            for column in range(2):
                with dfb.wait() as blk:
                    ttl.copy(blk, y[ttl.node(1), column]).wait()

    run(operation, tensor(tiles(5, 6)), y := tensor(np.zeros((64, 64), np.float32)))
    assert ttl.to_numpy(y)[::32, ::32].tolist() == [[5, 6], [5, 6]]


@pytest.mark.rule("pipe-objects")
def test_a_multicast_to_its_source_too():
    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        pipe = ttl.Pipe(src=(0, 0), dst=(slice(0, 2), 0))
        net = ttl.PipeNet([pipe])
        out = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        into = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def move():
            with into.reserve() as received:
                post = ttl.copy(pipe, received)
                if net.is_src():
                    with out.reserve() as blk:
                        ttl.copy(a[0, 1], blk).wait()
                        ttl.copy(blk, pipe).wait()
                post.wait()

        @ttl.datamovement()
        def write():
            with into.wait() as blk:
                ttl.copy(blk, y[0, ttl.node(1)]).wait()
            if net.is_src():
                out.wait().pop()

    run(operation, tensor(tiles(5, 6)), y := tensor(tiles(0, 0)))
    assert ttl.to_numpy(y)[0, ::32].tolist() == [6, 6]


@pytest.mark.rule("pipe-objects")
def test_a_pipe_of_the_module_in_no_net():
    pipe = ttl.Pipe(0, 1)

    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def move():
            with dfb.reserve() as blk:
                if ttl.node(1) == 0:
                    ttl.copy(a[0, 0], blk).wait()
                    ttl.copy(blk, pipe).wait()
                else:
                    ttl.copy(pipe, blk).wait()

        @ttl.datamovement()
        def write():
            with dfb.wait() as blk:
                ttl.copy(blk, y[0, ttl.node(1)]).wait()

    for value in (5, 6):
        run(operation, tensor(tiles(value)), y := tensor(tiles(0, 0)))
        assert ttl.to_numpy(y)[0, ::32].tolist() == [value, value]


@pytest.mark.rule("pipe-objects")
def test_pipes_that_several_operations_put_in_nets():
    pipes = ttl.Pipe((0, 0), (1, 0)), ttl.Pipe((1, 0), (0, 0))

    def exchanging(order):
        @ttl.operation(grid=(2, 1))
        def operation(a, y):
            nets = [ttl.PipeNet([pipes[number]]) for number in order]
            out = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
            into = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

            @ttl.datamovement()
            def send():
                x = ttl.node(1)
                with out.reserve() as blk:
                    ttl.copy(a[0, x], blk).wait()
                    if x == 0:
                        ttl.copy(blk, pipes[0]).wait()
                    else:
                        ttl.copy(blk, pipes[1]).wait()
                with out.wait() as blk:
                    ttl.copy(blk, y[1, x]).wait()

            @ttl.datamovement()
            def receive():
                with into.reserve() as blk:
                    for net in nets:
                        net.if_dst(lambda pipe: ttl.copy(pipe, blk).wait())
                with into.wait() as blk:
                    ttl.copy(blk, y[0, ttl.node(1)]).wait()

        return operation

    for order in ((0, 1), (1, 0)):
        y = tensor(np.zeros((64, 64), np.float32))
        run(exchanging(order), tensor(tiles(5, 6)), y)
        assert ttl.to_numpy(y)[::32, ::32].tolist() == [[6, 5], [5, 6]]


@pytest.mark.rule("pipe-objects")
@pytest.mark.parametrize("in_net", [True, False])
def test_a_node_where_the_pipe_does_not_start_cannot_send(in_net):
    def send(blk, pipes, net):
        if ttl.node(1) <= 1:  # node 1 is the source of another one
            ttl.copy(blk, pipes[0]).wait()

    operation = connecting(send, receive_triangle, TRIANGLE, in_net=in_net)
    y = tensor(np.zeros((96, 96), np.float32))
    text = refused(operation, tensor(tiles(5, 6, 7)), y, slug="pipe-role")
    assert "cannot send through pipe (0, 0) -> (1, 0), which does not start here" in text
    assert "ttl.copy(blk, pipes[0])" in text and "node (1, 0)" in text and "is_src()" in text


@pytest.mark.rule("pipe-objects")
@pytest.mark.parametrize("in_net", [True, False])
def test_a_node_where_the_pipe_does_not_end_cannot_receive(in_net):
    def receive(into, pipes, net):
        with into.reserve() as blk:
            ttl.copy(pipes[1], blk).wait()
        return 1

    operation = connecting(send_triangle, receive, TRIANGLE, in_net=in_net)
    y = tensor(np.zeros((96, 96), np.float32))
    text = refused(operation, tensor(tiles(5, 6, 7)), y, slug="pipe-role")
    assert "cannot receive from pipe (1, 0) -> (2, 0), which does not end here" in text
    assert "ttl.copy(pipes[1], blk)" in text and "is_dst()" in text


@pytest.mark.rule("pipe-objects")
def test_a_pipe_that_a_kernel_makes_is_in_no_net():
    def send(blk, pipes, net):
        if ttl.node(1) == 0:
            ttl.copy(blk, ttl.Pipe((0, 0), (1, 0))).wait()

    operation = connecting(send, receive_triangle, TRIANGLE)
    y = tensor(np.zeros((96, 96), np.float32))
    text = refused(operation, tensor(tiles(5, 6, 7)), y, slug="pipe-role")
    assert "pipe (0, 0) -> (1, 0) is in no pipe net" in text


GLOBAL_PIPE = ttl.Pipe((0, 0), (1, 0))


@pytest.mark.rule("pipe-objects")
def test_a_global_pipe_without_a_net():
    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

        @ttl.datamovement()
        def send_or_receive():
            with dfb.reserve() as blk:
                if ttl.node(1) == 0:
                    ttl.copy(a[0, 0], blk).wait()
                    ttl.copy(blk, GLOBAL_PIPE).wait()
                else:
                    ttl.copy(GLOBAL_PIPE, blk).wait()

        @ttl.datamovement()
        def write():
            with dfb.wait() as blk:
                ttl.copy(blk, y[0, ttl.node(1)]).wait()

    run(operation, tensor(tiles(5)), y := empty(32, 64))
    assert ttl.to_numpy(y)[0, ::32].tolist() == [5, 5]
