"""Pipes and pipe nets: who meets whom, what arrives, and every rule that can be broken."""

from __future__ import annotations

from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest

import ttl
from ttl import ttnn

DEVICE = ttnn.open_device(device_id=0)

TILE = 32


def numbered(count: int, rows: int = 1) -> ttnn.Tensor:
    """Tiles in a row; every element of tile i is i + 1."""
    values = np.repeat(np.arange(1, count + 1, dtype=np.float32), TILE)
    return ttl.from_numpy(np.tile(values, (rows * TILE, 1)), dtype=ttnn.float32, device=DEVICE)


def zeros(count: int) -> ttnn.Tensor:
    return ttnn.zeros((TILE, count * TILE), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)


def tiles(tensor: ttnn.Tensor) -> list[float]:
    """The number in each tile; all its elements are equal."""
    values = ttl.to_numpy(tensor)
    parts = [values[:, i : i + TILE] for i in range(0, values.shape[1], TILE)]
    assert all((part == part[0, 0]).all() for part in parts)
    return [float(part[0, 0]) for part in parts]


def exchange(pipes, grid, *, loops=1, count=2):
    """Every source sends its tile through the net; every node adds up what it receives."""

    @ttl.operation(grid=grid)
    def operation(a, y):
        to_send = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=count)
        received = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=count)
        total = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=count)
        net = ttl.PipeNet(pipes)
        receivers = [node for route in net.routes(grid) for node in route.receivers]

        @ttl.compute()
        def add():
            for _ in range(loops):
                with total.reserve() as total_blk:
                    value = ttl.math.fill(0, shape=(1, 1))
                    for _ in range(receivers.count(ttl.node())):
                        with received.wait() as block:
                            value = value + block
                    total_blk.store(value)

        @ttl.datamovement()
        def send():
            for _ in range(loops):
                if net.is_src():
                    block = to_send.reserve()
                    ttl.copy(a[0, ttl.node(1)], block).wait()
                    block.push()
                    block = to_send.wait()
                    net.if_src(lambda pipe, block=block: ttl.copy(block, pipe).wait())
                    block.pop()

        @ttl.datamovement()
        def receive():
            for _ in range(loops):

                def take(pipe):
                    with received.reserve() as block:
                        ttl.copy(pipe, block).wait()

                net.if_dst(take)
                with total.wait() as block:
                    ttl.copy(block, y[0, ttl.node(1)]).wait()

    return operation


def exchanged(simulate, pipes, grid, **options):
    count = int(np.prod(grid))
    y = zeros(count)
    simulate(exchange(pipes, grid, **options), numbered(count), y)
    return tiles(y)


# What arrives


def test_unicast(simulate) -> None:
    assert exchanged(simulate, [ttl.Pipe((0, 0), (1, 0))], (2, 1)) == [0, 1]


def test_ring(simulate) -> None:
    pipes = [ttl.Pipe(src=(0, y), dst=(0, (y + 1) % 4)) for y in range(4)]
    assert exchanged(simulate, pipes, (1, 4)) == [4, 1, 2, 3]


def test_gather(simulate) -> None:
    """The specification's: row y to (0, y)."""
    pipes = [ttl.Pipe(src=(x, y), dst=(0, y)) for x in range(1, 4) for y in range(2)]
    assert exchanged(simulate, pipes, (4, 2)) == [3 + 5 + 7, 4 + 6 + 8, 0, 0, 0, 0, 0, 0]


def test_scatter(simulate) -> None:
    """The specification's: (x, 0) to column x, with multicast."""
    pipes = [ttl.Pipe(src=(x, 0), dst=(x, slice(1, 3))) for x in range(2)]
    assert exchanged(simulate, pipes, (2, 3)) == [0, 1, 1, 0, 4, 4]


def test_multicast_with_loopback(simulate) -> None:
    pipes = [ttl.Pipe(src=(1, 0), dst=(slice(0, 3), 0))]
    assert exchanged(simulate, pipes, (3, 1)) == [2, 2, 2]


def test_scatter_gather_in_two_kernels(simulate) -> None:
    pipes = [ttl.Pipe((x, y), (x, slice(0, 3))) for x in range(2) for y in range(3)]
    assert exchanged(simulate, pipes, (2, 3)) == [6] * 3 + [15] * 3


def test_overlapping_multicasts(simulate) -> None:
    pipes = [ttl.Pipe((0, 0), (slice(0, 3), 0)), ttl.Pipe((3, 0), (slice(1, 4), 0))]
    assert exchanged(simulate, pipes, (4, 1)) == [1, 5, 5, 4]


def test_an_int_is_a_flat_coordinate(simulate) -> None:
    assert exchanged(simulate, [ttl.Pipe(5, 2)], (3, 2)) == [0, 0, 6, 0, 0, 0]
    assert exchanged(simulate, [ttl.Pipe(0, (slice(3, 6),))], (3, 2)) == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("dst", [(1, 5), (1, 1, 1), 1 + 2 * 5, (1, 1, 1, 0)])
def test_coordinates_are_flattened_as_the_grid_is(simulate, dst) -> None:
    """On a grid (2, 2, 3) the node (1, 1, 2) is (1, 5) and 11, and (1, 1, 1) is 10."""
    seen = []

    @ttl.operation(grid=(2, 2, 3))
    def operation(a):
        net = ttl.PipeNet([ttl.Pipe(src=(0, 0, 0), dst=dst)])

        @ttl.datamovement()
        def dm():
            if net.is_dst():
                seen.append(ttl.node(3))

    simulate(operation, numbered(1))
    assert seen == [(1, 1, 2) if dst in ((1, 5), 11) else (1, 1, 1)]


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_twenty_rounds(count, seed) -> None:
    from ttl import sim
    from ttl.target import load

    target = load("wormhole_b0")
    pipes = [ttl.Pipe((x, 0), (slice(0, 3), 0)) for x in range(3)]
    y = zeros(3)
    operation = exchange(pipes, (3, 1), loops=20, count=count)
    program = operation.program((numbered(3), y), {}, target.default_grid)
    sim.run(program, target=target, seed=seed)
    assert tiles(y) == [6, 6, 6]


def test_the_nth_send_meets_the_nth_post(simulate) -> None:
    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=3)
        net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])

        @ttl.datamovement()
        def send_and_post():
            blocks = [dfb.reserve() for _ in range(3)]

            def send(pipe):
                for i, block in enumerate(blocks):
                    ttl.copy(a[0, i], block).wait()
                handles = [ttl.copy(block, pipe) for block in blocks]
                for handle in reversed(handles):  # waits in another order than the sends
                    handle.wait()

            def post(pipe):
                handles = [ttl.copy(pipe, block) for block in blocks]
                for handle in reversed(handles):
                    handle.wait()

            net.if_src(send)
            net.if_dst(post)
            for block in blocks:
                block.push()

        @ttl.datamovement()
        def write():
            for i in range(3):
                with dfb.wait() as block:
                    ttl.copy(block, y[0, i + 3 * ttl.node(1)]).wait()

    y = zeros(6)
    simulate(operation, numbered(3), y)
    assert tiles(y) == [1, 2, 3, 1, 2, 3]


def test_data_is_copied_not_shared(simulate) -> None:
    """The source's block is used again while the receiver still holds what it got."""

    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=1)
        kept = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
        net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])
        sent = ttl.Semaphore()

        @ttl.datamovement()
        def one():
            def send(pipe):
                for i in range(2):
                    block = dfb.reserve()
                    ttl.copy(a[0, i], block).wait()
                    ttl.copy(block, pipe).wait()
                    block.push()
                    dfb_blk = dfb.wait()
                    ttl.copy(dfb_blk, y[0, 2]).wait()
                    dfb_blk.pop()
                sent.get_remote((1, 0)).set(1)

            def receive(pipe):
                blocks = [kept.reserve(), kept.reserve()]
                for block in blocks:
                    ttl.copy(pipe, block).wait()
                sent.wait_eq(1)
                for i, block in enumerate(blocks):
                    ttl.copy(block, y[0, i]).wait()
                    block.push()
                for _ in blocks:
                    with kept.wait() as block:
                        ttl.copy(block, y[0, 2]).wait()

            net.if_src(send)
            net.if_dst(receive)

    y = zeros(3)
    simulate(operation, numbered(2), y)
    assert tiles(y)[:2] == [1, 2]


# Roles, callbacks, scopes


def test_roles_of_nodes(simulate) -> None:
    seen = {}

    @ttl.operation(grid=(4, 1))
    def operation(a):
        net = ttl.PipeNet([ttl.Pipe((0, 0), (slice(0, 2), 0)), ttl.Pipe((2, 0), (1, 0))])

        @ttl.datamovement()
        def dm():
            seen[ttl.node(1)] = (net.is_src(), net.is_dst(), net.is_active())

    simulate(operation, numbered(1))
    assert seen == {
        0: (True, True, True),
        1: (False, True, True),
        2: (True, False, True),
        3: (False, False, False),
    }


def test_roles_in_the_body_of_the_operation(simulate) -> None:
    seen = []

    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        s = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])
        mine = net.is_src()

        @ttl.datamovement()
        def dm():
            seen.append((ttl.node(1), mine))
            with s.reserve() as block:
                if mine:
                    ttl.copy(a[0, 0], block).wait()
                    net.if_src(lambda pipe: ttl.copy(block, pipe).wait())
                net.if_dst(lambda pipe: ttl.copy(pipe, block).wait())

        @ttl.datamovement()
        def write():
            with s.wait() as block:
                ttl.copy(block, y[0, ttl.node(1)]).wait()

    y = zeros(2)
    simulate(operation, numbered(1), y)
    assert sorted(seen) == [(0, True), (1, False)]
    assert tiles(y) == [1, 1]


def test_the_function_is_called_for_each_pipe_in_the_order_of_declaration(simulate) -> None:
    seen = []

    @ttl.operation(grid=(3, 1))
    def operation(a):
        net = ttl.PipeNet(
            [
                ttl.Pipe((2, 0), (0, 0)),
                ttl.Pipe((0, 0), (slice(1, 3), 0)),
                ttl.Pipe((0, 0), (2, 0)),
                ttl.Pipe((1, 0), (0, 0)),
            ]
        )

        @ttl.datamovement()
        def dm():
            if ttl.node(1) == 0:
                net.if_src(lambda pipe: seen.append(pipe.dst))
                net.if_dst(lambda pipe: seen.append(pipe.src))

    simulate(operation, numbered(1))
    assert seen == [(slice(1, 3), 0), (2, 0), (2, 0), (1, 0)]


def both_kernels(body, grid=(2, 1), buffers=1):
    """One kernel does everything; another takes what is in the first buffers."""

    @ttl.operation(grid=grid)
    def operation(a, y):
        dfbs = [ttl.make_dataflow_buffer_like(a, shape=(1, 1)) for _ in range(buffers)]
        nets = body.nets()

        @ttl.datamovement()
        def dm():
            body(a, dfbs, *nets)

        @ttl.datamovement()
        def take():
            for i, dfb in enumerate(dfbs):
                with dfb.wait() as block:
                    ttl.copy(block, y[0, buffers * ttl.node(1) + i]).wait()

    return operation


def ring_body(order):
    """Two nodes in one kernel; `order` has P(ost), S(end), s(end wait), r(eceive wait)."""

    def body(a, dfbs, net):
        with dfbs[0].reserve() as mine, dfbs[1].reserve() as theirs:
            ttl.copy(a[0, ttl.node(1)], mine).wait()
            handles = {}

            def send(pipe):
                handles["S"] = ttl.copy(mine, pipe)

            def post(pipe):
                handles["P"] = ttl.copy(pipe, theirs)

            steps = {
                "P": lambda: net.if_dst(post),
                "S": lambda: net.if_src(send),
                "s": lambda: handles["S"].wait(),
                "r": lambda: handles["P"].wait(),
            }
            for step in order:
                steps[step]()

    body.nets = lambda: [ttl.PipeNet([ttl.Pipe(0, 1), ttl.Pipe(1, 0)])]
    return body


ORDERS = [
    "".join(order)
    for order in permutations("PSsr")
    if order.index("P") < order.index("r") and order.index("S") < order.index("s")
]
LEGAL = {order for order in ORDERS if max(order.index("P"), order.index("S")) == 1}


@pytest.mark.parametrize("order", ORDERS)
def test_every_order_of_post_send_and_waits_in_one_kernel(simulate, report, order) -> None:
    """Legal if both are started before either is waited for, a deadlock if not."""
    assert len(ORDERS) == 6 and len(LEGAL) == 4
    operation = both_kernels(ring_body(order), buffers=2)
    y = zeros(4)
    if order in LEGAL:
        simulate(operation, numbered(2), y)
        assert tiles(y) == [1, 2, 2, 1]
        return
    found = report(operation, numbered(2), y)
    assert found.code == "deadlock"
    if order == "SsPr":
        assert "`dm` on node (0, 0) waits for node (1, 0) to post a receive on pipe" in found.text
        assert "= help: post before sending" in found.text
    else:
        assert (
            "`dm` on node (0, 0) waits for node (1, 0) to send on pipe (1,) -> (0,)" in found.text
        )
        assert "= help: start the send that completes a receive" in found.text


def test_a_wait_that_is_left_out_before_the_send(simulate, report) -> None:
    """A wait that is not written cannot be moved: the help is to write it, and that works."""

    def program(is_written):
        def body(a, dfbs, net):
            with dfbs[0].reserve() as mine, dfbs[1].reserve() as theirs:
                ttl.copy(a[0, ttl.node(1)], mine).wait()
                group = ttl.GroupTransfer()

                def post(pipe):
                    if is_written:
                        group.add(ttl.copy(pipe, theirs))
                    else:
                        ttl.copy(pipe, theirs)

                net.if_dst(post)
                net.if_src(lambda pipe: ttl.copy(mine, pipe))
                group.wait_all()

        body.nets = lambda: [ttl.PipeNet([ttl.Pipe(0, 1), ttl.Pipe(1, 0)])]
        return both_kernels(body, buffers=2)

    found = report(program(is_written=False), numbered(2), zeros(4))
    assert "= help: its wait is left out: add the receive to a ttl.GroupTransfer()" in found.text
    simulate(program(is_written=True), numbered(2), y := zeros(4))
    assert tiles(y) == [1, 2, 2, 1]


def test_if_src_inside_if_dst_of_one_net(simulate) -> None:
    """A chain: each node forwards what it received."""

    @ttl.operation(grid=(4, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        net = ttl.PipeNet([ttl.Pipe(x, x + 1) for x in range(3)])

        @ttl.datamovement()
        def forward():
            with dfb.reserve() as block:

                def send(pipe):
                    ttl.copy(block, pipe).wait()

                def receive(pipe):
                    ttl.copy(pipe, block).wait()
                    net.if_src(send)

                if ttl.node(1) == 0:
                    ttl.copy(a[0, 0], block).wait()
                    net.if_src(send)
                net.if_dst(receive)

        @ttl.datamovement()
        def write():
            with dfb.wait() as block:
                ttl.copy(block, y[0, ttl.node(1)]).wait()

    y = zeros(4)
    simulate(operation, numbered(1), y)
    assert tiles(y) == [1, 1, 1, 1]


def test_nested_nets(simulate) -> None:
    """Receive along the row, send down the column, inside each other's functions."""

    @ttl.operation(grid=(2, 2))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        rows = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])
        columns = ttl.PipeNet([ttl.Pipe((1, 0), (1, 1))])

        @ttl.datamovement()
        def dm():
            with dfb.reserve() as block:
                if not rows.is_dst() and not columns.is_dst():
                    ttl.copy(a[0, 0], block).wait()

                def along(row_pipe):
                    def down(column_pipe):
                        ttl.copy(row_pipe, block).wait()  # the outer pipe, in the inner function
                        ttl.copy(block, column_pipe).wait()

                    columns.if_src(down)

                rows.if_src(lambda pipe: ttl.copy(block, pipe).wait())
                rows.if_dst(along)
                columns.if_dst(lambda pipe: ttl.copy(pipe, block).wait())

        @ttl.datamovement()
        def write():
            with dfb.wait() as block:
                ttl.copy(block, y[0, ttl.node(1)]).wait()

    y = zeros(4)
    simulate(operation, numbered(1), y)
    assert tiles(y) == [1, 1, 1, 1]


def test_two_nets_on_one_route_are_never_mixed(simulate) -> None:
    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        first = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])
        second = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])

        @ttl.datamovement()
        def dm():
            one, two = dfb.reserve(), dfb.reserve()
            group = ttl.GroupTransfer()
            if ttl.node(1) == 0:
                ttl.copy(a[0, 0], one).wait()
                ttl.copy(a[0, 1], two).wait()
                second.if_src(lambda pipe: group.add(ttl.copy(two, pipe)))
                first.if_src(lambda pipe: group.add(ttl.copy(one, pipe)))
            first.if_dst(lambda pipe: group.add(ttl.copy(pipe, one)))
            second.if_dst(lambda pipe: group.add(ttl.copy(pipe, two)))
            group.wait_all()
            one.push()
            two.push()

        @ttl.datamovement()
        def write():
            for i in range(2):
                with dfb.wait() as block:
                    ttl.copy(block, y[0, 2 * ttl.node(1) + i]).wait()

    y = zeros(4)
    simulate(operation, numbered(2), y)
    assert tiles(y) == [1, 2, 1, 2]


MODULE_NET = ttl.PipeNet([ttl.Pipe(src=(0, 0), dst=(1, 0))])


def module_net_operation(grid, net=None):
    @ttl.operation(grid=grid)
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def dm():
            used = net or MODULE_NET
            with dfb.reserve() as block:
                if used.is_dst():
                    used.if_dst(lambda pipe: ttl.copy(pipe, block).wait())
                else:
                    ttl.copy(a[0, ttl.node(1)], block).wait()
                used.if_src(lambda pipe: ttl.copy(block, pipe).wait())

        @ttl.datamovement()
        def write():
            with dfb.wait() as block:
                ttl.copy(block, y[0, ttl.node(1)]).wait()

    return operation


def test_nets_made_outside_run_call_after_call(simulate) -> None:
    """Nodes in no pipe run like all others, and nothing is left from one call to the next."""
    for net in (None, ttl.PipeNet([ttl.Pipe(0, 1)])):
        operation = module_net_operation((3, 1), net)
        for _ in range(2):
            y = zeros(3)
            simulate(operation, numbered(3), y)
            assert tiles(y) == [1, 1, 3]


def test_a_net_made_outside_is_checked_when_it_is_used(report) -> None:
    found = report(module_net_operation((1, 1)), numbered(1), zeros(1))
    assert found.code == "node-outside-grid"
    assert found.primary == "ttl.Pipe(src=(0, 0), dst=(1, 0))"
    assert "error[TTL1008]: node (1, 0) does not lie in the grid (1, 1)" in found.text


def test_results_do_not_depend_on_the_order_of_declaration(simulate) -> None:
    def chain(reverse):
        @ttl.operation(grid=(3, 1))
        def operation(a, y):
            dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=1)
            net = ttl.PipeNet([ttl.Pipe(0, (slice(0, 3),))])

            def send():
                if net.is_src():
                    for i in range(5):
                        with source.reserve() as block:
                            ttl.copy(a[0, i], block).wait()
                            net.if_src(lambda pipe, block=block: ttl.copy(block, pipe).wait())
                        with source.wait() as block:
                            ttl.copy(block, y[0, 15]).wait()

            def receive():
                for i in range(5):
                    block = dfb.reserve()
                    net.if_dst(lambda pipe, block=block: ttl.copy(pipe, block).wait())
                    ttl.copy(block, y[0, 5 * ttl.node(1) + i]).wait()
                    block.push()
                    dfb_blk = dfb.wait()
                    ttl.copy(dfb_blk, y[0, 15]).wait()
                    dfb_blk.pop()

            source = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=1)
            for kernel in (receive, send) if reverse else (send, receive):
                ttl.datamovement()(kernel)

        return operation

    for reverse in (False, True):
        y = zeros(16)
        simulate(chain(reverse), numbered(5), y)
        assert tiles(y)[:15] == [1, 2, 3, 4, 5] * 3


# The specification's examples, as printed and corrected


def column_operation(net_of, dst_first, grid=(2, 4)):
    """One kernel sends and receives in the order of the specification, or the other way round."""

    @ttl.operation(grid=grid)
    def operation(a, y):
        sent = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        got = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=4)
        net = net_of(*ttl.grid_size())

        @ttl.datamovement()
        def dm():
            with sent.reserve() as blk_to_send:
                ttl.copy(a[0, ttl.node(1)], blk_to_send).wait()
                blocks, group = [], ttl.GroupTransfer()

                def pipe_src(pipe):
                    xf = ttl.copy(blk_to_send, pipe)
                    xf.wait()

                def pipe_dst(pipe):
                    blocks.append(got.reserve())
                    group.add(ttl.copy(pipe, blocks[-1]))

                if dst_first:
                    net.if_dst(pipe_dst)
                net.if_src(pipe_src)
                if not dst_first:
                    net.if_dst(pipe_dst)
                group.wait_all()
                for block in blocks:
                    block.push()

        @ttl.datamovement()
        def write():
            with sent.wait() as block:
                ttl.copy(block, y[0, 8]).wait()  # a tile nobody looks at
            net.if_dst(take)

        def take(pipe):
            with got.wait() as block:
                ttl.copy(block, y[0, ttl.node(1)]).wait()

    return operation


def scatter_gather(grid_x, grid_y):
    return ttl.PipeNet(
        [
            ttl.Pipe(src=(x, y), dst=(x, slice(0, grid_y)))
            for x in range(grid_x)
            for y in range(grid_y)
        ]
    )


def neighbour(grid_x, grid_y):
    return ttl.PipeNet(
        [
            ttl.Pipe(src=(x, y), dst=(x, (y + 1) % grid_y))
            for x in range(grid_x)
            for y in range(grid_y)
        ]
    )


def test_neighbour_corrected(simulate) -> None:
    y = zeros(9)
    simulate(column_operation(neighbour, dst_first=True), numbered(8), y)
    assert tiles(y)[:8] == [4, 1, 2, 3, 8, 5, 6, 7]


def test_scatter_gather_corrected(simulate) -> None:
    """Every node got the tile of the last node of its column last."""
    y = zeros(9)
    simulate(column_operation(scatter_gather, dst_first=True), numbered(8), y)
    assert tiles(y)[:8] == [4] * 4 + [8] * 4


def test_neighbour_as_printed(report) -> None:
    found = report(column_operation(neighbour, dst_first=False), numbered(8), zeros(8))
    assert (found.code, found.primary) == ("deadlock", "xf.wait()")
    assert "error[TTL5001]: deadlock: `dm` on 8 nodes waits for `dm` on other nodes" in found.text
    route = "pipe (0, 0) -> (0, 1)"
    need = f"waits for node (0, 1) to post a receive on {route}"
    assert f"^ `dm` on node (0, 0) {need}" in found.text
    assert f"= cycle: `dm` on node (0, 0) {need}; `dm` on node (0, 1) waits for" in found.text
    assert "= help: post before sending: start the receive" in found.text
    assert "two data movement kernels" in found.text
    assert "ttl.copy(blk_to_send, pipe)" in found.marked("-")
    assert "ttl.Pipe(src=(x, y), dst=(x, (y + 1) % grid_y))" in found.marked("-")


def test_scatter_gather_as_printed(report) -> None:
    found = report(column_operation(scatter_gather, dst_first=False), numbered(8), zeros(8))
    assert "deadlock: `dm` on 8 nodes waits for itself" in found.text
    need = "node (0, 0) and (0, 1) and 2 others to post a receive on pipe (0, 0) -> (0, 0:4)"
    assert f"`dm` on node (0, 0) waits for {need}" in found.text
    assert "= help: post before sending" in found.text


# Deadlocks with others


def test_a_send_that_nobody_receives(report) -> None:
    @ttl.operation(grid=(2, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])

        @ttl.datamovement()
        def dm():
            if net.is_src():
                with dfb.reserve() as block:
                    ttl.copy(a[0, 0], block).wait()
                    net.if_src(lambda pipe: ttl.copy(block, pipe).wait())

    found = report(operation, numbered(1))
    assert (found.code, found.primary) == ("deadlock", "ttl.copy(block, pipe).wait()")
    assert (
        "deadlock: `dm` on node (0, 0) waits for node (1, 0) to post a receive on pipe "
        "(0, 0) -> (1, 0), but no kernel of node (1, 0) is left to do it" in found.text
    )
    assert "seen on 1 of 2 nodes; first on node (0, 0)" in found.text


def test_a_receive_that_nobody_sends(report) -> None:
    @ttl.operation(grid=(2, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])

        @ttl.datamovement()
        def dm():
            if net.is_dst():
                with dfb.reserve() as block:
                    net.if_dst(lambda pipe: ttl.copy(pipe, block).wait())

    found = report(operation, numbered(1))
    assert found.primary == "ttl.copy(pipe, block).wait()"
    assert "waits for node (0, 0) to send on pipe (0, 0) -> (1, 0), but no kernel" in found.text
    assert "post as often as its source sends" in found.text


def test_one_receiver_of_a_multicast_does_not_post(report) -> None:
    @ttl.operation(grid=(3, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        net = ttl.PipeNet([ttl.Pipe((0, 0), (slice(0, 3), 0))])

        @ttl.datamovement()
        def send():
            if net.is_src():
                with other.reserve() as block:
                    ttl.copy(a[0, 0], block).wait()
                    net.if_src(lambda pipe: ttl.copy(block, pipe).wait())

        @ttl.datamovement()
        def receive():
            if ttl.node(1) != 2:
                with dfb.reserve() as block:
                    net.if_dst(lambda pipe: ttl.copy(pipe, block).wait())

        other = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

    found = report(operation, numbered(1))
    need = "waits for node (2, 0) to post a receive on pipe (0, 0) -> (0:3, 0)"
    assert f"`send` on node (0, 0) {need}, but no kernel of node (2, 0) is left" in found.text
    assert f"- `receive` on node (0, 0) {need}" in found.text


def test_a_chain_through_a_pipe_and_a_buffer(report) -> None:
    """compute waits for a block, its reader for a send, the sender for a buffer nobody fills."""

    @ttl.operation(grid=(2, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        empty = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        net = ttl.PipeNet([ttl.Pipe((1, 0), (0, 0))])

        @ttl.compute()
        def compute():
            if ttl.node(1) == 0:
                dfb.wait()

        @ttl.datamovement()
        def dm():
            if net.is_src():
                block = empty.wait()
                net.if_src(lambda pipe: ttl.copy(block, pipe).wait())
            else:
                with dfb.reserve() as block:
                    net.if_dst(lambda pipe: ttl.copy(pipe, block).wait())

    found = report(operation, numbered(1))
    assert "deadlock: `dm` waits on `empty`, to which no kernel pushes" in found.text
    assert found.primary == "empty.wait()"
    assert (
        "= chain: `compute` on node (0, 0) waits for a block in `dfb` (0 of 2 filled); "
        "`dm` on node (0, 0) waits for node (1, 0) to send on pipe (1, 0) -> (0, 0); "
        "`dm` on node (1, 0) waits for a block in `empty` (0 of 2 filled)" in found.text
    )


def test_a_long_cycle_is_shortened(report) -> None:
    pipes = [ttl.Pipe(x, (x + 1) % 8) for x in range(8)]
    body = ring_body("SsPr")
    body.nets = lambda: [ttl.PipeNet(pipes)]
    found = report(both_kernels(body, grid=(8, 1), buffers=2), numbered(8), zeros(16))
    (cycle,) = [line for line in found.text.splitlines() if "= cycle: " in line]
    assert cycle.count("; ") == 4 and "; 4 more in the same way; `dm` on node (7, 0)" in cycle


# Rules that can be broken


def test_pipes_and_nets_are_checked_where_they_are_made(report) -> None:
    def with_net(make):
        @ttl.operation(grid=(2, 2))
        def operation(a):
            make()

        return operation

    cases = [
        (lambda: ttl.PipeNet([]), "wrong-argument", "takes at least one pipe"),
        (lambda: ttl.PipeNet(ttl.Pipe(0, 1)), "wrong-argument", "takes a list of pipes, not Pipe("),
        (lambda: ttl.PipeNet([0]), "wrong-argument", "takes a list of pipes, not 0"),
        (lambda: ttl.Pipe((0, slice(0, 2)), 1), "wrong-argument", "is not a node coordinate"),
        (lambda: ttl.Pipe(0.5, 1), "wrong-argument", "src=0.5 is not a node coordinate"),
        (lambda: ttl.Pipe(0, (0, slice(0, 4, 2))), "wrong-argument", "dst=(0, slice(0, 4, 2))"),
        (lambda: ttl.Pipe(0, slice(0, 2)), "wrong-argument", "or a range of nodes"),
        (lambda: ttl.Pipe(0, ()), "wrong-argument", "dst=() is not a node"),
        (lambda: ttl.PipeNet([ttl.Pipe((2, 0), 0)]), "node-outside-grid", "node (2, 0) does not"),
        (lambda: ttl.PipeNet([ttl.Pipe(0, (-1, 0))]), "node-outside-grid", "node (-1, 0) does not"),
        (lambda: ttl.PipeNet([ttl.Pipe(4, 0)]), "node-outside-grid", "grid (2, 2), (4,) in 1"),
        (
            lambda: ttl.PipeNet([ttl.Pipe(0, (0, slice(1, 3)))]),
            "node-outside-grid",
            "range (0, 1:3) does not lie in the grid (2, 2)",
        ),
        (
            lambda: ttl.PipeNet([ttl.Pipe(0, (0, slice(1, 1)))]),
            "wrong-argument",
            "dst=(0, 1:1): 1:1 has no node in it",
        ),
        (
            lambda: ttl.PipeNet([ttl.Pipe(0, (0, 0, 1))]),
            "node-outside-grid",
            "(2, 2, 1) in 3 dimensions",
        ),
    ]
    for make, code, message in cases:
        found = report(with_net(make), numbered(1))
        assert found.code == code, found.text
        assert message in found.text
        assert found.primary.startswith("ttl.Pipe"), found.text


def test_pipes_are_refused_with_the_errors_of_the_public_tools() -> None:
    for ends, message in [
        (slice(None, 4), "explicit start and stop"),
        (slice(4, 4), "start must be < stop"),
        (slice(0, 4, 2), "step must be 1 or None"),
    ]:
        with pytest.raises(ValueError, match=message):
            ttl.Pipe(src=(0, 0), dst=(ends, 0))
    with pytest.raises(ValueError, match="at least one pipe"):
        ttl.PipeNet([])


def one_kernel(body, kind="datamovement"):
    @ttl.operation(grid=(1, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        net = ttl.PipeNet([ttl.Pipe(0, (slice(0, 1),))])

        @getattr(ttl, kind)()
        def kernel():
            body(a, dfb, net)

    return operation


def copy_from_a_source_pipe(a, dfb, net):
    net.if_src(lambda pipe: ttl.copy(pipe, dfb.reserve()))


def copy_to_a_receiving_pipe(a, dfb, net):
    block = dfb.reserve()
    ttl.copy(a[0, 0], block).wait()
    net.if_dst(lambda pipe: ttl.copy(block, pipe))


def copy_to_a_pipe_of_the_kernel(a, dfb, net):
    ttl.copy(dfb.reserve(), ttl.Pipe(0, 0))


def copy_a_tensor_to_a_pipe(a, dfb, net):
    ttl.copy(a[0, 0], net.pipes[0])


def copy_from_a_net(a, dfb, net):
    ttl.copy(net, dfb.reserve())


def copy_after_the_callback(a, dfb, net):
    kept = []
    net.if_dst(kept.append)
    ttl.copy(kept[0], dfb.reserve())


def copy_between_pipes(a, dfb, net):
    net.if_dst(lambda r: net.if_src(lambda s: ttl.copy(r, s)))


@pytest.mark.parametrize(
    ("body", "code", "marked", "message"),
    [
        (
            copy_from_a_source_pipe,
            "pipe-role",
            "ttl.copy(pipe, dfb.reserve())",
            "this node sends through pipe (0,) -> (0:1,); it cannot receive from it",
        ),
        (
            copy_to_a_receiving_pipe,
            "pipe-role",
            "ttl.copy(block, pipe)",
            "this node receives from pipe (0,) -> (0:1,); it cannot send there",
        ),
        (
            copy_to_a_pipe_of_the_kernel,
            "pipe-role",
            "ttl.copy(dfb.reserve(), ttl.Pipe(0, 0))",
            "pipe (0,) -> (0,) is in no pipe net",
        ),
        (
            copy_a_tensor_to_a_pipe,
            "wrong-argument",
            "ttl.copy(a[0, 0], net.pipes[0])",
            "a pipe or a block, not a tensor slice with a pipe",
        ),
        (
            copy_from_a_net,
            "pipe-role",
            "ttl.copy(net, dfb.reserve())",
            "ttl.copy() takes the pipe that if_dst() gives, not a PipeNet",
        ),
        (
            copy_after_the_callback,
            "pipe-role",
            "ttl.copy(kept[0], dfb.reserve())",
            "pipe (0,) -> (0:1,) is used after its if_dst() has ended",
        ),
        (
            copy_between_pipes,
            "wrong-argument",
            "ttl.copy(r, s)",
            "connects a block with a tensor slice, a pipe or a block, not a pipe in if_dst() with "
            "a pipe in if_src()",
        ),
    ],
)
def test_a_pipe_in_the_wrong_place(report, body, code, marked, message) -> None:
    found = report(one_kernel(body), numbered(1))
    assert (found.code, found.primary) == (code, marked)
    assert message in found.text


def test_a_pipe_of_another_kernel(report) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        other = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        net = ttl.PipeNet([ttl.Pipe(0, 0)])
        kept = []

        @ttl.datamovement()
        def first():
            def keep(pipe):
                kept.append(pipe)
                other.wait()

            net.if_dst(keep)

        @ttl.datamovement()
        def second():
            ttl.copy(kept[0], dfb.reserve())

    found = report(operation, numbered(1))
    assert (found.code, found.primary) == ("pipe-role", "ttl.copy(kept[0], dfb.reserve())")
    assert "is used by another kernel than kernel `first` on node (0, 0)" in found.text


@pytest.mark.parametrize(
    ("kind", "end", "name"), [("if_src", "src", "dst"), ("if_dst", "dst", "src")]
)
def test_a_pipe_knows_only_its_other_end(report, kind, end, name) -> None:
    def body(a, dfb, net):
        getattr(net, kind)(lambda pipe: getattr(pipe, end))

    found = report(one_kernel(body), numbered(1))
    assert found.code == "unknown-name"
    assert f"a pipe in {kind}() has no `{end}`" in found.text
    assert f"it has: {name}" in found.text


@pytest.mark.parametrize("call", ["if_src", "if_dst"])
def test_pipes_are_not_for_compute_kernels(report, call) -> None:
    found = report(
        one_kernel(lambda a, dfb, net: getattr(net, call)(print), "compute"), numbered(1)
    )
    assert found.code == "wrong-kernel-kind"
    assert f"PipeNet.{call}() is not allowed in a compute kernel" in found.text


def test_roles_are_for_compute_kernels_too(simulate) -> None:
    seen = []
    simulate(one_kernel(lambda a, dfb, net: seen.append(net.is_active()), "compute"), numbered(1))
    assert seen == [True]


def test_a_function_that_takes_no_pipe(report) -> None:
    found = report(one_kernel(lambda a, dfb, net: net.if_src(lambda: None)), numbered(1))
    assert (found.code, found.primary) == ("wrong-argument", "net.if_src(lambda: None)")
    assert "with one pipe" in found.text
    found = report(one_kernel(lambda a, dfb, net: net.if_dst(None)), numbered(1))
    assert "PipeNet.if_dst() takes a function, not None" in found.text


def test_no_function_is_refused_on_nodes_without_a_pipe_too(report) -> None:
    @ttl.operation(grid=(2, 1))
    def operation(a):
        net = ttl.PipeNet([ttl.Pipe((0, 0), (slice(1, 2), 0))])

        @ttl.datamovement()
        def kernel():
            net.if_src(None if ttl.node(dims=1) else print)

    found = report(operation, numbered(1))
    assert "PipeNet.if_src() takes a function, not None" in found.text


def test_a_type_error_of_the_function_is_the_users(report) -> None:
    found = report(one_kernel(lambda a, dfb, net: net.if_src(lambda pipe: 1 + "1")), numbered(1))
    assert (found.code, found.primary) == ("kernel-exception", '1 + "1"')


def test_a_net_is_not_made_in_a_kernel(report) -> None:
    found = report(one_kernel(lambda a, dfb, net: ttl.PipeNet(net.pipes)), numbered(1))
    assert (found.code, found.primary) == ("outside-operation", "ttl.PipeNet(net.pipes)")


def test_nets_that_differ_between_nodes(report) -> None:
    @ttl.operation(grid=(2, 1))
    def operation(a):
        net = ttl.PipeNet([ttl.Pipe(ttl.node(1), 0)])

        @ttl.datamovement()
        def dm():
            net.is_src()

    found = report(operation, numbered(1))
    assert found.code == "nodes-differ"
    assert "declares other pipe nets or semaphores on node (1, 0) than on node (0, 0)" in found.text


def mismatch_operation(sent, received):
    """Shape and tensor of the sender's and of the receiver's buffer."""

    @ttl.operation(grid=(2, 1))
    def operation(a, b):
        to = ttl.make_dataflow_buffer_like((a, b)[sent[1]], shape=sent[0])
        by = ttl.make_dataflow_buffer_like((a, b)[received[1]], shape=received[0])
        net = ttl.PipeNet([ttl.Pipe(0, 1)])

        @ttl.datamovement()
        def dm():
            def send(pipe):
                block = to.reserve()
                ttl.copy((a, b)[sent[1]][0 : sent[0][0], 0 : sent[0][1]], block).wait()
                ttl.copy(block, pipe).wait()

            net.if_src(send)
            net.if_dst(lambda pipe: ttl.copy(pipe, by.reserve()).wait())

    return operation


@pytest.mark.parametrize(
    ("sent", "received", "code", "message"),
    [
        (
            ((1, 2), 0),
            ((2, 1), 0),
            "shape-mismatch",
            "connects a block of shape (1, 2) with a block of shape (2, 1)",
        ),
        (
            ((1, 1), 0),
            ((1, 1), 1),
            "dtype-mismatch",
            "connects a block of float32 with a block of bfloat16",
        ),
    ],
)
def test_both_ends_agree(report, sent, received, code, message) -> None:
    b = ttnn.zeros((64, 64), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    found = report(mismatch_operation(sent, received), numbered(2, 2), b)
    assert (found.code, found.primary) == (code, "ttl.copy(pipe, by.reserve())")
    assert f"pipe (0,) -> (1,) {message}" in found.text
    assert "ttl.copy(block, pipe)" in found.marked("-")
    assert "node (0, 0) sends the block of `to` here" in found.text


def test_both_ends_have_one_layout(report) -> None:
    a = ttnn.zeros((32, 32), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    b = ttnn.ones((2, 2), ttnn.float32, layout=ttnn.ROW_MAJOR_LAYOUT, device=DEVICE)
    found = report(mismatch_operation(((1, 1), 0), ((1, 1), 1)), a, b)
    assert found.code == "layout-mismatch"
    ends = "a block of TILE layout with a block of ROW_MAJOR layout"
    assert f"pipe (0,) -> (1,) connects {ends}" in found.text


def test_row_major_blocks_are_sent(simulate) -> None:
    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 5))
        net = ttl.PipeNet([ttl.Pipe(0, 1)])

        @ttl.datamovement()
        def dm():
            with dfb.reserve() as block:
                if net.is_src():
                    ttl.copy(a[1, 0:5], block).wait()
                net.if_src(lambda pipe: ttl.copy(block, pipe).wait())
                net.if_dst(lambda pipe: ttl.copy(pipe, block).wait())

        @ttl.datamovement()
        def write():
            with dfb.wait() as block:
                ttl.copy(block, y[ttl.node(1), 0:5]).wait()

    values = np.arange(10, dtype=np.float32).reshape(2, 5)
    a = ttl.from_numpy(values, ttnn.float32, layout=ttnn.ROW_MAJOR_LAYOUT, device=DEVICE)
    y = ttl.from_numpy(0 * values, ttnn.float32, layout=ttnn.ROW_MAJOR_LAYOUT, device=DEVICE)
    simulate(operation, a, y)
    assert ttl.to_numpy(y).tolist() == [[5, 6, 7, 8, 9]] * 2


def test_a_group_in_a_deadlock(report) -> None:
    def post(a, dfb, net):
        block, group = dfb.reserve(), ttl.GroupTransfer()
        net.if_dst(lambda pipe: group.add(ttl.copy(pipe, block)))
        group.wait_all()
        block.push()

    found = report(one_kernel(post), numbered(1))
    assert (found.code, found.primary) == ("deadlock", "group.wait_all()")
    assert "ttl.copy(pipe, block)" in found.marked("-")
    assert "the transfer started here" in found.text


def test_a_block_is_not_posted_twice(report) -> None:
    def twice(a, dfb, net):
        block = dfb.reserve()

        def post(pipe):
            kept.one = ttl.copy(pipe, block)
            kept.other = ttl.copy(pipe, block)

        net.if_dst(post)

    kept = SimpleNamespace()
    found = report(one_kernel(twice), numbered(1))
    assert (found.code, found.primary) == ("block-state", "ttl.copy(pipe, block)")
    assert "the transfer that writes it has not been waited for" in found.text


def test_a_received_block_is_read_before_the_next_receive(report) -> None:
    def twice(a, dfb, net):
        source, block = dfb.reserve(), dfb.reserve()
        ttl.copy(a[0, 0], source).wait()

        def receive(pipe):
            handle = ttl.copy(pipe, block)
            net.if_src(lambda pipe: ttl.copy(source, pipe).wait())
            handle.wait()

        net.if_dst(receive)
        net.if_dst(receive)

    found = report(one_kernel(twice), numbered(1))
    assert found.code == "block-state"
    assert "cannot be written by a copy now: its value has not been read yet" in found.text


def test_the_source_is_left_alone_until_the_wait(report) -> None:
    def overwrite(a, dfb, net):
        source = dfb.reserve()
        ttl.copy(a[0, 0], source).wait()

        def send(pipe):
            kept.sent = ttl.copy(source, pipe)

        net.if_src(send)
        ttl.copy(a[0, 0], source)

    kept = SimpleNamespace()
    found = report(one_kernel(overwrite), numbered(1))
    assert (found.code, found.primary) == ("block-state", "ttl.copy(a[0, 0], source)")
    assert "a transfer that reads it has not been waited for" in found.text


def test_a_post_that_is_not_waited_for(report) -> None:
    """What an attribute keeps is finished elsewhere."""

    def post(a, dfb, net):
        kept.block = dfb.reserve()

        def receive(pipe):
            kept.received = ttl.copy(pipe, kept.block)

        net.if_dst(receive)

    kept = SimpleNamespace()
    found = report(one_kernel(post), numbered(1))
    assert (found.code, found.primary) == ("transfer-not-waited", "ttl.copy(pipe, kept.block)")


def test_a_post_in_a_list_is_waited_for(report) -> None:
    def post(a, dfb, net):
        kept = [dfb.reserve()]
        net.if_dst(lambda pipe: kept.append(ttl.copy(pipe, kept[0])))

    assert report(one_kernel(post), numbered(1)).code == "deadlock"  # nobody sends


def test_a_transfer_is_waited_for_by_its_own_kernel(report) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        other = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        net = ttl.PipeNet([ttl.Pipe(0, 0)])
        kept = []

        @ttl.datamovement()
        def first():
            net.if_dst(lambda pipe: kept.append(ttl.copy(pipe, dfb.reserve())))
            other.wait()

        @ttl.datamovement()
        def second():
            kept[0].wait()

    found = report(operation, numbered(1))
    assert (found.code, found.primary) == ("transfer-reused", "kept[0].wait()")
    assert "this transfer was started by kernel `first` on node (0, 0)" in found.text


def test_pipes_are_values() -> None:
    assert ttl.Pipe((0, 0), (0, slice(1, 2))) == ttl.Pipe((0, 0), (0, slice(1, 2)))
    assert len({ttl.Pipe(0, 1), ttl.Pipe(0, 1), ttl.Pipe(1, 0)}) == 2
