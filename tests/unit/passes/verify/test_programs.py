"""Wrong programs: the simulator stops, and the check says the same without running them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import ttl
from ttl.config import Config
from ttl.diagnostics import accesses, codes, render_text
from ttl.driver.compile import compile_operation
from ttl.language import Operation
from ttl.target import load

TARGET = load("wormhole_b0")


def one_node(grid=(1, 1), **counts):
    """An operation on tensors a and y, from a function that makes its kernels."""

    def operation_of(kernels) -> Operation:
        @ttl.operation(grid=grid)
        def operation(a, y):
            a_dfb = ttl.make_dataflow_buffer_like(a, (1, 1), block_count=counts.get("a", 2))
            y_dfb = ttl.make_dataflow_buffer_like(y, (1, 1), block_count=counts.get("y", 2))
            kinds = (ttl.compute(), ttl.datamovement(), ttl.datamovement())
            for kind, kernel in zip(kinds, kernels(a, y, a_dfb, y_dfb), strict=True):
                kind(kernel)

        return operation

    return operation_of


def rest():
    pass


def moving(a, a_dfb, count):
    def read():
        for i in range(count):
            with a_dfb.reserve() as blk:
                ttl.copy(a[0, i], blk).wait()

    return read


def taking(y, y_dfb, count):
    def write():
        for i in range(count):
            with y_dfb.wait() as blk:
                ttl.copy(blk, y[0, i]).wait()

    return write


@one_node()
def buffer_too_small(a, y, a_dfb, y_dfb):
    """All of one tensor before the first block of the other."""

    def read():
        for i in range(4):
            with a_dfb.reserve() as blk:
                ttl.copy(a[0, i], blk).wait()
        for i in range(4):
            with y_dfb.reserve() as blk:
                ttl.copy(y[0, i], blk).wait()

    def write():
        for i in range(4):
            with y_dfb.wait() as one, a_dfb.wait() as two:
                ttl.copy(one, y[0, i]).wait()
                ttl.copy(two, a[0, i]).wait()

    return rest, read, write


@one_node()
def nobody_pushes(a, y, a_dfb, y_dfb):
    return rest, moving(a, a_dfb, 1), taking(y, y_dfb, 1)


@one_node()
def own_block_not_pushed(a, y, a_dfb, y_dfb):
    def read():
        blk = a_dfb.reserve()
        ttl.copy(a[0, 0], blk).wait()
        with a_dfb.wait() as again:
            ttl.copy(again, y[0, 0]).wait()
        blk.push()

    return rest, read, rest


@one_node(a=1)
def two_reserves_of_one_block(a, y, a_dfb, y_dfb):
    def read():
        with a_dfb.reserve() as one, a_dfb.reserve() as two:
            ttl.copy(a[0, 0], one).wait()
            ttl.copy(a[0, 1], two).wait()

    return rest, read, taking(y, a_dfb, 2)


@one_node()
def three_pushed_two_popped(a, y, a_dfb, y_dfb):
    return rest, moving(a, a_dfb, 3), taking(y, a_dfb, 2)


@one_node()
def two_pushed_three_popped(a, y, a_dfb, y_dfb):
    return rest, moving(a, a_dfb, 2), taking(y, a_dfb, 3)


@one_node()
def two_consumers(a, y, a_dfb, y_dfb):
    def compute():
        with a_dfb.wait() as blk, y_dfb.reserve() as out:
            out.store(blk)

    def write():
        with a_dfb.wait() as blk:
            ttl.copy(blk, y[0, 0]).wait()
        with y_dfb.wait() as blk:
            ttl.copy(blk, y[0, 1]).wait()

    return compute, moving(a, a_dfb, 2), write


@one_node(grid=(4, 1))
def last_node_leaves_the_tensor(a, y, a_dfb, y_dfb):
    def read():
        x, _ = ttl.node(dims=2)
        with a_dfb.reserve() as blk:
            ttl.copy(a[0, 2 * x + 1], blk).wait()

    def write():
        x, _ = ttl.node(dims=2)
        with a_dfb.wait() as blk:
            ttl.copy(blk, y[0, x]).wait()

    return rest, read, write


def pipes(grid, pairs):
    """An operation with one net and a buffer to send from and one to receive into."""

    def operation_of(kernels) -> Operation:
        @ttl.operation(grid=grid)
        def operation(a, y):
            net = ttl.PipeNet([ttl.Pipe(src, dst) for src, dst in pairs])
            a_dfb = ttl.make_dataflow_buffer_like(a, (1, 1))
            y_dfb = ttl.make_dataflow_buffer_like(y, (1, 1))
            kernels = made_kernels(a, y, a_dfb, y_dfb, net)
            for kernel in kernels:
                ttl.datamovement()(kernel)

        made_kernels = kernels
        return operation

    return operation_of


def drain(dfb, y, where):
    with dfb.wait() as blk:
        ttl.copy(blk, y[0, where]).wait()


@pipes((2, 1), [((0, 0), (1, 0))])
def nobody_receives(a, y, a_dfb, y_dfb, net):
    def dm():
        def send(pipe):
            with a_dfb.reserve() as blk:
                ttl.copy(a[0, 0], blk).wait()
                ttl.copy(blk, pipe).wait()
            drain(a_dfb, y, 0)

        net.if_src(send)

    return (dm,)


@pipes((2, 1), [((0, 0), (1, 0))])
def nobody_sends(a, y, a_dfb, y_dfb, net):
    def dm():
        def receive(pipe):
            with y_dfb.reserve() as blk:
                ttl.copy(pipe, blk).wait()
            drain(y_dfb, y, 0)

        net.if_dst(receive)

    return (dm,)


@pipes((2, 1), [((0, 0), (1, 0))])
def one_send_too_many(a, y, a_dfb, y_dfb, net):
    def dm():
        def send(pipe):
            for i in range(3):
                with a_dfb.reserve() as blk:
                    ttl.copy(a[0, i], blk).wait()
                    ttl.copy(blk, pipe).wait()
                drain(a_dfb, y, i)

        def receive(pipe):
            for i in range(2):
                with y_dfb.reserve() as blk:
                    ttl.copy(pipe, blk).wait()
                drain(y_dfb, y, 2 + i)

        net.if_src(send)
        net.if_dst(receive)

    return (dm,)


@pipes((2, 1), [((0, 0), (slice(0, 2), 0))])
def receive_waited_before_the_send(a, y, a_dfb, y_dfb, net):
    def dm():
        def receive(pipe):
            with y_dfb.reserve() as blk:
                ttl.copy(pipe, blk).wait()
            drain(y_dfb, y, 0)

        def send(pipe):
            with a_dfb.reserve() as blk:
                ttl.copy(a[0, 0], blk).wait()
                ttl.copy(blk, pipe).wait()
            drain(a_dfb, y, 1)

        net.if_dst(receive)
        net.if_src(send)

    return (dm,)


@pipes((3, 1), [((0, 0), (1, 0)), ((1, 0), (2, 0)), ((2, 0), (0, 0))])
def everybody_sends_first(a, y, a_dfb, y_dfb, net):
    def dm():
        def send(pipe):
            with a_dfb.reserve() as blk:
                ttl.copy(a[0, 0], blk).wait()
                ttl.copy(blk, pipe).wait()
            drain(a_dfb, y, 0)

        def receive(pipe):
            with y_dfb.reserve() as blk:
                ttl.copy(pipe, blk).wait()
            drain(y_dfb, y, 1)

        net.if_src(send)
        net.if_dst(receive)

    return (dm,)


@ttl.operation(grid=(2, 1))
def shapes_of_a_pipe(a, y):
    net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])
    a_dfb = ttl.make_dataflow_buffer_like(a, (1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, (1, 2))

    @ttl.datamovement()
    def dm():
        def send(pipe):
            with a_dfb.reserve() as blk:
                ttl.copy(a[0, 0], blk).wait()
                ttl.copy(blk, pipe).wait()
            drain(a_dfb, y, 0)

        def receive(pipe):
            with y_dfb.reserve() as blk:
                ttl.copy(pipe, blk).wait()
            with y_dfb.wait() as blk:
                ttl.copy(blk, y[0, 1:3]).wait()

        net.if_src(send)
        net.if_dst(receive)


GATHER = [((0, 0), (2, 0)), ((1, 0), (2, 0))]


def gathering(a, a_dfb, net, receive):
    """The kernels of a gather to the third node, which receives by `receive`."""

    def send():
        def give(pipe):
            with a_dfb.reserve() as blk:
                ttl.copy(a[0, 0], blk).wait()
            with a_dfb.wait() as blk:
                ttl.copy(blk, pipe).wait()

        net.if_src(give)

    return send, receive


@pipes((3, 1), GATHER)
def two_posts_into_one_block(a, y, a_dfb, y_dfb, net):
    """Legal where a node has one pipe; the third has two."""

    def receive():
        if net.is_dst():
            with y_dfb.reserve() as blk:
                posts = ttl.GroupTransfer()
                net.if_dst(lambda pipe: posts.add(ttl.copy(pipe, blk)))
                posts.wait_all()
            drain(y_dfb, y, 0)

    return gathering(a, a_dfb, net, receive)


@pipes((3, 1), GATHER)
def a_block_received_over_another(a, y, a_dfb, y_dfb, net):
    def receive():
        if net.is_dst():
            with y_dfb.reserve() as blk:
                net.if_dst(lambda pipe: ttl.copy(pipe, blk).wait())
            drain(y_dfb, y, 0)

    return gathering(a, a_dfb, net, receive)


@pipes((3, 1), GATHER[:1])
def all_push_what_one_receives(a, y, a_dfb, y_dfb, net):
    """Nothing is written on nodes that receive nothing."""

    def receive():
        with y_dfb.reserve() as blk:
            net.if_dst(lambda pipe: ttl.copy(pipe, blk).wait())
        drain(y_dfb, y, ttl.node(dims=1))

    return gathering(a, a_dfb, net, receive)


@pipes((3, 1), GATHER[:1])
def waited_for_by_others_only(a, y, a_dfb, y_dfb, net):
    """On nodes other than the first the wait is left out: it is supplied there."""

    def receive():
        x, _ = ttl.node(dims=2)
        if net.is_dst():
            with y_dfb.reserve() as blk:
                posts = ttl.GroupTransfer()
                net.if_dst(lambda pipe: posts.add(ttl.copy(pipe, blk)))
                if x == 0:
                    posts.wait_all()
            drain(y_dfb, y, 0)

    return gathering(a, a_dfb, net, receive)


def semaphore(grid=(3, 1)):
    def operation_of(kernels) -> Operation:
        @ttl.operation(grid=grid)
        def operation(a, y):
            done = ttl.Semaphore()
            for kernel in kernels_of(done):
                ttl.datamovement()(kernel)

        kernels_of = kernels
        return operation

    return operation_of


@semaphore()
def too_few_increments(done):
    def dm():
        x, _ = ttl.node(dims=2)
        if x == 0:
            done.wait_ge(3)
        else:
            done.get_remote((0, 0)).inc(1)

    return (dm,)


@semaphore()
def everybody_waits_first(done):
    def dm():
        x, _ = ttl.node(dims=2)
        done.wait_eq(1)
        done.get_remote(((x + 1) % 3, 0)).set(1)

    return (dm,)


SAME = [
    buffer_too_small,
    nobody_pushes,
    own_block_not_pushed,
    two_reserves_of_one_block,
    two_pushed_three_popped,
    two_consumers,
    last_node_leaves_the_tensor,
    nobody_receives,
    nobody_sends,
    one_send_too_many,
    receive_waited_before_the_send,
    everybody_sends_first,
    shapes_of_a_pipe,
    two_posts_into_one_block,
    a_block_received_over_another,
    all_push_what_one_receives,
    too_few_increments,
]
SHAPES = ((1, 4), (1, 4))


def name(value: object) -> str:
    return next(key for key, known in globals().items() if known is value)


@pytest.mark.parametrize("operation", SAME, ids=name)
def test_check_and_simulator_agree(operation: Operation, check: Callable) -> None:
    checked = check(operation, *SHAPES)
    (theirs,) = checked.simulated
    ours = checked.error
    assert (ours.code, ours.message) == (theirs.code, theirs.message)
    assert ours.primary is not None and theirs.primary is not None
    assert ours.primary.span.line == theirs.primary.span.line
    assert set(theirs.helps) <= {*ours.helps} or "block_count" in " ".join(ours.helps)
    assert "src/ttl" not in render_text(ours)


def test_what_is_left_over_is_a_warning(check: Callable) -> None:
    checked = check(three_pushed_two_popped, *SHAPES)
    assert checked.errors == checked.simulated == []
    (ours,) = [each for each in checked.warnings if each.code is codes.BUFFER_LEFTOVER]
    (theirs,) = [each for each in checked.warned if each.code is codes.BUFFER_LEFTOVER]
    assert (ours.message, ours.primary, ours.helps) == (
        theirs.message,
        theirs.primary,
        theirs.helps,
    )


def unread_on(nodes):
    """Two nodes wait for a block; these pop it unread."""

    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, (1, 1))

        @ttl.datamovement()
        def read():
            with dfb.reserve() as blk:
                ttl.copy(a[0, 0], blk).wait()

        @ttl.datamovement()
        def write():
            node = ttl.node(dims=1)
            with dfb.wait() as blk:
                if node not in nodes:
                    ttl.copy(blk, y[0, node]).wait()

    return operation


@pytest.mark.parametrize("nodes", [(), (0,), (1,), (0, 1)])
def test_a_popped_block_that_was_never_read(nodes, check: Callable) -> None:
    checked = check(unread_on(nodes), *SHAPES)
    assert checked.errors == checked.simulated == []
    ours = [each for each in checked.warnings if each.code is codes.POPPED_UNREAD]
    theirs = [each for each in checked.warned if each.code is codes.POPPED_UNREAD]
    assert len(ours) == len(theirs) == bool(nodes)
    for one, other in zip(ours, theirs, strict=True):
        assert (one.message, one.primary, one.helps) == (other.message, other.primary, other.helps)


def test_a_wait_that_some_nodes_leave_out_is_supplied(check: Callable) -> None:
    checked = check(waited_for_by_others_only, *SHAPES)
    assert checked.errors == [] and not checked.simulated


def test_the_help_names_a_block_count_that_is_enough(check: Callable) -> None:
    error = check(buffer_too_small, *SHAPES).error
    assert error.helps[-1].endswith("or declare `a_dfb` with block_count=4")


def test_the_counts_of_a_pipe_are_told(check: Callable) -> None:
    error = check(one_send_too_many, *SHAPES).error
    assert (
        "through pipe (0, 0) -> (1, 0) node (0, 0) sends 3 times, node (1, 0) posts 2 times"
        in error.notes
    )


def test_who_changes_a_semaphore_is_known(check: Callable) -> None:
    """The simulator says that all wait for ever; the check knows for whom."""
    checked = check(everybody_waits_first, *SHAPES)
    assert checked.simulated[0].code is checked.error.code
    assert checked.error.message == "deadlock: `dm` on 3 nodes waits for `dm` on other nodes"
    assert checked.error.notes[0].startswith("cycle: `dm` on node (0, 0) waits for `done` to be 1")


# Right programs -----------------------------------------------------------------------------------


@pipes((4, 1), [((x, 0), ((x + 1) % 4, 0)) for x in range(4)])
def ring(a, y, a_dfb, y_dfb, net):
    def send_kernel():
        def send(pipe):
            for _ in range(20):
                with a_dfb.reserve() as blk:
                    ttl.copy(a[0, ttl.node(dims=1)], blk).wait()
                    ttl.copy(blk, pipe).wait()
                with a_dfb.wait() as blk:
                    ttl.copy(blk, a[0, ttl.node(dims=1)]).wait()

        net.if_src(send)

    def receive_kernel():
        def receive(pipe):
            for _ in range(20):
                with y_dfb.reserve() as blk:
                    ttl.copy(pipe, blk).wait()
                drain(y_dfb, y, ttl.node(dims=1))

        net.if_dst(receive)

    return send_kernel, receive_kernel


@pipes((2, 1), [((0, 0), (slice(0, 2), 0))])
def loopback_in_order(a, y, a_dfb, y_dfb, net):
    """post, send, wait for the send, wait for the receive"""

    def dm():
        transfers = ttl.GroupTransfer()
        sent = a_dfb.reserve()
        ttl.copy(a[0, ttl.node(dims=1)], sent).wait()
        received = y_dfb.reserve()

        def receive(pipe):
            transfers.add(ttl.copy(pipe, received))

        def send(pipe):
            ttl.copy(sent, pipe).wait()

        net.if_dst(receive)
        net.if_src(send)
        transfers.wait_all()
        sent.push()
        received.push()
        with a_dfb.wait() as blk:
            ttl.copy(blk, a[0, ttl.node(dims=1)]).wait()
        drain(y_dfb, y, ttl.node(dims=1))

    return (dm,)


@semaphore((4, 1))
def barrier(done):
    def dm():
        x, _ = ttl.node(dims=2)
        if x == 0:
            done.wait_eq(3)
            done.get_remote_multicast((slice(1, 4), 0)).set(1)
        else:
            done.get_remote((0, 0)).inc(1)
            done.wait_eq(1)

    return (dm,)


@semaphore((3, 1))
def counting_rounds(done):
    """The value that is waited for grows with the loop."""

    def dm():
        x, _ = ttl.node(dims=2)
        for i in range(5):
            done.get_remote(((x + 1) % 3, 0)).inc(2)
            done.wait_ge(2 * (i + 1))

    return (dm,)


@pytest.mark.parametrize("operation", [ring, loopback_in_order, barrier, counting_rounds], ids=name)
def test_right_programs_pass(operation: Operation, check: Callable) -> None:
    checked = check(operation, *SHAPES)
    assert checked.simulated == [] == checked.errors
    assert checked.notes == []


# What is not proven -------------------------------------------------------------------------------


@semaphore((2, 1))
def reset_every_round(done):
    """Waits for a value that is set back: right in the order that pipes or luck give."""

    def dm():
        x, _ = ttl.node(dims=2)
        for _ in range(3):
            if x == 0:
                done.wait_eq(1)
                done.set(0)
                done.get_remote((1, 0)).set(1)
            else:
                done.get_remote((0, 0)).set(1)
                done.wait_eq(1)
                done.set(0)

    return (dm,)


def test_values_that_fall_are_tried_not_proven(check: Callable) -> None:
    checked = check(reset_every_round, *SHAPES)
    assert checked.simulated == [] == checked.errors
    (note,) = checked.notes
    assert note.code.slug == "not-proven"
    assert note.message == (
        "it is not proven that the operation ends: the value of `done` does not only grow, so the "
        "order of the kernels matters"
    )
    assert note.notes == ("8 orders were tried, and all kernels ended in each",)


@semaphore((3, 1))
def passed_by(done):
    """Two nodes increment the value, the third may come too late for the one it waits for."""

    def dm():
        x, _ = ttl.node(dims=2)
        if x == 0:
            done.wait_eq(1)
        else:
            done.get_remote((0, 0)).inc(1)

    return (dm,)


def test_a_value_that_may_be_passed_over_is_a_race(check: Callable) -> None:
    error = check(passed_by, *SHAPES).error
    assert error.code.slug == "race"
    assert error.message == (
        "race: `done` of node (0, 0) is waited for on node (0, 0) and incremented on node (1, 0), "
        "in no order: the value may be passed over"
    )
    assert error.helps == ("wait for at least that value: write `done.wait_ge(1)`",)


def test_the_budget_is_said(check: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ttl.passes.verify.MOST_STEPS", 3)
    checked = check(counting_rounds, *SHAPES)
    assert checked.errors == []
    assert [note.code.slug for note in checked.notes] == ["not-proven"]
    assert "30 steps are not enough to follow its kernels" in checked.notes[0].message


# Roles --------------------------------------------------------------------------------------------


@pipes((4, 1), [((0, 0), (slice(1, 3), 0))])
def waits_without_the_role(a, y, a_dfb, y_dfb, net):
    def move():
        def send(pipe):
            with a_dfb.reserve() as blk:
                ttl.copy(a[0, 0], blk).wait()
                ttl.copy(blk, pipe).wait()
            with a_dfb.wait() as blk:
                ttl.copy(blk, a[0, 0]).wait()

        def receive(pipe):
            with y_dfb.reserve() as blk:
                ttl.copy(pipe, blk).wait()

        net.if_src(send)
        net.if_dst(receive)

    def write():
        drain(y_dfb, y, ttl.node(dims=1))

    return move, write


def test_the_guard_to_write_is_named(check: Callable) -> None:
    checked = check(waits_without_the_role, *SHAPES)
    assert [each.code.slug for each in checked.simulated] == ["deadlock"]
    error = checked.error
    assert error.message == (
        "deadlock: `write` waits for a block of `y_dfb` on node (0, 0), which is not a receiver of "
        "`net`; only those push to it"
    )
    assert error.notes == ("seen on 2 of 4 nodes; first on node (0, 0)",)
    assert error.helps == ("write `if net.is_dst():` around what `write` does with the block",)


def test_who_fills_a_block_is_named(check: Callable) -> None:
    error = check(all_push_what_one_receives, *SHAPES).error
    assert error.notes[-1] == "on node (0, 0)"
    assert error.helps[-1] == (
        "if only receivers of `net` get it, write `if net.is_dst():` around it"
    )


@pipes((2, 1), [((0, 0), (1, 0)), ((1, 0), (0, 0))])
def sends_before_it_posts(a, y, a_dfb, y_dfb, net):
    """Nothing is waited for before everything is started: the simulator is content."""

    def dm():
        transfers = ttl.GroupTransfer()
        sent = a_dfb.reserve()
        ttl.copy(a[0, ttl.node(dims=1)], sent).wait()

        def send(pipe):
            transfers.add(ttl.copy(sent, pipe))

        def receive(pipe):
            transfers.add(ttl.copy(pipe, received))

        net.if_src(send)
        received = y_dfb.reserve()  # might have to wait: a post after it is not made before
        net.if_dst(receive)
        transfers.wait_all()
        sent.push()
        received.push()
        with a_dfb.wait() as blk:
            ttl.copy(blk, a[0, ttl.node(dims=1)]).wait()
        drain(y_dfb, y, ttl.node(dims=1))

    return (dm,)


def test_a_compiled_send_waits_when_it_starts(check: Callable) -> None:
    checked = check(sends_before_it_posts, *SHAPES)
    assert checked.simulated == []
    assert checked.error.code.slug == "send-before-post"
    assert "a send waits for the posts of its receivers when it starts" in checked.error.message
    with pytest.raises(ttl.CompileError, match="TTL7005"):
        compile_operation(checked.program, TARGET, Config())


# Outputs ------------------------------------------------------------------------------------------


def copies(grid, where: Callable[[int, int], tuple[int, int]], count: int):
    """`count` tiles of a to y, where `where` says, by each node."""

    @ttl.operation(grid=grid)
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, (1, 1))

        @ttl.datamovement()
        def read():
            for _ in range(count):
                with dfb.reserve() as blk:
                    ttl.copy(a[0, 0], blk).wait()

        @ttl.datamovement()
        def write():
            number = ttl.node(dims=1)
            for i in range(count):
                row, column = where(number, i)
                with dfb.wait() as blk:
                    ttl.copy(blk, y[row, column]).wait()

    return operation


def by_rows(number, i):
    return number, i


def flat(number, i):
    return (number * 8 + i) // 8, (number * 8 + i) % 8


@pytest.mark.parametrize("where", [by_rows, flat], ids=lambda function: function.__name__)
def test_covered_outputs_are_not_mentioned(where: Callable, check: Callable) -> None:
    checked = check(copies((2, 2), where, 8), (1, 1), (4, 8))
    assert checked.found == [] == checked.simulated


def test_tiles_that_no_node_writes(check: Callable) -> None:
    (warning,) = check(copies((2, 2), flat, 8), (1, 1), (5, 8)).warnings
    assert warning.message == "8 of 40 tiles of `y` were never written"
    assert warning.notes == (
        "the first is (4, 0); `y` is (5, 8) in tiles",
        "4 of 4 nodes wrote to it",
    )


def test_an_output_that_no_node_comes_to(check: Callable) -> None:
    """The simulator sees only what runs."""

    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        rows = y.shape[0] // 32 // 2
        dfb = ttl.make_dataflow_buffer_like(a, (1, 1))

        @ttl.datamovement()
        def read():
            for _ in range(rows):
                with dfb.reserve() as blk:
                    ttl.copy(a[0, 0], blk).wait()

        @ttl.datamovement()
        def write():
            first = ttl.node(dims=1) * rows
            for row in range(first, first + rows):
                with dfb.wait() as blk:
                    ttl.copy(blk, y[row, 0]).wait()

    (warning,) = check(operation, (1, 1), (1, 1)).warnings
    assert warning.message == "1 of 1 tiles of `y` was never written"
    assert warning.notes[1] == "0 of 2 nodes wrote to it"


def test_tiles_that_two_nodes_write(check: Callable) -> None:
    def overlapping(number, i):
        return 0, number * 2 + i

    checked = check(copies((3, 1), overlapping, 3), (1, 1), (1, 7))
    (ours,), (theirs,) = checked.warnings, checked.warned
    assert ours.message == (
        "tile (0, 2) of `y` is written on node (0, 0) and written on node (1, 0)"
    )
    assert (ours.notes, theirs.notes) == ((accesses.BYTES_UNKNOWN,), (accesses.SAME_BYTES,))
    assert (ours.message, ours.primary) == (theirs.message, theirs.primary)


def in_place(reads: Callable[[int], int], writes: Callable[[int], int]):
    """Each of two nodes reads a tile of `a` and writes one."""

    @ttl.operation(grid=(2, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, (1, 1))

        @ttl.datamovement()
        def read():
            with dfb.reserve() as blk:
                ttl.copy(a[0, reads(ttl.node(dims=1))], blk).wait()

        @ttl.datamovement()
        def write():
            with dfb.wait() as blk:
                ttl.copy(blk, a[0, writes(ttl.node(dims=1))]).wait()

    return operation


def test_a_tile_that_one_node_reads_and_another_writes(check: Callable) -> None:
    checked = check(in_place(lambda node: node, lambda node: 1 - node), (1, 2))
    assert checked.error.message == (
        "race: tile (0, 0) of `a` is written on node (1, 0) and read on node (0, 0), in no order"
    )
    assert [checked.error] == checked.simulated
    assert check(in_place(lambda node: node, lambda node: node), (1, 2)).found == []


def test_a_copy_that_is_not_made_is_no_race(check: Callable) -> None:
    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, (1, 1))

        @ttl.datamovement()
        def dm():
            part = y[0, 0]
            if ttl.node(dims=1) == 0:
                with dfb.reserve() as blk:
                    ttl.copy(a[0, 0], blk).wait()
                with dfb.wait() as blk:
                    ttl.copy(blk, part).wait()

    checked = check(operation, (1, 1), (1, 1))
    assert checked.errors == [] == checked.simulated


@pipes((2, 1), [((0, 0), (1, 0))])
def both_write_in_an_order(a, y, a_dfb, y_dfb, net):
    def dm():
        def send(pipe):
            ttl.copy(a[0, 0], blk).wait()
            ttl.copy(blk, y[0, 0]).wait()
            ttl.copy(blk, pipe).wait()

        def receive(pipe):
            ttl.copy(pipe, blk).wait()
            ttl.copy(blk, y[0, 0]).wait()

        blk = a_dfb.reserve()
        net.if_src(send)
        net.if_dst(receive)
        blk.push()
        with a_dfb.wait() as blk:
            ttl.copy(blk, y[0, 1 + ttl.node(dims=1)]).wait()

    return (dm,)


def test_what_a_pipe_may_order_is_a_warning(check: Callable) -> None:
    checked = check(both_write_in_an_order, *SHAPES)
    assert checked.errors == [] == checked.simulated
    slugs = [warning.code.slug for warning in checked.warnings]
    assert slugs == ["output-not-covered", "race"]


@pipes((3, 1), [((0, 0), (1, 0)), ((1, 0), (2, 0))])
def one_pipe_unused(a, y, a_dfb, y_dfb, net):
    def dm():
        x, _ = ttl.node(dims=2)

        def send(pipe):
            if x == 0:
                with a_dfb.reserve() as blk:
                    ttl.copy(a[0, 0], blk).wait()
                    ttl.copy(blk, pipe).wait()
                with a_dfb.wait() as blk:
                    ttl.copy(blk, a[0, 0]).wait()

        def receive(pipe):
            if x == 1:
                with y_dfb.reserve() as blk:
                    ttl.copy(pipe, blk).wait()
                with y_dfb.wait() as blk:
                    ttl.copy(blk, y[0, 0]).wait()

        net.if_src(send)
        net.if_dst(receive)

    return (dm,)


def test_a_pipe_that_is_never_used(check: Callable) -> None:
    checked = check(one_pipe_unused, (1, 1), (1, 1))
    assert checked.simulated == [] == checked.errors
    (warning,) = checked.warnings
    assert warning.message == "pipe (1, 0) -> (2, 0) of `net` is never used"


# Several mistakes ---------------------------------------------------------------------------------


@one_node(grid=(2, 1))
def three_mistakes(a, y, a_dfb, y_dfb):
    def read():
        x, _ = ttl.node(dims=2)
        with a_dfb.reserve() as blk:
            ttl.copy(a[0, x + 3], blk).wait()

    def write():
        x, _ = ttl.node(dims=2)
        with a_dfb.wait() as blk:
            ttl.copy(blk, y[x, 0]).wait()
        with y_dfb.wait() as blk:
            ttl.copy(blk, y[0, 1]).wait()

    return rest, read, write


def test_independent_mistakes_are_all_reported(check: Callable) -> None:
    checked = check(three_mistakes, *SHAPES)
    assert sorted(error.message for error in checked.errors) == [
        "deadlock: `write` waits on `y_dfb`, to which no kernel pushes",
        "slice 1 of dimension 0 of tensor `y` does not lie in 0:1 (in tiles)",
        "slice 4 of dimension 1 of tensor `a` does not lie in 0:4 (in tiles)",
    ]


def test_a_net_that_no_kernel_uses(check: Callable) -> None:
    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])
        ttl.datamovement()(rest)

    (warning,) = check(operation, *SHAPES).warnings
    assert warning.message == "no kernel uses this pipe net"


def test_calculations_that_fail_are_found(check: Callable) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, (1, 1))

        @ttl.datamovement()
        def read():
            for i in range(2):
                with dfb.reserve() as blk:
                    ttl.copy(a[0, 1 // (1 - i)], blk).wait()

        @ttl.datamovement()
        def write():
            for i in range(2):
                with dfb.wait() as blk:
                    ttl.copy(blk, y[0, i]).wait()

    checked = check(operation, *SHAPES)
    assert [each.message for each in checked.errors] == [checked.simulated[0].message]
    assert "ZeroDivisionError" in checked.simulated[0].message


@one_node()
def either_half(a, y, a_dfb, y_dfb):
    """On some path neither copy is made; no node takes it."""

    def write():
        for _ in range(50):
            with y_dfb.wait() as blk:
                ttl.copy(blk, y[0, 0]).wait()

    def compute():
        for _ in range(50):
            with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
                y_blk.store(a_blk)

    def read():
        for i in range(50):
            with a_dfb.reserve() as blk:
                if i % 20 < 10:
                    ttl.copy(a[0, 0], blk).wait()
                if i % 10 + 10 == i % 20:
                    ttl.copy(a[0, 1], blk).wait()

    return compute, read, write


def test_the_budget_of_blocks_is_said(check: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(either_half, *SHAPES).notes == []
    monkeypatch.setattr("ttl.passes.verify.exact_states.MOST_STEPS", 10)
    checked = check(either_half, *SHAPES)
    assert checked.errors == []
    (note,) = checked.notes
    assert note.code.slug == "not-proven"
    assert note.message == (
        "it is not proven that `read` uses its blocks in order: 100 steps are not enough to "
        "follow it"
    )
    assert note.primary is not None
