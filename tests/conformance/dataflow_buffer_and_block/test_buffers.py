"""Dataflow buffers: shapes, blocking, several blocks, order of release, ends, limits."""

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
    warned,
)
from ttl import ttnn


@pytest.mark.rule("buffer-shape-tiled", "block-attributes")
def test_tiled_shapes_count_tiles_in_the_two_innermost_dimensions():
    """The specification: a (2, 128, 32) tensor fits a (2, 4, 1) block."""

    def body(a, y, dfb):
        with dfb.reserve() as blk:
            assert (blk.shape, blk.dtype) == ((2, 4, 1), ttnn.float32)
            assert blk.layout is ttnn.TILE_LAYOUT
            ttl.copy(a[:, :, :], blk).wait()
        with dfb.wait() as blk:
            ttl.copy(blk, y[:, :, :]).wait()

    values = numbers(2, 128, 32)
    run(moving(body, (2, 4, 1)), tensor(values), y := empty(2, 128, 32))
    assert np.array_equal(ttl.to_numpy(y), values)


@pytest.mark.rule("buffer-shape-row-major", "block-attributes")
@pytest.mark.parametrize("shape", [(7,), (2, 5), (2, 128, 32), (2, 3, 2, 5)])
def test_row_major_shapes_count_elements(shape):
    def body(a, y, dfb):
        everything = tuple(slice(None) for _ in shape)
        with dfb.reserve() as blk:
            assert (blk.shape, blk.layout) == (shape, ttnn.ROW_MAJOR_LAYOUT)
            ttl.copy(a[everything], blk).wait()
        with dfb.wait() as blk:
            ttl.copy(blk, y[everything]).wait()

    values = numbers(*shape)
    y = empty(*shape, layout=ttnn.ROW_MAJOR_LAYOUT)
    run(moving(body, shape), tensor(values, layout=ttnn.ROW_MAJOR_LAYOUT), y)
    assert np.array_equal(ttl.to_numpy(y), values)


@pytest.mark.rule("buffer-shape-tiled")
@pytest.mark.parametrize("shape", [(0,), (), (0, 1), (1, -1), (1, 1.0), 0])
def test_a_block_of_tiles_has_one_or_more_positive_sizes(shape):
    refused(moving(lambda a, y, dfb: None, shape), *[empty(32, 32)] * 2, slug="buffer-sizes")


@pytest.mark.rule("block-attributes")
@pytest.mark.parametrize("name", ["shape", "dtype", "layout"])
def test_attributes_of_a_block_are_read_only(name):
    def body(a, y, dfb):
        with dfb.reserve() as blk:
            setattr(blk, name, None)

    refused(moving(body, (1, 1)), *[empty(32, 32)] * 2, slug="wrong-argument")


@pytest.mark.rule("buffer-scope")
def test_buffers_are_made_in_the_body_of_an_operation():
    def body(a, y, dfb):
        ttl.make_dataflow_buffer_like(a, shape=(1, 1))

    refused(moving(body, (1, 1)), *[empty(32, 32)] * 2, slug="outside-operation")
    with pytest.raises(ttl.UsageError) as caught:
        ttl.make_dataflow_buffer_like(empty(32, 32), shape=(1, 1))
    assert caught.value.diagnostics[0].code.slug == "outside-operation"


@pytest.mark.rule("buffer-scope")
@pytest.mark.parametrize("call", ["reserve", "wait"])
def test_acquisition_is_for_kernels(call):
    @ttl.operation(grid=(1, 1))
    def operation(y):
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))
        getattr(y_dfb, call)()

    refused(operation, empty(32, 32), slug="outside-operation")


def relay(read, write, count, tile_count):
    """`read` fills a buffer from a, `write` empties it into y."""

    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=count)

        @ttl.datamovement()
        def reader():
            read(a, dfb, tile_count)

        @ttl.datamovement()
        def writer():
            write(y, dfb, tile_count)

    return operation


def read_with(a, dfb, count):
    for i in range(count):
        with dfb.reserve() as blk:
            ttl.copy(a[0, i], blk).wait()


def write_with(y, dfb, count):
    for i in range(count):
        with dfb.wait() as blk:
            ttl.copy(blk, y[0, i]).wait()


def read_by_hand(a, dfb, count):
    for i in range(count):
        blk = dfb.reserve()
        ttl.copy(a[0, i], blk).wait()
        blk.push()


def write_by_hand(y, dfb, count):
    for i in range(count):
        blk = dfb.wait()
        ttl.copy(blk, y[0, i]).wait()
        blk.pop()


def read_in_pairs(a, dfb, count):
    for i in range(0, count, 2):
        with dfb.reserve() as first, dfb.reserve() as second:
            xf = ttl.copy(a[0, i + 1], second)
            ttl.copy(a[0, i], first).wait()
            xf.wait()


def write_in_pairs(y, dfb, count):
    for i in range(0, count, 2):
        first, second = dfb.wait(), dfb.wait()
        ttl.copy(second, y[0, i + 1]).wait()
        ttl.copy(first, y[0, i]).wait()
        first.pop()
        second.pop()


@pytest.mark.rule("acquire-blocks", "with-release", "release-by-hand", "several-blocks")
@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("read", [read_with, read_by_hand, read_in_pairs])
@pytest.mark.parametrize("write", [write_with, write_by_hand, write_in_pairs])
def test_blocks_arrive_in_order_however_they_are_acquired(read, write, count):
    values = [3, 1, 4, 1, 5, 9]
    run(relay(read, write, count, 6), tensor(tiles(*values)), y := empty(32, 192))
    assert tile_numbers(y) == values


@pytest.mark.rule("acquire-blocks")
def test_reserve_waits_for_space_and_wait_for_data():
    """More reserves than space, more waits than data: a deadlock, not garbage."""

    def read(a, dfb, count):
        for _ in range(3):
            with dfb.reserve() as blk:
                ttl.copy(a[0, 0], blk).wait()

    slug, tensors = "deadlock", (tensor(tiles(1)), empty(32, 32))
    text = refused(relay(read, lambda *_: None, 2, 1), *tensors, slug=slug)
    assert "dfb.reserve()" in text
    text = refused(relay(lambda *_: None, write_with, 2, 1), *tensors, slug=slug)
    assert "dfb.wait()" in text


@pytest.mark.rule("acquire-blocks", "push-pop-do-not-wait")
def test_push_and_pop_do_not_wait():
    """One kernel does all of it, alone: a push that waited for a consumer would never return."""

    def body(a, y, dfb):
        for i in range(3):
            blk = dfb.reserve()
            ttl.copy(a[0, i], blk).wait()
            blk.push()
            blk = dfb.wait()
            ttl.copy(blk, y[0, i]).wait()
            blk.pop()

    run(moving(body, (1, 1), count=1), tensor(tiles(1, 2, 3)), y := empty(32, 96))
    assert tile_numbers(y) == [1, 2, 3]


@pytest.mark.unwatched("it counts how often the body runs")
@pytest.mark.rule("block-count-default")
def test_two_blocks_are_the_default():
    sizes = []

    @ttl.operation(grid=(1, 1))
    def operation(y):
        dfb = ttl.make_dataflow_buffer_like(y, shape=(2, 1))
        sizes.append((dfb.block_count, dfb.size_bytes))

        @ttl.datamovement()
        def move():
            pass

    operation(empty(64, 32, dtype=ttnn.bfloat16))
    assert sizes == [(2, 2 * 2 * 2048)]


@pytest.mark.rule("several-blocks")
def test_more_blocks_than_block_count_cannot_be_held():
    def read(a, dfb, count):
        with dfb.reserve() as one, dfb.reserve() as two, dfb.reserve() as three:
            for blk in (one, two, three):
                ttl.copy(a[0, 0], blk).wait()

    refused(relay(read, write_with, 2, 3), tensor(tiles(1)), empty(32, 96), slug="deadlock")


@pytest.mark.rule("release-order")
def test_a_younger_block_is_not_pushed_before_an_older_one():
    def read(a, dfb, count):
        older, younger = dfb.reserve(), dfb.reserve()
        ttl.copy(a[0, 0], older).wait()
        ttl.copy(a[0, 1], younger).wait()
        younger.push()
        older.push()

    a, y = tensor(tiles(1, 2)), empty(32, 64)
    refused(relay(read, write_with, 2, 2), a, y, slug="release-order")


def write_in_pairs(y, dfb, count):
    for i in range(0, count, 2):
        older, younger = dfb.wait(), dfb.wait()
        ttl.copy(older, y[0, i]).wait()
        ttl.copy(younger, y[0, i + 1]).wait()
        younger.pop()
        older.pop()


def write_after_the_first(y, dfb, count):
    with dfb.wait() as first:
        ttl.copy(first, y[0, 0]).wait()
        for i in range(1, count):
            with dfb.wait() as block:
                ttl.copy(block, y[0, i]).wait()


@pytest.mark.rule("release-order")
@pytest.mark.parametrize("write", [write_in_pairs, write_after_the_first])
def test_a_younger_block_may_be_popped_where_the_older_is_not_used_any_more(write):
    y = empty(32, 128)
    text = warned(
        relay(read_with, write, 4, 4), tensor(tiles(1, 2, 3, 4)), y, slug="popped-for-older"
    )
    assert "is popped while an older one is held, which is gone instead" in text
    assert tile_numbers(y) == [1, 2, 3, 4]


@pytest.mark.rule("release-order")
def test_a_block_that_is_gone_with_a_younger_one_is_not_used():
    def write(y, dfb, count):
        older, younger = dfb.wait(), dfb.wait()
        ttl.copy(younger, y[0, 1]).wait()
        younger.pop()
        ttl.copy(older, y[0, 0]).wait()
        older.pop()

    a, y = tensor(tiles(1, 2)), empty(32, 64)
    refused(relay(read_with, write, 2, 2), a, y, slug="block-state")


@pytest.mark.rule("release-order")
def test_a_block_is_not_gone_while_a_transfer_reads_it():
    def write(y, dfb, count):
        older, younger = dfb.wait(), dfb.wait()
        tx = ttl.copy(older, y[0, 0])
        ttl.copy(younger, y[0, 1]).wait()
        younger.pop()
        tx.wait()
        older.pop()

    a, y = tensor(tiles(1, 2)), empty(32, 64)
    refused(relay(read_with, write, 2, 2), a, y, slug="release-order")


@pytest.mark.rule("release-order")
def test_a_with_inside_the_with_of_an_older_block_ends_too_early():
    def read(a, dfb, count):
        with dfb.reserve() as older:
            ttl.copy(a[0, 0], older).wait()
            with dfb.reserve() as younger:
                ttl.copy(a[0, 1], younger).wait()

    refused(relay(read, write_with, 2, 2), tensor(tiles(1, 2)), empty(32, 64), slug="release-order")


@pytest.mark.rule("one-producer-one-consumer")
@pytest.mark.parametrize("end", ["reserve", "wait"])
def test_two_kernels_at_one_end_are_refused(end):
    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def one():
            read_with(a, dfb, 1)
            if end == "wait":
                write_with(y, dfb, 1)

        @ttl.datamovement()
        def other():
            if end == "reserve":
                read_with(a, dfb, 1)
            write_with(y, dfb, 1)

    text = refused(operation, tensor(tiles(1)), empty(32, 32), slug="buffer-ends")
    assert "`one`" in text and "dfb" in text


@pytest.mark.rule("one-producer-one-consumer")
def test_a_compute_kernel_may_be_producer_and_consumer():
    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        own_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def read():
            read_with(a, a_dfb, 1)

        @ttl.compute()
        def compute():
            with a_dfb.wait() as a_blk, own_dfb.reserve() as own:
                own.store(a_blk * 3)
            with own_dfb.wait() as own, y_dfb.reserve() as y_blk:
                y_blk.store(own + own)

        @ttl.datamovement()
        def write():
            write_with(y, y_dfb, 1)

    run(operation, tensor(tiles(7)), y := empty(32, 32))
    assert tile_numbers(y) == [42]


@pytest.mark.rule("end-of-operation")
def test_data_left_in_a_buffer_is_a_warning():
    text = warned(
        relay(read_with, lambda *_: None, 2, 2),
        tensor(tiles(1, 2)),
        empty(32, 64),
        slug="buffer-leftover",
    )
    assert "2 blocks are left in `dfb`" in text


@pytest.mark.rule("end-of-operation")
def test_the_next_call_starts_with_empty_buffers():
    """Were a block of the first call left, the second would get it."""

    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def read():
            read_with(a, dfb, 2)

        @ttl.datamovement()
        def write():
            write_with(y, dfb, 1)

    for first in (1, 3, 5):
        run(operation, tensor(tiles(first, first + 1)), y := empty(32, 32))
        assert tile_numbers(y) == [first]


@pytest.mark.rule("end-of-operation")
def test_a_sender_may_leave_the_block_that_it_sent():
    """As pipe programs are often written: the staged block is pushed and never popped."""

    @ttl.operation(grid=(3, 1))
    def operation(a, y):
        staged = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        received = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        net = ttl.PipeNet([ttl.Pipe((0, 0), (slice(1, 3), 0))])

        @ttl.datamovement()
        def move():
            def send(pipe):
                with staged.reserve() as block:
                    ttl.copy(a[0, 0], block).wait()
                    ttl.copy(block, pipe).wait()

            def receive(pipe):
                with received.reserve() as block:
                    ttl.copy(pipe, block).wait()

            net.if_src(send)
            net.if_dst(receive)

        @ttl.datamovement()
        def write():
            x, _ = ttl.node(dims=2)
            if x > 0:
                with received.wait() as block:
                    ttl.copy(block, y[0, x - 1]).wait()

    text = warned(operation, tensor(tiles(7)), y := empty(32, 64), slug="buffer-leftover")
    assert "1 block is left in `staged`" in text
    assert tile_numbers(y) == [7, 7]


def holding(count, shape, block_count=2):
    @ttl.operation(grid=(1, 1))
    def operation(y):
        for _ in range(count):
            ttl.make_dataflow_buffer_like(y, shape=shape, block_count=block_count)

        @ttl.datamovement()
        def move():
            pass

    return operation


@pytest.mark.rule("buffer-limit")
def test_a_node_has_32_buffers():
    run(holding(32, (1, 1)), empty(32, 32))
    text = refused(holding(33, (1, 1)), empty(32, 32), slug="too-many-buffers")
    assert "33 dataflow buffers" in text
    assert all(f"dataflow_buffer_{index} " in text for index in range(33)), "the table"


@pytest.mark.rule("l1-budget")
@pytest.mark.parametrize(
    ("dtype", "layout", "unit_bytes"),
    [
        (ttnn.bfloat16, ttnn.TILE_LAYOUT, 2048),
        (ttnn.float32, ttnn.TILE_LAYOUT, 4096),
        (ttnn.bfloat8_b, ttnn.TILE_LAYOUT, 1088),
        (ttnn.bfloat4_b, ttnn.TILE_LAYOUT, 576),
        (ttnn.uint16, ttnn.ROW_MAJOR_LAYOUT, 2),
    ],
)
def test_buffers_fit_in_1432_kilobytes(dtype, layout, unit_bytes):
    """Size: shape x unit x dtype x block_count."""
    most = 1432 * 1024 // (2 * unit_bytes)
    y = empty(32, 32, dtype=dtype, layout=layout)
    run(holding(1, (1, most)), y)
    text = refused(holding(1, (1, most + 1)), y, slug="l1-budget")
    assert str((most + 1) * 2 * unit_bytes) in text
    refused(holding(2, (1, most)), y, slug="l1-budget")
    refused(holding(1, (1, most), block_count=3), y, slug="l1-budget")
