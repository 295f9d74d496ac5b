"""Pipes and nets: roles, the rendezvous, order, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from conformance.harness import (
    empty,
    moving,
    numbers,
    refused,
    run,
    tensor,
    tile_numbers,
    tiles,
)
from ttl import ttnn


def two_kernels(grid, pipes, send, receive, shape=(1, 1), count=4):
    """`send(net, dfb, a)` and `receive(net, dfb, y)` in the two data movement kernels."""

    @ttl.operation(grid=grid)
    def operation(a, y):
        net = ttl.PipeNet(pipes)
        out_dfb = ttl.make_dataflow_buffer_like(a, shape=shape, block_count=count)
        in_dfb = ttl.make_dataflow_buffer_like(y, shape=shape, block_count=count)

        @ttl.datamovement()
        def sender():
            send(net, out_dfb, a)

        @ttl.datamovement()
        def receiver():
            receive(net, in_dfb, y)

    return operation


def send_tile(tile):
    """Sends one tile of a through every pipe of this node."""

    def send(net, dfb, a):
        if net.is_src():
            with dfb.reserve() as blk:
                ttl.copy(a[0, tile], blk).wait()
                net.if_src(lambda pipe: ttl.copy(blk, pipe).wait())
            with dfb.wait() as blk:
                ttl.copy(blk, a[0, tile]).wait()

    return send


def send_own_tile(net, dfb, a):
    send_tile(ttl.node(dims=1))(net, dfb, a)


def receive_tiles(net, dfb, y):
    """Writes what comes through each pipe to y[node(1), place], in the order of the calls."""
    place = 0

    def take(pipe):
        nonlocal place
        with dfb.reserve() as blk:
            ttl.copy(pipe, blk).wait()
        with dfb.wait() as blk:
            ttl.copy(blk, y[ttl.node(1), place]).wait()
        place += 1

    net.if_dst(take)


def nothing(net, dfb, tensor):
    pass


@pytest.mark.rule("pipe-unicast", "nodes-without-pipes")
def test_a_block_goes_from_one_node_to_another():
    """(2, 1) -> (0, 2); all other nodes run like these."""
    ran = set()

    def send(net, dfb, a):
        ran.add(ttl.node())
        send_tile(0)(net, dfb, a)

    operation = two_kernels((3, 3), [ttl.Pipe(src=(2, 1), dst=(0, 2))], send, receive_tiles)
    y = tensor(np.zeros((9 * 32, 32), np.float32))
    run(operation, tensor(tiles(5)), y)
    expected = np.zeros((9, 1))
    expected[2] = 5
    assert np.array_equal(ttl.to_numpy(y)[::32, ::32], expected)
    assert ran == {(x, y) for x in range(3) for y in range(3)}


@pytest.mark.rule("pipe-multicast")
@pytest.mark.parametrize(
    "dst",
    [(slice(0, 2), slice(1, 3)), (slice(0, 3), 2), (1, slice(0, 3)), (slice(1, 3), slice(2, 3))],
)
def test_a_range_is_a_rectangle_of_nodes(dst):
    def members(item):
        return range(item.start, item.stop) if isinstance(item, slice) else (item,)

    operation = two_kernels((3, 3), [ttl.Pipe((2, 0), dst)], send_tile(0), receive_tiles)
    y = tensor(np.zeros((9 * 32, 32), np.float32))
    run(operation, tensor(tiles(5)), y)
    expected = np.zeros((9, 1))
    for column in members(dst[0]):
        for row in members(dst[1]):
            expected[column * 3 + row] = 5
    assert np.array_equal(ttl.to_numpy(y)[::32, ::32], expected)


@pytest.mark.rule("pipe-loopback")
def test_a_range_may_contain_its_source():
    operation = two_kernels(
        (3, 1), [ttl.Pipe((1, 0), (slice(0, 3), 0))], send_tile(0), receive_tiles
    )
    run(operation, tensor(tiles(5)), y := empty(96, 32))
    assert (ttl.to_numpy(y) == 5).all()


@pytest.mark.rule("pipe-loopback")
def test_in_one_kernel_a_loopback_posts_sends_and_waits_for_the_receive_last():
    def body(a, y, out, into):
        with out.reserve() as sent, into.reserve() as received:
            ttl.copy(a[0, 0], sent).wait()
            posts = ttl.GroupTransfer()
            net.if_dst(lambda pipe: posts.add(ttl.copy(pipe, received)))
            net.if_src(lambda pipe: ttl.copy(sent, pipe).wait())
            posts.wait_all()
        with out.wait() as sent, into.wait() as received:
            ttl.copy(sent, y[0, 0]).wait()
            ttl.copy(received, y[0, 1]).wait()

    net = ttl.PipeNet([ttl.Pipe((0, 0), (0, 0))])
    run(moving(body, (1, 1), (1, 1)), tensor(tiles(5)), y := empty(32, 64))
    assert tile_numbers(y) == [5, 5]


def receive_before_send(net, out, into):
    net.if_dst(lambda pipe: ttl.copy(pipe, into).wait())
    net.if_src(lambda pipe: ttl.copy(out, pipe).wait())


def send_before_receive(net, out, into):
    net.if_src(lambda pipe: ttl.copy(out, pipe).wait())
    net.if_dst(lambda pipe: ttl.copy(pipe, into).wait())


@pytest.mark.rule("send-before-post")
@pytest.mark.parametrize("order", [receive_before_send, send_before_receive])
def test_waiting_before_the_other_end_in_the_same_kernel_is_a_deadlock(order):
    def body(a, y, out, into):
        net = nets[0]
        with out.reserve() as sent, into.reserve() as received:
            ttl.copy(a[0, 0], sent).wait()
            order(net, sent, received)

    nets = [ttl.PipeNet([ttl.Pipe((0, 0), (0, 0))])]
    text = refused(moving(body, (1, 1), (1, 1)), tensor(tiles(5)), empty(32, 64), slug="deadlock")
    assert "(0, 0) -> (0, 0)" in text


@pytest.mark.rule("pipe-net-arguments")
@pytest.mark.parametrize("pipes", [[], (), None, [(0, 0)], 3])
def test_a_net_has_pipes(pipes):
    operation = two_kernels((2, 1), pipes, nothing, nothing)
    refused(operation, empty(32, 32), empty(32, 32), slug="wrong-argument")


@pytest.mark.rule("pipe-slices")
@pytest.mark.parametrize(
    "part", [slice(None), slice(1, None), slice(None, 2), slice(1, 1), slice(2, 0)], ids=str
)
@pytest.mark.parametrize("place", [0, 1])
def test_open_empty_and_reversed_slices_are_refused_where_the_pipe_is_made(part, place):
    @ttl.operation(grid=(3, 3))
    def operation(a):
        ttl.Pipe((0, 0), (part, 0) if place == 0 else (0, part))

        @ttl.datamovement()
        def move():
            pass

    text = refused(operation, empty(32, 32), slug="wrong-argument")
    assert "ttl.Pipe((0, 0)" in text and "write both ends" in text
    problem = "explicit start and stop" if None in (part.start, part.stop) else "no node in it"
    assert problem in text


@pytest.mark.rule("pipe-unicast", "pipe-multicast")
def test_unicast_and_multicast_in_one_net():
    pipes = [ttl.Pipe((0, 0), (2, 0)), ttl.Pipe((1, 0), (slice(1, 3), 0))]
    y = tensor(np.zeros((3 * 32, 2 * 32), np.float32))
    run(two_kernels((3, 1), pipes, send_own_tile, receive_tiles), tensor(tiles(5, 6)), y)
    assert ttl.to_numpy(y)[::32, ::32].tolist() == [[0, 0], [6, 0], [5, 6]]


@pytest.mark.rule("pipe-inside-grid")
@pytest.mark.parametrize(
    ("src", "dst"),
    [
        ((2, 0), (0, 0)),
        ((0, 0), (0, 3)),
        ((0, 0), (slice(0, 3), 0)),
        ((0, 0), (0, slice(1, 4))),
        ((-1, 0), (0, 0)),
    ],
)
def test_all_coordinates_lie_in_the_grid(src, dst):
    """The grid is (2, 3)."""

    @ttl.operation(grid=(2, 3))
    def operation(a):
        ttl.PipeNet([ttl.Pipe((0, 0), (1, 2)), ttl.Pipe(src, dst)])

        @ttl.datamovement()
        def move():
            pass

    text = refused(operation, empty(32, 32), slug="node-outside-grid")
    assert "(2, 3)" in text


@pytest.mark.rule("pipe-net-scope")
def test_nets_are_not_made_in_kernels():
    def body(a, y, dfb):
        ttl.PipeNet([ttl.Pipe((0, 0), (0, 0))])

    refused(moving(body, (1, 1)), empty(32, 32), empty(32, 32), slug="outside-operation")


@pytest.mark.rule("if-src-if-dst")
def test_callbacks_come_once_for_each_pipe_in_declaration_order():
    pipes = [
        ttl.Pipe((0, 0), (1, 0)),
        ttl.Pipe((2, 0), (1, 0)),
        ttl.Pipe((0, 0), (slice(1, 3), 0)),
        ttl.Pipe((0, 0), (1, 0)),
    ]
    sources, receivers = {}, {}

    @ttl.operation(grid=(3, 1))
    def operation(a):
        net = ttl.PipeNet(pipes)

        @ttl.datamovement()
        def move():
            sources[ttl.node(1)] = seen = []
            net.if_src(lambda pipe: seen.append(pipe.dst))
            receivers[ttl.node(1)] = also = []
            net.if_dst(lambda pipe: also.append(pipe.src))

    run(operation, empty(32, 32))
    assert sources == {0: [(1, 0), (slice(1, 3), 0), (1, 0)], 1: [], 2: [(1, 0)]}
    assert receivers == {0: [], 1: [(0, 0), (2, 0), (0, 0), (0, 0)], 2: [(0, 0)]}


@pytest.mark.rule("pipe-ends")
@pytest.mark.parametrize(("call", "name"), [("if_src", "src"), ("if_dst", "dst")])
def test_a_pipe_shows_the_other_end_only(call, name):
    def body(a, y, dfb):
        getattr(net, call)(lambda pipe: getattr(pipe, name))

    net = ttl.PipeNet([ttl.Pipe((0, 0), (0, 0))])
    refused(moving(body, (1, 1)), empty(32, 32), empty(32, 32), slug="unknown-name")


@pytest.mark.rule("callbacks-scope")
@pytest.mark.parametrize("call", ["if_src", "if_dst"])
def test_callbacks_are_for_data_movement_kernels(call):
    @ttl.operation(grid=(1, 1))
    def operation(a):
        net = ttl.PipeNet([ttl.Pipe((0, 0), (0, 0))])

        @ttl.compute()
        def compute():
            getattr(net, call)(lambda pipe: None)

    refused(operation, empty(32, 32), slug="wrong-kernel-kind")


def wrong_direction_src(net, blk):
    net.if_src(lambda pipe: ttl.copy(pipe, blk).wait())


def wrong_direction_dst(net, blk):
    net.if_dst(lambda pipe: ttl.copy(blk, pipe).wait())


def after_the_callback(net, blk):
    kept = []
    net.if_dst(kept.append)
    ttl.copy(kept[0], blk).wait()


def without_a_callback(net, blk):
    ttl.copy(net, blk).wait()


@pytest.mark.rule("pipe-roles")
@pytest.mark.parametrize(
    "misuse", [wrong_direction_src, wrong_direction_dst, after_the_callback, without_a_callback]
)
def test_pipes_are_used_inside_the_callback_with_the_right_role(misuse):
    def body(a, y, dfb):
        with dfb.reserve() as blk:
            ttl.copy(a[0, 0], blk).wait()
            misuse(net, blk)

    net = ttl.PipeNet([ttl.Pipe((0, 0), (0, 0))])
    refused(moving(body, (1, 1)), tensor(tiles(5)), empty(32, 32), slug="pipe-role")


@pytest.mark.rule("rendezvous")
@pytest.mark.parametrize("missing", ["post", "send", "one of two posts"])
def test_there_is_no_buffer_in_a_pipe(missing):
    """A send whose receiver never posts waits for ever, and so does a post without a send."""

    def receive(net, dfb, y):
        if missing == "send" or (missing == "one of two posts" and ttl.node(1) == 1):
            receive_tiles(net, dfb, y)

    dst = (slice(1, 3), 0) if missing == "one of two posts" else (1, 0)
    send = nothing if missing == "send" else send_tile(0)
    operation = two_kernels((3, 1), [ttl.Pipe((0, 0), dst)], send, receive)
    text = refused(operation, tensor(tiles(5)), empty(96, 32), slug="deadlock")
    assert "(0, 0) -> " in text


@pytest.mark.rule("rendezvous")
def test_the_source_may_be_changed_after_the_wait_of_the_send():
    """The receiver waits long after: it has what was sent."""

    def send(net, dfb, a):
        if net.is_src():
            with dfb.reserve() as blk:
                ttl.copy(a[0, 0], blk).wait()
                net.if_src(lambda pipe: ttl.copy(blk, pipe).wait())
                ttl.copy(a[0, 1], blk).wait()
            done.append(1)
            with dfb.wait() as blk:
                ttl.copy(blk, a[0, 1]).wait()

    def receive(net, dfb, y):
        if net.is_dst():
            posts = ttl.GroupTransfer()
            with dfb.reserve() as blk:
                net.if_dst(lambda pipe: posts.add(ttl.copy(pipe, blk)))
                while not done:
                    dfb.can_reserve()
                posts.wait_all()
            with dfb.wait() as blk:
                ttl.copy(blk, y[0, 0]).wait()

    done = []
    operation = two_kernels((2, 1), [ttl.Pipe((0, 0), (1, 0))], send, receive)
    y = empty(32, 32)
    for seed in (None, 1, 2, 3):
        done.clear()
        with pytest.MonkeyPatch.context() as patch:
            if seed:
                patch.setenv("TTL_SEED", str(seed))
            operation(tensor(tiles(5, 6)), y)
        assert tile_numbers(y) == [5]


@pytest.mark.rule("pipe-order")
def test_the_ith_send_meets_the_ith_post_of_each_receiver():
    def send(net, dfb, a):
        if net.is_src():
            for tile in range(4):
                with dfb.reserve() as blk:
                    ttl.copy(a[0, tile], blk).wait()
                    net.if_src(lambda pipe, blk=blk: ttl.copy(blk, pipe).wait())
                with dfb.wait() as blk:
                    ttl.copy(blk, a[0, tile]).wait()

    def receive(net, dfb, y):
        if net.is_dst():
            blocks, posts = [], []
            for _ in range(4):
                blocks.append(dfb.reserve())
                net.if_dst(lambda pipe: posts.append(ttl.copy(pipe, blocks[-1])))
            order = (3, 1, 0, 2) if ttl.node(1) == 1 else (0, 2, 1, 3)
            for i in order:
                posts[i].wait()
            for block in blocks:
                block.push()
            for tile in range(4):
                with dfb.wait() as blk:
                    ttl.copy(blk, y[ttl.node(1), tile]).wait()

    operation = two_kernels((3, 1), [ttl.Pipe((0, 0), (slice(1, 3), 0))], send, receive)
    y = tensor(np.zeros((96, 128), np.float32))
    run(operation, tensor(tiles(5, 6, 7, 8)), y)
    assert ttl.to_numpy(y)[::32, ::32].tolist() == [[0] * 4, [5, 6, 7, 8], [5, 6, 7, 8]]


@pytest.mark.rule("pipe-order")
def test_pipes_with_the_same_ends_are_different_pipes():
    """Both nets have (0, 0) -> (1, 0); the receiver takes the second net first."""

    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        first = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])
        second = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])
        one_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        two_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def move():
            with one_dfb.reserve() as one, two_dfb.reserve() as two:
                if first.is_src():
                    ttl.copy(a[0, 0], one).wait()
                    ttl.copy(a[0, 1], two).wait()
                sends = ttl.GroupTransfer()
                first.if_src(lambda pipe: sends.add(ttl.copy(one, pipe)))
                second.if_src(lambda pipe: sends.add(ttl.copy(two, pipe)))
                second.if_dst(lambda pipe: sends.add(ttl.copy(pipe, two)))
                first.if_dst(lambda pipe: sends.add(ttl.copy(pipe, one)))
                sends.wait_all()
            with one_dfb.wait() as one, two_dfb.wait() as two:
                ttl.copy(one, y[ttl.node(1), 0]).wait()
                ttl.copy(two, y[ttl.node(1), 1]).wait()

    run(operation, tensor(tiles(5, 6)), y := empty(64, 64))
    assert ttl.to_numpy(y)[::32, ::32].tolist() == [[5, 6], [5, 6]]


@pytest.mark.rule("nested-callbacks")
def test_callbacks_of_different_nets_nest():
    """(0, 0) -> (1, 0) -> (2, 0): the middle sends on while it is in the callback."""

    @ttl.operation(grid=(3, 1))
    def operation(a, y):
        first = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])
        second = ttl.PipeNet([ttl.Pipe((1, 0), (2, 0))])
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def move():
            with dfb.reserve() as blk:

                def send(pipe):
                    ttl.copy(blk, pipe).wait()

                def pass_on(pipe):
                    ttl.copy(pipe, blk).wait()
                    second.if_src(send)

                if first.is_src():
                    ttl.copy(a[0, 0], blk).wait()
                first.if_src(send)
                first.if_dst(pass_on)
                second.if_dst(lambda pipe: ttl.copy(pipe, blk).wait())

        @ttl.datamovement()
        def write():
            with dfb.wait() as blk:
                ttl.copy(blk, y[0, ttl.node(1)]).wait()

    run(operation, tensor(tiles(5)), y := empty(32, 96))
    assert tile_numbers(y) == [5, 5, 5]


@pytest.mark.rule("nested-callbacks")
def test_if_src_inside_if_dst_of_the_same_net():
    """A chain through four nodes in one net."""

    @ttl.operation(grid=(4, 1))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe((x, 0), (x + 1, 0)) for x in range(3)])
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def move():
            with dfb.reserve() as blk:

                def pass_on(pipe):
                    ttl.copy(pipe, blk).wait()
                    net.if_src(lambda pipe: ttl.copy(blk, pipe).wait())

                if net.is_dst():
                    net.if_dst(pass_on)
                else:
                    ttl.copy(a[0, 0], blk).wait()
                    net.if_src(lambda pipe: ttl.copy(blk, pipe).wait())

        @ttl.datamovement()
        def write():
            with dfb.wait() as blk:
                ttl.copy(blk, y[0, ttl.node(1)]).wait()

    run(operation, tensor(tiles(5)), y := empty(32, 128))
    assert tile_numbers(y) == [5, 5, 5, 5]


@pytest.mark.rule("second-receive")
def test_a_second_receive_into_a_block_that_was_not_read_is_refused():
    """The specification's gather with one block, and two senders."""

    def receive(net, dfb, y):
        if net.is_dst():
            with dfb.reserve() as blk:
                net.if_dst(lambda pipe: ttl.copy(pipe, blk).wait())

    pipes = [ttl.Pipe((1, 0), (0, 0)), ttl.Pipe((2, 0), (0, 0))]
    text = refused(
        two_kernels((3, 1), pipes, send_own_tile, receive),
        tensor(tiles(5, 6, 7)),
        empty(32, 32),
        slug="block-state",
    )
    assert "state MR" in text


@pytest.mark.rule("pipe-types")
def test_blocks_at_both_ends_are_alike():
    def with_shapes(send_shape, receive_shape, out_dtype=ttnn.float32):
        @ttl.operation(grid=(2, 1))
        def operation(a, y):
            net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])
            out_dfb = ttl.make_dataflow_buffer_like(a, shape=send_shape)
            in_dfb = ttl.make_dataflow_buffer_like(y, shape=receive_shape)

            @ttl.datamovement()
            def send():
                if net.is_src():
                    with out_dfb.reserve() as blk:
                        ttl.copy(a[0:2, 0:1], blk).wait()
                        net.if_src(lambda pipe: ttl.copy(blk, pipe).wait())
                    with out_dfb.wait() as blk:
                        ttl.copy(blk, a[0:2, 0:1]).wait()

            @ttl.datamovement()
            def receive():
                if net.is_dst():
                    with in_dfb.reserve() as blk:
                        net.if_dst(lambda pipe: ttl.copy(pipe, blk).wait())

        return operation

    a = tensor(numbers(64, 32))
    refused(with_shapes((2, 1), (1, 2)), a, empty(64, 32), slug="shape-mismatch")
    other = empty(64, 32, dtype=ttnn.bfloat16)
    refused(with_shapes((2, 1), (2, 1)), a, other, slug="dtype-mismatch")


@pytest.mark.rule("row-major-copies")
def test_row_major_blocks_are_sent():
    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])
        dfb = ttl.make_dataflow_buffer_like(a, shape=(5,))

        @ttl.datamovement()
        def move():
            with dfb.reserve() as blk:
                if net.is_src():
                    ttl.copy(a[:], blk).wait()
                net.if_src(lambda pipe: ttl.copy(blk, pipe).wait())
                net.if_dst(lambda pipe: ttl.copy(pipe, blk).wait())

        @ttl.datamovement()
        def write():
            with dfb.wait() as blk:
                ttl.copy(blk, y[ttl.node(1), :]).wait()

    rows = {"layout": ttnn.ROW_MAJOR_LAYOUT}
    run(operation, tensor(numbers(5), **rows), y := empty(2, 5, **rows))
    assert np.array_equal(ttl.to_numpy(y), np.tile(numbers(5), (2, 1)))


@pytest.mark.rule("pipe-order")
def test_a_loop_may_carry_the_block_that_is_received_into():
    """In each iteration it is another block, of the same name."""

    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
        net = ttl.PipeNet([ttl.Pipe(src=(0, 0), dst=(1, 0))])

        @ttl.datamovement()
        def read():
            blk = dfb.reserve()
            for i in range(4):

                def send(pipe):
                    ttl.copy(a[0, i], blk).wait()  # noqa: B023
                    ttl.copy(blk, pipe).wait()  # noqa: B023

                net.if_src(send)
                net.if_dst(lambda pipe: ttl.copy(pipe, blk).wait())  # noqa: B023
                blk.push()
                blk = dfb.reserve()
            ttl.copy(a[0, 0], blk).wait()
            blk.push()

        @ttl.datamovement()
        def write():
            for i in range(5):
                with dfb.wait() as blk:
                    ttl.copy(blk, y[ttl.node(1), i]).wait()

    y = empty(64, 160)
    run(operation, tensor(tiles(1, 2, 3, 4)), y)
    assert np.array_equal(ttl.to_numpy(y)[::32, ::32], [[1, 2, 3, 4, 1]] * 2)
