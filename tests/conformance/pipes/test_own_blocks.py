"""Sources in the range of their own multicast that receive into the block that they send.

Nothing depends on where the statements stand: which pipe it is and which block decides.
"""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from conformance.harness import empty, numbers, refused, run, tensor
from ttl.config import chosen_options

TIMES = 3


def spreading(grid, pipes, body):
    """Each source sends three tiles of its own row of `a`; every node writes what it has."""

    @ttl.operation(grid=grid)
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
        net = ttl.PipeNet(pipes)
        read = body(a, dfb, net)
        ttl.datamovement()(read)

        @ttl.datamovement()
        def write():
            column, row = ttl.node(2)
            for i in range(TIMES):
                with dfb.wait() as blk:
                    ttl.copy(blk, y[row, TIMES * column + i]).wait()

    return operation


def receiving_by_a_lambda(a, dfb, net):
    def read():
        _, row = ttl.node(2)
        for i in range(TIMES):
            blk = dfb.reserve()

            def send(pipe):
                ttl.copy(a[row, i], blk).wait()  # noqa: B023
                ttl.copy(blk, pipe).wait()  # noqa: B023

            net.if_src(send)
            net.if_dst(lambda pipe: (ttl.copy(pipe, blk).wait(),))  # noqa: B023
            blk.push()

    return read


def receiving_by_name(a, dfb, net):
    def read():
        _, row = ttl.node(2)
        for i in range(TIMES):
            with dfb.reserve() as blk:

                def send(pipe):
                    xf = ttl.copy(a[row, i], blk)  # noqa: B023
                    xf.wait()
                    xf = ttl.copy(blk, pipe)
                    xf.wait()

                net.if_src(send)

                def receive(pipe):
                    xf = ttl.copy(pipe, blk)
                    xf.wait()

                net.if_dst(receive)

    return read


def to_rows(columns, rows, source=0):
    whole = slice(0, columns)
    return [ttl.Pipe(src=(source, row), dst=(whole, row)) for row in range(rows)]


RANGES = {
    "the first of a row": ((3, 2), to_rows(3, 2)),
    "the last of a row": ((3, 2), to_rows(3, 2, source=2)),
    "alone": ((1, 2), to_rows(1, 2)),
    "of two": ((2, 1), to_rows(2, 1)),
    "a corner": ((3, 2), [ttl.Pipe(src=(0, 0), dst=(slice(0, 3), slice(0, 2)))]),
    "the middle of a row": ((3, 2), to_rows(3, 2, source=1)),
    "the middle of all": ((3, 3), [ttl.Pipe(src=(1, 1), dst=(slice(0, 3), slice(0, 3)))]),
    "of a net with others": (
        (3, 2),
        [*to_rows(2, 2), *(ttl.Pipe(src=(0, row), dst=(2, row)) for row in range(2))],
    ),
    "to itself alone": ((2, 1), [ttl.Pipe(src=(x, 0), dst=(x, 0)) for x in range(2)]),
}


@pytest.mark.rule("pipe-own-block")
@pytest.mark.parametrize("body", [receiving_by_a_lambda, receiving_by_name])
@pytest.mark.parametrize("name", RANGES)
def test_the_source_is_left_out(name, body):
    check_rows(*RANGES[name], body)


def check_rows(grid, pipes, body):
    columns, rows = grid
    values = numbers(rows, TIMES).repeat(32, 0).repeat(32, 1)
    y = empty(32 * rows, 32 * columns * TIMES)
    run(spreading((columns, rows), pipes, body), tensor(values), y)
    from_rows = [pipes[0].src[1]] * rows if len(pipes) == 1 else range(rows)
    expected = np.tile(numbers(rows, TIMES)[from_rows], columns)
    assert np.array_equal(ttl.to_numpy(y)[::32, ::32], expected)


@pytest.mark.rule("pipe-own-block")
def test_a_note_tells(capsys):
    operation = spreading((5, 1), to_rows(5, 1), receiving_by_a_lambda)  # compiled only here
    run(operation, tensor(numbers(32, 96)), empty(32, 480))
    text = capsys.readouterr().err
    assert "note[TTL3018]: sources of `net` receive what they send into the block that" in text
    assert "^ the source is left out of `dst`" in text
    assert text.count("TTL3018]") == 1


def sending(a, i, blk):
    """What is given to if_src()."""

    def send(pipe):
        ttl.copy(a[ttl.node(2)[1], i], blk).wait()
        ttl.copy(blk, pipe).wait()

    return send


def receiving(blk):
    """What is given to if_dst()."""

    def receive(pipe):
        ttl.copy(pipe, blk).wait()

    return receive


def under_another_name(a, dfb, net):
    def read():
        for i in range(TIMES):
            with dfb.reserve() as blk:
                received = blk
                net.if_src(sending(a, i, blk))
                net.if_dst(lambda pipe: ttl.copy(pipe, received).wait())  # noqa: B023

    return read


def after_a_print(a, dfb, net):
    def read():
        for i in range(TIMES):
            with dfb.reserve() as blk:
                net.if_src(sending(a, i, blk))
                print("sent")
                net.if_dst(lambda pipe: ttl.copy(pipe, blk).wait())

    return read


def with_a_print_in_the_receive(a, dfb, net):
    def read():
        for i in range(TIMES):
            with dfb.reserve() as blk:

                def receive(pipe):
                    ttl.copy(pipe, blk).wait()
                    print("received from", pipe.src[0])

                net.if_src(sending(a, i, blk))
                net.if_dst(receive)

    return read


def where_active(a, dfb, net):
    def read():
        for i in range(TIMES):
            with dfb.reserve() as blk:
                if net.is_active():
                    net.if_src(sending(a, i, blk))
                    if net.is_dst():
                        net.if_dst(receiving(blk))

    return read


def after_an_early_return(a, dfb, net):
    def read():
        if not net.is_active():
            return
        for i in range(TIMES):
            with dfb.reserve() as blk:
                net.if_src(sending(a, i, blk))
                if net.is_src() and i > TIMES:
                    return
                net.if_dst(receiving(blk))

    return read


def after_a_statement(a, dfb, net):
    def read():
        count = 0
        for _ in range(TIMES):
            with dfb.reserve() as blk:
                net.if_src(sending(a, count, blk))
                count += 1
                receive = receiving(blk)
                net.if_dst(receive)

    return read


def in_both_branches(a, dfb, net):
    def read():
        for i in range(TIMES):
            with dfb.reserve() as blk:
                if net.is_src():
                    net.if_src(sending(a, i, blk))
                    net.if_dst(receiving(blk))
                else:
                    net.if_dst(receiving(blk))

    return read


def by_functions_in_variables(a, dfb, net):
    def read():
        for i in range(TIMES):
            blk = dfb.reserve()
            functions = sending(a, i, blk), lambda pipe: ttl.copy(pipe, blk).wait()  # noqa: B023
            send, receive = functions
            net.if_src(send)
            net.if_dst(receive)
            blk.push()

    return read


def two_blocks_at_a_time(a, dfb, net):
    def read():
        one, two = dfb.reserve(), dfb.reserve()
        net.if_src(sending(a, 0, one))
        net.if_dst(receiving(one))
        net.if_src(sending(a, 1, two))
        net.if_dst(receiving(two))
        one.push()
        two.push()
        last = dfb.reserve()
        net.if_src(sending(a, 2, last))
        net.if_dst(receiving(last))
        last.push()

    return read


def both_sent_before_both_are_received(a, dfb, net):
    def read():
        one, two = dfb.reserve(), dfb.reserve()
        net.if_src(sending(a, 0, one))
        net.if_src(sending(a, 1, two))
        net.if_dst(receiving(one))
        net.if_dst(receiving(two))
        one.push()
        two.push()
        last = dfb.reserve()
        net.if_src(sending(a, 2, last))
        net.if_dst(receiving(last))
        last.push()

    return read


def a_block_kept_for_the_next_iteration(a, dfb, net):
    def read():
        blk = dfb.reserve()
        for i in range(TIMES):
            net.if_src(sending(a, i, blk))
            net.if_dst(receiving(blk))
            blk.push()
            if i + 1 < TIMES:
                blk = dfb.reserve()

    return read


def received_in_the_next_iteration(a, dfb, net):
    def read():
        blk = dfb.reserve()
        net.if_src(sending(a, 0, blk))
        for i in range(1, TIMES):
            net.if_dst(receiving(blk))
            blk.push()
            blk = dfb.reserve()
            net.if_src(sending(a, i, blk))
        net.if_dst(receiving(blk))
        blk.push()

    return read


def pushed_by_hand(a, dfb, net):
    def read():
        i = 0
        while i < TIMES:
            blk = dfb.reserve()
            net.if_src(sending(a, i, blk))
            net.if_dst(receiving(blk))
            i += 1
            blk.push()

    return read


def posted_before_at_last(a, dfb, net):
    """The last block is received by a post before the send, from another block."""

    def read():
        for i in range(TIMES - 1):
            with dfb.reserve() as blk:
                net.if_src(sending(a, i, blk))
                net.if_dst(receiving(blk))
        own = ttl.GroupTransfer()
        other = dfb.reserve()
        net.if_dst(lambda pipe: own.add(ttl.copy(pipe, other)))
        extra = dfb.reserve()
        net.if_src(sending(a, TIMES - 1, extra))
        own.wait_all()
        other.push()
        if not net.is_src():
            ttl.copy(a[0, 0], extra).wait()
        extra.push()

    return read


BODIES = [
    under_another_name,
    after_a_print,
    with_a_print_in_the_receive,
    where_active,
    after_an_early_return,
    after_a_statement,
    in_both_branches,
    by_functions_in_variables,
    two_blocks_at_a_time,
    both_sent_before_both_are_received,
    a_block_kept_for_the_next_iteration,
    received_in_the_next_iteration,
    pushed_by_hand,
]


@pytest.mark.rule("pipe-own-block")
@pytest.mark.parametrize("body", BODIES)
def test_nothing_depends_on_what_stands_around(body):
    check_rows((3, 2), to_rows(3, 2), body)
    check_rows((3, 1), to_rows(3, 1, source=1), body)


@pytest.mark.rule("pipe-own-block")
@pytest.mark.parametrize("body", [after_a_print, where_active, after_an_early_return])
def test_strict_rules_refuse_what_other_tools_would(body):
    operation = spreading((3, 2), to_rows(3, 2), body)
    with chosen_options(strict=True):
        refused(operation, tensor(numbers(64, 96)), empty(64, 288), slug="source-left-out")


def read_twice(a, dfb, net, other):
    """Rows by one net, then columns of what came by the other, each to its source, too."""

    def read():
        for i in range(TIMES):
            with dfb.reserve() as blk:
                net.if_src(sending(a, i, blk))
                print("row")
                net.if_dst(receiving(blk))
            with dfb.reserve() as blk:
                other.if_src(sending(a, i, blk))
                other.if_dst(receiving(blk))
                print("again")

    return read


@pytest.mark.rule("pipe-own-block")
def test_two_nets():
    @ttl.operation(grid=(3, 2))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
        rows = ttl.PipeNet(to_rows(3, 2))
        others = ttl.PipeNet(to_rows(3, 2, source=1))
        ttl.datamovement()(read_twice(a, dfb, rows, others))

        @ttl.datamovement()
        def write():
            column, row = ttl.node(2)
            for i in range(2 * TIMES):
                with dfb.wait() as blk:
                    ttl.copy(blk, y[row, 2 * TIMES * column + i]).wait()

    values = numbers(2, TIMES).repeat(32, 0).repeat(32, 1)
    y = empty(64, 32 * 3 * 2 * TIMES)
    run(operation, tensor(values), y)
    expected = np.tile(numbers(2, TIMES).repeat(2, 1), 3)
    assert np.array_equal(ttl.to_numpy(y)[::32, ::32], expected)


@pytest.mark.rule("pipe-own-block")
def test_a_net_is_used_in_both_ways():
    @ttl.operation(grid=(3, 2))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
        ttl.datamovement()(posted_before_at_last(a, dfb, ttl.PipeNet(to_rows(3, 2))))

        @ttl.datamovement()
        def write():
            column, row = ttl.node(2)
            for i in range(TIMES + 1):
                with dfb.wait() as blk:
                    if i < TIMES:
                        ttl.copy(blk, y[row, TIMES * column + i]).wait()

    values = numbers(2, TIMES).repeat(32, 0).repeat(32, 1)
    y = empty(64, 32 * 3 * TIMES)
    run(operation, tensor(values), y)
    assert np.array_equal(ttl.to_numpy(y)[::32, ::32], np.tile(numbers(2, TIMES), 3))


@pytest.mark.rule("pipe-own-block")
def test_the_other_kernel_may_receive():
    """Its posts are those of the source: sends wait for them."""

    @ttl.operation(grid=(3, 1))
    def operation(a, y):
        a_dfb, r_dfb, y_dfb = (
            ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=TIMES) for _ in range(3)
        )
        net = ttl.PipeNet(to_rows(3, 1))

        @ttl.datamovement()
        def read():
            if net.is_src():
                for i in range(TIMES):
                    with a_dfb.reserve() as blk:
                        ttl.copy(a[0, i], blk).wait()
                        net.if_src(lambda pipe: ttl.copy(blk, pipe).wait())

        @ttl.compute()
        def copy():
            for _ in range(TIMES):
                with r_dfb.wait() as blk, y_dfb.reserve() as out:
                    out.store(blk)
            if net.is_src():
                for _ in range(TIMES):
                    with a_dfb.wait():
                        pass

        @ttl.datamovement()
        def write():
            for i in range(TIMES):
                with r_dfb.reserve() as blk:
                    net.if_dst(receiving(blk))
                with y_dfb.wait() as blk:
                    ttl.copy(blk, y[0, TIMES * ttl.node(2)[0] + i]).wait()

    values = numbers(1, TIMES).repeat(32, 0).repeat(32, 1)
    y = empty(32, 96 * TIMES)
    run(operation, tensor(values), y)
    assert np.array_equal(ttl.to_numpy(y)[::32, ::32], np.tile(numbers(1, TIMES), 3))


@pytest.mark.rule("pipe-own-block")
@pytest.mark.parametrize("other", [False, True])
def test_what_nobody_can_foresee(other):
    """Data decides, so that only the run shows into which block the source receives."""

    @ttl.operation(grid=(3, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
        net = ttl.PipeNet(to_rows(3, 1, source=1))

        @ttl.datamovement()
        def read():
            for i in range(TIMES):
                one = dfb.reserve()
                two = dfb.reserve()
                ttl.copy(a[0, i], one).wait()
                value = ttl.raw_element_read(one, 0, 0)
                net.if_src(lambda pipe: ttl.copy(one, pipe).wait())  # noqa: B023
                if value > 1 and other:
                    net.if_dst(receiving(two))
                else:
                    net.if_dst(receiving(one))
                    ttl.copy(a[0, i], two).wait()
                one.push()
                two.push()

        @ttl.datamovement()
        def write():
            for i in range(2 * TIMES):
                with dfb.wait() as blk:
                    ttl.copy(blk, y[i % 2, TIMES * ttl.node(2)[0] + i // 2]).wait()

    values = numbers(1, TIMES).repeat(32, 0).repeat(32, 1)
    y = empty(64, 96 * TIMES)
    if other:
        refused(operation, tensor(values), y, slug="deadlock")
    else:
        run(operation, tensor(values), y)
        assert np.array_equal(ttl.to_numpy(y)[::32, ::32], np.tile(numbers(1, TIMES), (2, 3)))


@pytest.mark.rule("pipe-own-block")
def test_while_another_kernel_asks():
    """Again and again, so that it never sleeps."""

    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
        ttl.datamovement()(receiving_by_name(a, dfb, ttl.PipeNet(to_rows(2, 1))))

        @ttl.datamovement()
        def write():
            for i in range(TIMES):
                while not dfb.can_wait():
                    pass
                with dfb.wait() as blk:
                    ttl.copy(blk, y[0, TIMES * ttl.node(2)[0] + i]).wait()

    values = numbers(1, TIMES).repeat(32, 0).repeat(32, 1)
    y = empty(32, 64 * TIMES)
    run(operation, tensor(values), y)
    assert np.array_equal(ttl.to_numpy(y)[::32, ::32], np.tile(numbers(1, TIMES), 2))


def into_another_block(a, dfb, net):
    def read():
        with dfb.reserve() as blk, dfb.reserve() as other:
            net.if_src(sending(a, 0, blk))
            net.if_dst(receiving(other))
            if not net.is_src():
                ttl.copy(a[0, 0], blk).wait()

    return read


def into_another_block_later(a, dfb, net):
    def read():
        for i in range(TIMES):
            with dfb.reserve() as blk, dfb.reserve() as other:
                net.if_src(sending(a, i, blk))
                if i < 1:
                    net.if_dst(receiving(blk))
                    ttl.copy(a[0, 0], other).wait()
                else:
                    net.if_dst(receiving(other))
                    if not net.is_src():
                        ttl.copy(a[0, 0], blk).wait()

    return read


def into_the_next_block(a, dfb, net):
    """At the same place, but acquired anew."""

    def read():
        blk = dfb.reserve()
        net.if_src(sending(a, 0, blk))
        if not net.is_src():
            net.if_dst(receiving(blk))
        blk.push()
        if net.is_src():
            blk = dfb.reserve()
            net.if_dst(receiving(blk))
            blk.push()

    return read


def sent_again_before_the_receive(a, dfb, net):
    def read():
        with dfb.reserve() as blk:
            net.if_src(sending(a, 0, blk))
            net.if_src(sending(a, 1, blk))
            net.if_dst(receiving(blk))

    return read


def never_received(a, dfb, net):
    def read():
        with dfb.reserve() as blk:
            net.if_src(sending(a, 0, blk))
            if not net.is_src():
                net.if_dst(receiving(blk))

    return read


@pytest.mark.rule("pipe-own-block")
@pytest.mark.parametrize(
    "body",
    [
        into_another_block,
        into_another_block_later,
        into_the_next_block,
        sent_again_before_the_receive,
        never_received,
    ],
)
def test_otherwise_it_is_a_deadlock(body):
    operation = spreading((2, 1), to_rows(2, 1), body)
    text = refused(operation, tensor(numbers(32, 96)), empty(32, 192), slug="deadlock")
    assert "`read` on node (0, 0) waits for node" in text


@pytest.mark.rule("pipe-own-block")
def test_sources_that_wait_for_each_other():
    pipes = [ttl.Pipe(src=(column, 0), dst=(slice(0, 3), 0)) for column in (0, 2)]
    operation = spreading((3, 1), pipes, receiving_by_a_lambda)
    refused(operation, tensor(numbers(32, 96)), empty(32, 288), slug="deadlock")
