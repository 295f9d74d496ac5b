"""Sources in the range of their own multicast that receive into the block that they send."""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from conformance.harness import empty, numbers, refused, run, tensor

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
}


@pytest.mark.rule("pipe-own-block")
@pytest.mark.parametrize("body", [receiving_by_a_lambda, receiving_by_name])
@pytest.mark.parametrize("name", RANGES)
def test_the_source_is_left_out(name, body):
    (columns, rows), pipes = RANGES[name]
    values = numbers(rows, TIMES).repeat(32, 0).repeat(32, 1)
    y = empty(32 * rows, 32 * columns * TIMES)
    run(spreading((columns, rows), pipes, body), tensor(values), y)
    from_rows = [0] * rows if name == "a corner" else range(rows)
    expected = np.tile(numbers(rows, TIMES)[from_rows], columns)
    assert np.array_equal(ttl.to_numpy(y)[::32, ::32], expected)


@pytest.mark.rule("pipe-own-block")
def test_a_note_tells(capsys):
    operation = spreading((2, 1), to_rows(2, 1), receiving_by_a_lambda)
    run(operation, tensor(numbers(32, 96)), empty(32, 192))
    text = capsys.readouterr().err
    assert "note[TTL3018]: `operation` lets sources receive what they send" in text
    assert "^ the source is left out of `dst`" in text


def under_another_name(a, dfb, net):
    def read():
        with dfb.reserve() as blk:
            received = blk

            def send(pipe):
                ttl.copy(a[0, 0], blk).wait()
                ttl.copy(blk, pipe).wait()

            net.if_src(send)
            net.if_dst(lambda pipe: ttl.copy(pipe, received).wait())

    return read


def after_something_else(a, dfb, net):
    def read():
        with dfb.reserve() as blk:

            def send(pipe):
                ttl.copy(a[0, 0], blk).wait()
                ttl.copy(blk, pipe).wait()

            net.if_src(send)
            print("sent")
            net.if_dst(lambda pipe: ttl.copy(pipe, blk).wait())

    return read


def where_the_role_is_asked_for(a, dfb, net):
    def read():
        is_received = net.is_dst()
        with dfb.reserve() as blk:

            def send(pipe):
                ttl.copy(a[0, 0], blk).wait()
                ttl.copy(blk, pipe).wait()

            net.if_src(send)
            net.if_dst(lambda pipe: ttl.copy(pipe, blk).wait())
        if is_received:
            print("received")

    return read


@pytest.mark.rule("pipe-own-block")
@pytest.mark.parametrize(
    "body", [under_another_name, after_something_else, where_the_role_is_asked_for]
)
def test_otherwise_it_is_a_deadlock(body):
    operation = spreading((2, 1), to_rows(2, 1), body)
    refused(operation, tensor(numbers(32, 96)), empty(32, 192), slug="deadlock")


@pytest.mark.rule("pipe-own-block")
@pytest.mark.parametrize(
    "pipes",
    [
        to_rows(3, 1, source=1),
        [ttl.Pipe(src=(column, 0), dst=(slice(0, 3), 0)) for column in (0, 2)],
    ],
    ids=["in the middle", "several sources"],
)
def test_ranges_that_cannot_do_without_the_source(pipes):
    operation = spreading((3, 1), pipes, receiving_by_a_lambda)
    refused(operation, tensor(numbers(32, 96)), empty(32, 288), slug="deadlock")
