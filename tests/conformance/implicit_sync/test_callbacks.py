"""Callbacks have their own names, and leave out what kernels may; blocks held into loops."""
# ruff: noqa: B007, B023, E731, F841

from __future__ import annotations

import pytest

import ttl
from conformance.harness import empty, run, tensor, tile_numbers, tiles
from conformance.implicit_sync.test_last_use import COUNT, check

# Forwarding chains --------------------------------------------------------------------------------


def forwarding(forward):
    @ttl.operation(grid=(3, 1))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe((node, 0), (node + 1, 0)) for node in range(2)])
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

        @ttl.datamovement()
        def move():
            forward(a, dfb, net)

        @ttl.datamovement()
        def write():
            for i in range(COUNT):
                blk = dfb.wait()
                ttl.copy(blk, y[ttl.node(1), i])

    return operation


def forward_with_another_name(a, dfb, net):
    for i in range(COUNT):
        blk = dfb.reserve()
        if not net.is_dst():
            t = ttl.copy(a[0, i], blk)

        def receive(pipe):
            q = ttl.copy(pipe, blk)

        def send(pipe):
            q = ttl.copy(blk, pipe)

        net.if_dst(receive)
        net.if_src(send)


def forward_with_the_same_name(a, dfb, net):
    for i in range(COUNT):
        blk = dfb.reserve()
        if not net.is_dst():
            t = ttl.copy(a[0, i], blk)

        def receive(pipe):
            t = ttl.copy(pipe, blk)

        def send(pipe):
            t = ttl.copy(blk, pipe)

        net.if_dst(receive)
        net.if_src(send)


def forward_with_names_of_parameters(a, dfb, net):
    def receive(blk):
        t = ttl.copy(blk, held)

    def send(blk):
        t = ttl.copy(held, blk)

    for i in range(COUNT):
        held = blk = dfb.reserve()
        if not net.is_dst():
            t = ttl.copy(a[0, i], blk)
        net.if_dst(receive)
        net.if_src(send)


def forward_with_lambdas(a, dfb, net):
    for i in range(COUNT):
        blk = dfb.reserve()
        if not net.is_dst():
            t = ttl.copy(a[0, i], blk)
        net.if_dst(lambda t: ttl.copy(t, blk))
        net.if_src(lambda t: ttl.copy(blk, t))


def forward_with_callbacks_in_variables(a, dfb, net):
    for i in range(COUNT):
        blk = dfb.reserve()
        if not net.is_dst():
            ttl.copy(a[0, i], blk)
        receive = lambda pipe: ttl.copy(pipe, blk)
        sends = [lambda pipe: ttl.copy(blk, pipe)]
        net.if_dst(receive)
        net.if_src(sends[0])


def forward_with_composed_callbacks(a, dfb, net):
    def moved(ends):
        source, destination = ends
        t = ttl.copy(source, destination)

    def then(one, other):
        return lambda pipe: other(one(pipe))

    for i in range(COUNT):
        blk = dfb.reserve()
        if not net.is_dst():
            ttl.copy(a[0, i], blk)
        net.if_dst(then(lambda pipe: (pipe, blk), moved))
        net.if_src(then(lambda pipe: (blk, pipe), moved))


@pytest.mark.rule("implicit-wait")
@pytest.mark.parametrize(
    "forward",
    [
        forward_with_another_name,
        forward_with_the_same_name,
        forward_with_names_of_parameters,
        forward_with_lambdas,
        forward_with_callbacks_in_variables,
        forward_with_composed_callbacks,
    ],
)
def test_a_chain_forwards_whatever_the_names_in_its_callbacks(forward):
    run(forwarding(forward), tensor(tiles(5, 6, 7, 8)), y := empty(96, 128))
    assert tile_numbers_of_rows(y) == [[5, 6, 7, 8]] * 3


def tile_numbers_of_rows(result):
    values = ttl.to_numpy(result)
    return [[float(row[32 * i]) for i in range(COUNT)] for row in values[::32]]


# Blocks that callbacks acquire --------------------------------------------------------------------


def sending(send, receive):
    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=1)
        y_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=1)

        @ttl.datamovement()
        def move():
            for i in range(COUNT):
                if net.is_src():
                    ttl.copy(a[0, i], a_dfb.reserve())
                send(net, a_dfb)
                receive(net, y_dfb)

        @ttl.datamovement()
        def write():
            if net.is_dst():
                for i in range(COUNT):
                    ttl.copy(y_dfb.wait(), y[0, i])

    return operation


def send_with_a_def(net, dfb):
    def send(pipe):
        ttl.copy(dfb.wait(), pipe)

    net.if_src(send)


def send_what_is_returned(net, dfb):
    def send(pipe):
        return ttl.copy(dfb.wait(), pipe)

    net.if_src(send)


def send_with_a_lambda(net, dfb):
    net.if_src(lambda pipe: ttl.copy(dfb.wait(), pipe))


def send_with_a_lambda_and_wait(net, dfb):
    net.if_src(lambda pipe: ttl.copy(dfb.wait(), pipe).wait())


def send_with_a_variable(net, dfb):
    send = lambda pipe: ttl.copy(dfb.wait(), pipe)
    net.if_src(send)


def send_by_nested_functions(net, dfb):
    def send(pipe):
        def move(blk):
            ttl.copy(blk, pipe)

        move(dfb.wait())

    net.if_src(send)


def receive_with_a_lambda(net, dfb):
    net.if_dst(lambda pipe: ttl.copy(pipe, dfb.reserve()))


def receive_with_a_def(net, dfb):
    def receive(pipe):
        blk = dfb.reserve()
        ttl.copy(pipe, blk)

    net.if_dst(receive)


@pytest.mark.rule("implicit-release")
@pytest.mark.parametrize("receive", [receive_with_a_def, receive_with_a_lambda])
@pytest.mark.parametrize(
    "send",
    [
        send_with_a_def,
        send_what_is_returned,
        send_with_a_lambda,
        send_with_a_lambda_and_wait,
        send_with_a_variable,
        send_by_nested_functions,
    ],
)
def test_what_a_callback_acquires_is_released_in_it(send, receive):
    """Buffers have one block: each call needs that of the call before."""
    run(sending(send, receive), tensor(tiles(5, 6, 7, 8)), y := empty(32, 128))
    assert tile_numbers(y) == [5, 6, 7, 8]


# Blocks held into loops ---------------------------------------------------------------------------


def compute_and_release_inside(a_dfb, t_dfb, y_dfb):
    """The block before is released in each iteration, which holds the next one."""
    held = a_dfb.wait()
    for i in range(COUNT - 1):
        y_dfb.reserve().store(held + held)
        held.pop()
        held = a_dfb.wait()
    y_dfb.reserve().store(held + held)


def compute_and_release_in_the_last(a_dfb, t_dfb, y_dfb):
    """Acquired before the loop, and popped in its first iteration."""
    held = a_dfb.wait()
    for i in range(COUNT):
        if i == 0:
            y_dfb.reserve().store(held + held)
            held.pop()
        else:
            v = a_dfb.wait()
            y_dfb.reserve().store(v + v)


@pytest.mark.rule("implicit-release")
@pytest.mark.parametrize("compute", [compute_and_release_inside, compute_and_release_in_the_last])
def test_a_block_held_into_a_loop_is_released_inside(compute):
    check(None, compute)


def compute_with_two_held(a_dfb, t_dfb, y_dfb):
    """The newest, and the two before it."""
    older, old = a_dfb.wait(), a_dfb.wait()
    for i in range(COUNT - 2):
        new = a_dfb.wait()
        y_dfb.reserve().store(older + new)
        older, old = old, new
    y_dfb.reserve().store(older + older)
    y_dfb.reserve().store(old + old)


def compute_with_two_held_released(a_dfb, t_dfb, y_dfb):
    older = a_dfb.wait()
    old = a_dfb.wait()
    for i in range(COUNT - 2):
        new = a_dfb.wait()
        with y_dfb.reserve() as y:
            y.store(older + new)
        older.pop()
        older = old
        old = new
    with y_dfb.reserve() as y:
        y.store(older + older)
    older.pop()
    with y_dfb.reserve() as y:
        y.store(old + old)


@pytest.mark.rule("implicit-release")
@pytest.mark.parametrize("compute", [compute_with_two_held, compute_with_two_held_released])
def test_two_held_blocks_of_three(compute):
    check(None, compute, blocks=3, expected=(12, 14, 14, 16))
