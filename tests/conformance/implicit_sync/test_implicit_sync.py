"""Releases and waits that a program leaves out."""

from __future__ import annotations

import pytest

import ttl
from conformance.harness import empty, run, tensor, tile_numbers, tiles


def program(read, write, count=2):
    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=count)

        @ttl.datamovement()
        def reader():
            read(a, dfb)

        @ttl.datamovement()
        def writer():
            write(y, dfb)

    return operation


def read_explicitly(a, dfb):
    for i in range(4):
        with dfb.reserve() as blk:
            ttl.copy(a[0, i], blk).wait()


def write_explicitly(y, dfb):
    for i in range(4):
        with dfb.wait() as blk:
            ttl.copy(blk, y[0, i]).wait()


def read_without_release(a, dfb):
    for i in range(4):
        blk = dfb.reserve()
        ttl.copy(a[0, i], blk).wait()


def write_without_release(y, dfb):
    for i in range(4):
        blk = dfb.wait()
        ttl.copy(blk, y[0, i]).wait()


def read_two_without_release(a, dfb):
    for i in range(0, 4, 2):
        older = dfb.reserve()
        younger = dfb.reserve()
        ttl.copy(a[0, i + 1], younger).wait()
        ttl.copy(a[0, i], older).wait()


def read_without_wait(a, dfb):
    for i in range(4):
        blk = dfb.reserve()
        xf = ttl.copy(a[0, i], blk)
        assert xf is not None


def read_bare(a, dfb):
    for i in range(4):
        blk = dfb.reserve()
        ttl.copy(a[0, 3 - i], blk)
        with_it = dfb.name  # the transfer is complete here: the block may be copied again
        assert with_it


def write_bare(y, dfb):
    for i in range(4):
        blk = dfb.wait()
        ttl.copy(blk, y[0, i])


def read_one(a, i, dfb):
    """Released in this function, not in the loop that calls it."""
    blk = dfb.reserve()
    ttl.copy(a[0, i], blk).wait()


def read_by_helper(a, dfb):
    for i in range(4):
        read_one(a, i, dfb)


@pytest.mark.rule("implicit-release")
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("read", [read_without_release, read_by_helper, read_explicitly])
@pytest.mark.parametrize("write", [write_without_release, write_explicitly])
def test_a_block_is_released_in_its_loop_or_function(read, write, count):
    """With one block, a release any later would be a deadlock."""
    run(program(read, write, count), tensor(tiles(5, 6, 7, 8)), y := empty(32, 128))
    assert tile_numbers(y) == [5, 6, 7, 8]


@pytest.mark.rule("implicit-release-order")
def test_blocks_are_released_oldest_first():
    operation = program(read_two_without_release, write_explicitly)
    run(operation, tensor(tiles(5, 6, 7, 8)), y := empty(32, 128))
    assert tile_numbers(y) == [5, 6, 7, 8]


@pytest.mark.rule("implicit-wait")
def test_a_transfer_is_waited_for_before_its_block_is_released():
    operation = program(read_without_wait, write_explicitly)
    run(operation, tensor(tiles(5, 6, 7, 8)), y := empty(32, 128))
    assert tile_numbers(y) == [5, 6, 7, 8]


@pytest.mark.rule("bare-copy")
def test_a_bare_copy_is_waited_for_at_once():
    run(program(read_bare, write_bare), tensor(tiles(5, 6, 7, 8)), y := empty(32, 128))
    assert tile_numbers(y) == [8, 7, 6, 5]


@pytest.mark.rule("bare-copy")
def test_after_a_bare_copy_the_block_may_be_used_in_the_next_line():
    def read(a, dfb):
        for i in range(4):
            blk = dfb.reserve()
            ttl.copy(a[0, i], blk)
            ttl.copy(blk, a[0, i])
            ttl.copy(a[0, 0], blk)

    run(program(read, write_explicitly), tensor(tiles(5, 6, 7, 8)), y := empty(32, 128))
    assert tile_numbers(y) == [5, 5, 5, 5]


def push_sometimes(a, dfb):
    for i in range(4):
        blk = dfb.reserve()
        ttl.copy(a[0, i], blk).wait()
        if i % 2:
            blk.push()


def wait_sometimes(a, dfb):
    for i in range(4):
        blk = dfb.reserve()
        xf = ttl.copy(a[0, i], blk)
        if i % 2:
            xf.wait()


def continue_before_push(a, dfb):
    for i in range(4):
        blk = dfb.reserve()
        ttl.copy(a[0, i], blk).wait()
        if i == 2:
            continue
        blk.push()


@pytest.mark.rule("some-paths")
@pytest.mark.parametrize("read", [push_sometimes, wait_sometimes, continue_before_push])
def test_what_is_done_on_some_paths_is_supplied_on_the_others(read):
    operation = program(read, write_explicitly)
    run(operation, tensor(tiles(1, 2, 3, 4)), y := empty(32, 128))
    assert tile_numbers(y) == [1, 2, 3, 4]


@pytest.mark.rule("strict")
@pytest.mark.parametrize("read", [read_without_release, read_without_wait, read_bare])
def test_strict_makes_every_repair_an_error(read, monkeypatch):
    operation = program(read, write_explicitly)
    arguments = (tensor(tiles(5, 6, 7, 8)), empty(32, 128))
    operation(*arguments)
    monkeypatch.setenv("TTL_STRICT", "1")
    with pytest.raises(ttl.UsageError) as caught:
        operation(*arguments)
    assert caught.value.diagnostics[0].code.slug == "left-out"
    program(read_explicitly, write_explicitly)(*arguments)


@pytest.mark.rule("one-note")
def test_one_note_for_an_operation_says_what_was_supplied(capsys):
    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def reader():
            blk = dfb.reserve()
            ttl.copy(a[0, 0], blk)

        @ttl.datamovement()
        def writer():
            with dfb.wait() as blk:
                ttl.copy(blk, y[0, ttl.node(1)]).wait()

    for _ in range(3):
        operation(tensor(tiles(5)), y := empty(32, 64))
        assert tile_numbers(y) == [5, 5]
    text = capsys.readouterr().err
    assert text.count("note[TTL3010]") == 1
    assert "blk = dfb.reserve()" in text and "ttl.copy(a[0, 0], blk)" in text
