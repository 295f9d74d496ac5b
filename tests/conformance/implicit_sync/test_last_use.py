"""Programs that leave out releases and waits, one for each way in which a last use is found.

All of them copy four tiles from a to y, doubled by the compute kernel; buffers have one block where
a release any later than the language says would be a deadlock.
"""
# ruff: noqa: B023, F841, RUF034, SIM108

from __future__ import annotations

from functools import partial

import pytest

import ttl
from conformance.harness import empty, refused, run, tensor, tile_numbers, tiles

COUNT = 4


def program(read=None, compute=None, write=None, blocks=1, grid=(1, 1)):
    read, compute, write = read or read_plainly, compute or compute_plainly, write or write_plainly

    @ttl.operation(grid=grid)
    def operation(a, y):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=blocks)
        t_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=blocks)
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=blocks)

        @ttl.datamovement()
        def reader():
            read(a, a_dfb)

        @ttl.compute()
        def computer():
            compute(a_dfb, t_dfb, y_dfb)

        @ttl.datamovement()
        def writer():
            write(y, y_dfb)

    return operation


def check(*functions, expected=(10, 12, 14, 16), **options):
    operation = program(*functions, **options)
    run(operation, tensor(tiles(5, 6, 7, 8)), y := empty(32, 128))
    assert tile_numbers(y) == [*expected]


def read_plainly(a, a_dfb):
    for i in range(COUNT):
        with a_dfb.reserve() as blk:
            ttl.copy(a[0, i], blk).wait()


def compute_plainly(a_dfb, t_dfb, y_dfb):
    for _ in range(COUNT):
        with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
            y_blk.store(a_blk + a_blk)


def write_plainly(y, y_dfb):
    for i in range(COUNT):
        with y_dfb.wait() as blk:
            ttl.copy(blk, y[0, i]).wait()


# Compute kernels ----------------------------------------------------------------------------------


def compute_through_own_buffer(a_dfb, t_dfb, y_dfb):
    """What deadlocks if t is pushed at the end of the body."""
    for _ in range(COUNT):
        a_blk = a_dfb.wait()
        t = t_dfb.reserve()
        t.store(a_blk + a_blk)
        b = t_dfb.wait()
        y_blk = y_dfb.reserve()
        y_blk.store(b)


def compute_without_names(a_dfb, t_dfb, y_dfb):
    for _ in range(COUNT):
        t_dfb.reserve().store(a_dfb.wait() * 2)
        y_dfb.reserve().store(t_dfb.wait() + 0)


def compute_with_alias(a_dfb, t_dfb, y_dfb):
    for _ in range(COUNT):
        t = t_dfb.reserve()
        other = t
        a_blk = a_dfb.wait()
        other.store(a_blk * 2)
        b = t_dfb.wait()
        c = b
        y_dfb.reserve().store(c)


def compute_outside_of_the_loop(a_dfb, t_dfb, y_dfb):
    """Acquired outside of the loop, used in it: released after it."""
    two = t_dfb.reserve()
    two.store(ttl.block.fill(2.0, shape=(1, 1)))
    factor = t_dfb.wait()
    for _ in range(COUNT):
        y_blk = y_dfb.reserve()
        y_blk.store(a_dfb.wait() * factor)


def compute_inner_loop(a_dfb, t_dfb, y_dfb):
    """The use in a later iteration of an inner loop counts."""
    for _ in range(COUNT):
        a_blk = a_dfb.wait()
        y_blk = y_dfb.reserve()
        y_blk.store(ttl.block.fill(0.0, shape=(1, 1)))
        for _ in range(2):
            y_blk += a_blk


def compute_branches(a_dfb, t_dfb, y_dfb):
    for i in range(COUNT):
        a_blk = a_dfb.wait()
        y_blk = y_dfb.reserve()
        if i % 2:
            y_blk.store(a_blk + a_blk)
        else:
            y_blk.store(a_blk * 2)


def double(block, result):
    result.store(block + block)


def compute_by_helper(a_dfb, t_dfb, y_dfb):
    for _ in range(COUNT):
        a_blk = a_dfb.wait()
        y_blk = y_dfb.reserve()
        double(a_blk, y_blk)
        a_blk = None


def taken(dfb):
    block = dfb.wait()
    return block


def compute_returned(a_dfb, t_dfb, y_dfb):
    for _ in range(COUNT):
        a_blk = taken(a_dfb)
        t = t_dfb.reserve()
        t.store(a_blk + a_blk)
        y_dfb.reserve().store(taken(t_dfb))


def compute_by_nested_function(a_dfb, t_dfb, y_dfb):
    for _ in range(COUNT):
        a_blk = a_dfb.wait()

        def add(result):
            result.store(a_blk + a_blk)

        add(y_dfb.reserve())


def compute_popped_on_one_branch(a_dfb, t_dfb, y_dfb):
    for i in range(COUNT):
        a_blk = a_dfb.wait()
        y_blk = y_dfb.reserve()
        y_blk.store(a_blk + a_blk)
        if i % 2:
            a_blk.pop()
        y_blk.push()


@pytest.mark.rule("implicit-release")
@pytest.mark.parametrize(
    "compute",
    [
        compute_through_own_buffer,
        compute_without_names,
        compute_with_alias,
        compute_outside_of_the_loop,
        compute_inner_loop,
        compute_branches,
        compute_by_helper,
        compute_returned,
        compute_by_nested_function,
        compute_popped_on_one_branch,
    ],
)
def test_a_compute_kernel_releases_after_the_last_use(compute):
    check(None, compute)


def compute_carried(a_dfb, t_dfb, y_dfb):
    """Each block is used in the iteration after its own."""
    held = a_dfb.wait()
    for _ in range(COUNT - 1):
        following = a_dfb.wait()
        y_dfb.reserve().store(held + following)
        held = following
    y_dfb.reserve().store(held + held)


def write_carried(y, y_dfb):
    held = y_dfb.wait()
    for i in range(COUNT - 1):
        following = y_dfb.wait()
        ttl.copy(held, y[0, i])
        held = following
    ttl.copy(held, y[0, COUNT - 1])


def sum_by_branches(a_dfb, t_dfb, y_dfb):
    total = None
    for _ in range(COUNT):
        a_blk = a_dfb.wait()
        if total is None:
            total = a_blk
        else:
            total = total + a_blk
    for _ in range(COUNT):
        y_dfb.reserve().store(total)


def sum_by_a_choice(a_dfb, t_dfb, y_dfb):
    total = None
    for _ in range(COUNT):
        a_blk = a_dfb.wait()
        total = a_blk if total is None else total + a_blk
    for _ in range(COUNT):
        y_dfb.reserve().store(total)


@pytest.mark.rule("implicit-release")
@pytest.mark.parametrize("compute", [sum_by_branches, sum_by_a_choice])
def test_a_name_that_is_used_for_its_next_value(compute):
    """Two blocks: the first is held until the second is added to it."""
    check(None, compute, blocks=2, expected=(26, 26, 26, 26))


@pytest.mark.rule("implicit-release")
def test_a_name_that_a_loop_carries():
    check(None, compute_carried, expected=(11, 13, 15, 16), blocks=2)
    check(None, None, write_carried, blocks=2)


def compute_in_a_list(a_dfb, t_dfb, y_dfb):
    for _ in range(COUNT // 2):
        blocks = [a_dfb.wait() for _ in range(2)]
        for block in blocks:
            y_dfb.reserve().store(block + block)


def compute_in_a_tuple(a_dfb, t_dfb, y_dfb):
    for _ in range(COUNT // 2):
        pair = (a_dfb.wait(), a_dfb.wait())
        y_dfb.reserve().store(pair[0] + pair[0])
        _, second = pair
        y_dfb.reserve().store(second + second)


def compute_appended(a_dfb, t_dfb, y_dfb):
    for _ in range(COUNT // 2):
        blocks = []
        for _ in range(2):
            blocks.append(a_dfb.wait())
        for block in blocks:
            y_dfb.reserve().store(block + block)


def compute_younger_first(a_dfb, t_dfb, y_dfb):
    """The younger is used last before the older: it stays until the older is released."""
    for _ in range(COUNT // 2):
        older, younger = a_dfb.wait(), a_dfb.wait()
        t = t_dfb.reserve()
        t.store(younger * 2)
        y_dfb.reserve().store(older * 2)
        y_dfb.reserve().store(t_dfb.wait())


@pytest.mark.rule("implicit-release-order")
@pytest.mark.parametrize(
    "compute", [compute_in_a_list, compute_in_a_tuple, compute_appended, compute_younger_first]
)
def test_several_blocks_are_released_oldest_first(compute):
    check(None, compute, blocks=2)


# Data movement kernels ----------------------------------------------------------------------------


def read_without_a_name(a, a_dfb):
    for i in range(COUNT):
        ttl.copy(a[0, i], a_dfb.reserve())


def read_and_wait_for_the_transfer(a, a_dfb):
    for i in range(COUNT):
        tx = ttl.copy(a[0, i], a_dfb.reserve())
        tx.wait()


def read_and_wait_in_the_statement(a, a_dfb):
    for i in range(COUNT):
        ttl.copy(a[0, i], a_dfb.reserve()).wait()


def read_with_names(a, a_dfb):
    for i in range(COUNT):
        blk = a_dfb.reserve()
        tx = ttl.copy(a[0, i], blk)


def read_with_a_late_wait(a, a_dfb):
    for i in range(COUNT):
        blk = a_dfb.reserve()
        tx = ttl.copy(a[0, i], blk)
        n = i + 1
        tx.wait()


def read_and_push(a, a_dfb):
    """The wait is left out: it comes before the push."""
    for i in range(COUNT):
        blk = a_dfb.reserve()
        tx = ttl.copy(a[0, i], blk)
        blk.push()


def read_in_a_with(a, a_dfb):
    for i in range(COUNT):
        with a_dfb.reserve() as blk:
            tx = ttl.copy(a[0, i], blk)


def read_in_a_group(a, a_dfb):
    for i in range(COUNT):
        group = ttl.GroupTransfer()
        blk = a_dfb.reserve()
        group.add(ttl.copy(a[0, i], blk))


def read_in_a_group_and_wait(a, a_dfb):
    for i in range(COUNT):
        group = ttl.GroupTransfer()
        group.add(ttl.copy(a[0, i], a_dfb.reserve()))
        group.wait_all()


def read_in_a_group_sometimes(a, a_dfb):
    for i in range(COUNT):
        group = ttl.GroupTransfer()
        blk = a_dfb.reserve()
        if i % 2:
            group.add(ttl.copy(a[0, i], blk))
        else:
            ttl.copy(a[0, i], blk)


def read_on_some_paths(a, a_dfb):
    for i in range(COUNT):
        blk = a_dfb.reserve()
        tx = ttl.copy(a[0, i], blk)
        if i % 2:
            tx.wait()
            blk.push()


def read_with_continue(a, a_dfb):
    for i in range(COUNT):
        blk = a_dfb.reserve()
        ttl.copy(a[0, i], blk).wait()
        if i == 2:
            continue
        blk.push()


def read_with_break(a, a_dfb):
    for i in range(9):
        blk = a_dfb.reserve()
        ttl.copy(a[0, i % COUNT], blk)
        if i == COUNT - 1:
            break
        blk.push()


def started(a, i, a_dfb):
    blk = a_dfb.reserve()
    return ttl.copy(a[0, i], blk)


def read_by_a_helper_that_starts(a, a_dfb):
    for i in range(COUNT):
        tx = started(a, i, a_dfb)
        tx.wait()


def fill(a, i, blk):
    tx = ttl.copy(a[0, i], blk)


def read_by_a_helper_that_fills(a, a_dfb):
    for i in range(COUNT):
        fill(a, i, a_dfb.reserve())


def read_and_return(a, a_dfb):
    def one(i):
        blk = a_dfb.reserve()
        tx = ttl.copy(a[0, i], blk)
        if i % 2:
            return i
        tx.wait()
        return i + 1

    for i in range(COUNT):
        one(i)


def read_conditionally(a, a_dfb):
    for i in range(2 * COUNT):
        if i % 2:
            blk = a_dfb.reserve()
        if i % 2:
            ttl.copy(a[0, i // 2], blk)


def read_either(a, a_dfb):
    for i in range(COUNT):
        blk = a_dfb.reserve() if i % 2 else a_dfb.reserve()
        tx = ttl.copy(a[0, i], blk)


def read_and_wait_sometimes_in_a_with(a, a_dfb):
    for i in range(COUNT):
        with a_dfb.reserve() as blk:
            tx = ttl.copy(a[0, i], blk)
            if i:
                tx.wait()


@pytest.mark.rule("implicit-wait")
@pytest.mark.parametrize(
    "read",
    [
        read_without_a_name,
        read_and_wait_for_the_transfer,
        read_and_wait_in_the_statement,
        read_with_names,
        read_with_a_late_wait,
        read_and_push,
        read_in_a_with,
        read_in_a_group,
        read_in_a_group_and_wait,
        read_in_a_group_sometimes,
        read_by_a_helper_that_starts,
        read_by_a_helper_that_fills,
        read_and_return,
        read_conditionally,
        read_either,
        read_and_wait_sometimes_in_a_with,
    ],
)
def test_a_reader_waits_and_pushes_after_the_last_use(read):
    check(read)


@pytest.mark.rule("some-paths")
@pytest.mark.parametrize("read", [read_on_some_paths, read_with_continue, read_with_break])
def test_a_path_that_does_not_release_itself_gets_it(read):
    check(read)


def write_without_a_name(y, y_dfb):
    for i in range(COUNT):
        ttl.copy(y_dfb.wait(), y[0, i])


def write_with_names(y, y_dfb):
    for i in range(COUNT):
        blk = y_dfb.wait()
        tx = ttl.copy(blk, y[0, i])


def write_twice(y, y_dfb):
    """Two reads of a block are under way at once; what was written is read after its wait."""
    for i in range(COUNT):
        blk = y_dfb.wait()
        one = ttl.copy(blk, y[0, COUNT - 1 - i])
        two = ttl.copy(blk, y[0, i])


def write_popped_by_a_helper(y, y_dfb):
    for i in range(COUNT):
        blk = y_dfb.wait()
        tx = ttl.copy(blk, y[0, i])
        finish(tx)
        give_back(blk, i)


def finish(tx):
    tx.wait()


def give_back(blk, i):
    if i % 2:
        blk.pop()


@pytest.mark.rule("implicit-wait")
@pytest.mark.parametrize("write", [write_without_a_name, write_with_names, write_twice])
def test_a_writer_waits_and_pops_after_the_last_use(write):
    if write is write_twice:
        check(None, None, write, expected=(16, 14, 14, 16))
    else:
        check(None, None, write)


@pytest.mark.rule("some-paths")
def test_a_helper_that_releases_on_some_paths():
    check(None, None, write_popped_by_a_helper)


@pytest.mark.rule("implicit-wait")
def test_all_three_kernels_leave_out_everything():
    check(read_without_a_name, compute_without_names, write_without_a_name)


@pytest.mark.rule("implicit-wait")
def test_what_was_written_is_read_after_its_transfer():
    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

        @ttl.datamovement()
        def both():
            first, second = dfb.reserve(), dfb.reserve()
            load = ttl.copy(a[0, 0], first)
            save = ttl.copy(first, y[0, 0])
            again = ttl.copy(y[0, 0], second)
            last = ttl.copy(second, y[0, 1])

        @ttl.compute()
        def drop():
            for _ in range(2):
                block = dfb.wait()
                _ = block + block

    run(operation, tensor(tiles(5)), y := empty(32, 64))
    assert tile_numbers(y) == [5, 5]


# Pipes --------------------------------------------------------------------------------------------


@pytest.mark.rule("implicit-wait")
def test_callbacks_of_pipes():
    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

        @ttl.datamovement()
        def move():
            blk = dfb.reserve()

            def send(pipe):
                tx = ttl.copy(a[0, 0], blk)
                ttl.copy(blk, pipe)

            def receive(pipe):
                rx = ttl.copy(pipe, blk)

            net.if_src(send)
            net.if_dst(receive)

        @ttl.datamovement()
        def write():
            ttl.copy(dfb.wait(), y[0, ttl.node(1)])

    run(operation, tensor(tiles(5)), y := empty(32, 64))
    assert tile_numbers(y) == [5, 5]


@pytest.mark.rule("implicit-wait")
def test_a_transfer_that_leaves_a_callback():
    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

        @ttl.datamovement()
        def move():
            blk = dfb.reserve()
            handle = None

            def send(pipe):
                nonlocal handle
                ttl.copy(a[0, 0], blk)
                handle = ttl.copy(blk, pipe)

            def receive(pipe):
                nonlocal handle
                handle = ttl.copy(pipe, blk)

            net.if_src(send)
            net.if_dst(receive)

        @ttl.datamovement()
        def write():
            ttl.copy(dfb.wait(), y[0, ttl.node(1)])

    run(operation, tensor(tiles(5)), y := empty(32, 64))
    assert tile_numbers(y) == [5, 5]


@pytest.mark.rule("implicit-wait")
def test_lambdas_as_callbacks_of_pipes():
    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

        @ttl.datamovement()
        def move():
            blk = dfb.reserve()
            if net.is_src():
                ttl.copy(a[0, 0], blk)
            net.if_src(lambda pipe: ttl.copy(blk, pipe))
            net.if_dst(lambda pipe: ttl.copy(pipe, blk))

        @ttl.datamovement()
        def write():
            ttl.copy(dfb.wait(), y[0, ttl.node(1)])

    run(operation, tensor(tiles(5)), y := empty(32, 64))
    assert tile_numbers(y) == [5, 5]


# What stays an error ------------------------------------------------------------------------------


@pytest.mark.rule("implicit-wait")
def test_a_wait_after_the_push_is_not_left_out():
    def read(a, a_dfb):
        for i in range(COUNT):
            blk = a_dfb.reserve()
            tx = ttl.copy(a[0, i], blk)
            blk.push()
            tx.wait()

    refused(program(read), tensor(tiles(5, 6, 7, 8)), empty(32, 128), slug="block-state")


# The end of a `with` ------------------------------------------------------------------------------


def compute_and_release_in_with(a_dfb, t_dfb, y_dfb):
    for i in range(COUNT):
        with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
            y_blk.store(a_blk + a_blk)
            if i == 1:
                y_blk.push()
            a_blk.pop()


@pytest.mark.rule("some-paths")
def test_the_end_of_a_with_releases_what_is_not_released():
    check(None, compute_and_release_in_with)


# Functions of the same name -----------------------------------------------------------------------


@ttl.operation(grid=(2, 1))
def there_and_back(a, y):
    sent_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=1)
    back_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=1)
    there_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=1)
    there = ttl.PipeNet([ttl.Pipe((1, 0), (0, 0))])
    back = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])

    @ttl.datamovement()
    def move():
        x, _ = ttl.node(dims=2)
        for _ in range(COUNT):
            if x > 0:
                blk = sent_dfb.wait()

                def send(pipe):
                    ttl.copy(blk, pipe).wait()

                there.if_src(send)

                def receive(pipe):
                    received = back_dfb.reserve()
                    ttl.copy(pipe, received).wait()

                back.if_dst(receive)
            else:

                def receive(pipe):
                    received = there_dfb.reserve()
                    ttl.copy(pipe, received).wait()

                there.if_dst(receive)
                blk = there_dfb.wait()

                def send(pipe):
                    ttl.copy(blk, pipe).wait()

                back.if_src(send)

    @ttl.datamovement()
    def outside():
        x, _ = ttl.node(dims=2)
        if x > 0:
            for i in range(COUNT):
                sent = sent_dfb.reserve()
                ttl.copy(a[0, i], sent)
                sent.push()
                found = back_dfb.wait()
                ttl.copy(found, y[0, i])


@pytest.mark.rule("implicit-release")
def test_branches_define_functions_of_the_same_name():
    run(there_and_back, tensor(tiles(5, 6, 7, 8)), y := empty(32, 128))
    assert tile_numbers(y) == [5, 6, 7, 8]


# Names that may have the block, or something else -------------------------------------------------


def compute_and_maybe_keep(a_dfb, t_dfb, y_dfb):
    for i in range(COUNT):
        x = a_dfb.wait()
        x = x * 2 if i % 2 == 0 else x
        y_dfb.reserve().store(x)


def scaled(x, factor):
    if factor == 1:
        return x
    return x * factor


def compute_with_what_a_helper_may_return(a_dfb, t_dfb, y_dfb):
    for i in range(COUNT):
        x = scaled(a_dfb.wait(), 2 - i % 2)
        y_dfb.reserve().store(x)


@pytest.mark.rule("implicit-release")
@pytest.mark.parametrize("compute", [compute_and_maybe_keep, compute_with_what_a_helper_may_return])
def test_a_name_that_may_have_the_block_holds_it(compute):
    check(None, compute, expected=(10, 6, 14, 8))


# Flags that somebody else sets --------------------------------------------------------------------


def compute_by_the_flag_of_a_callback(a_dfb, t_dfb, y_dfb):
    for i in range(COUNT):
        is_even = False

        def look(i=i):
            nonlocal is_even
            is_even = i % 2 == 0

        look()
        v = a_dfb.wait()
        y = y_dfb.reserve()
        if is_even:
            y.store(v + v)
            v.pop()
        else:
            y.store(v + v)


@pytest.mark.rule("implicit-release")
def test_a_flag_that_a_function_inside_sets():
    check(None, compute_by_the_flag_of_a_callback)


# Callables that do not keep a block ---------------------------------------------------------------


class Doubling:
    @staticmethod
    def static(v):
        return v + v

    def method(self, v):
        return v + v


def times(factor, v):
    return v * factor


added = lambda v: v + v  # noqa: E731
TABLE = {"added": added}
OBJECT = Doubling()
TWICE = partial(times, 2)


def compute_with_a_lambda(a_dfb, t_dfb, y_dfb):
    for _ in range(COUNT):
        v = a_dfb.wait()
        y_dfb.reserve().store(added(v))


def compute_with_an_item(a_dfb, t_dfb, y_dfb):
    for _ in range(COUNT):
        v = a_dfb.wait()
        y_dfb.reserve().store(TABLE["added"](v))


def compute_with_a_static_method(a_dfb, t_dfb, y_dfb):
    for _ in range(COUNT):
        v = a_dfb.wait()
        y_dfb.reserve().store(Doubling.static(v))


def compute_with_a_method(a_dfb, t_dfb, y_dfb):
    for _ in range(COUNT):
        v = a_dfb.wait()
        y_dfb.reserve().store(OBJECT.method(v))


def compute_with_a_partial(a_dfb, t_dfb, y_dfb):
    for _ in range(COUNT):
        v = a_dfb.wait()
        y_dfb.reserve().store(TWICE(v))


def compute_with_an_inline_lambda(a_dfb, t_dfb, y_dfb):
    for _ in range(COUNT):
        v = a_dfb.wait()
        y_dfb.reserve().store((lambda u: u + u)(v))


@pytest.mark.rule("implicit-release")
@pytest.mark.parametrize(
    "compute",
    [
        compute_with_a_lambda,
        compute_with_an_item,
        compute_with_a_static_method,
        compute_with_a_method,
        compute_with_a_partial,
        compute_with_an_inline_lambda,
    ],
)
def test_callables_that_do_not_keep_their_arguments(compute):
    check(None, compute)


# A buffer that pops what a helper has acquired ----------------------------------------------------


def compute_and_pop_what_a_helper_took(a_dfb, t_dfb, y_dfb):
    for _ in range(COUNT):
        v = taken(a_dfb)
        y_dfb.reserve().store(v + v)
        a_dfb.pop()


@pytest.mark.rule("implicit-release")
def test_a_buffer_pops_what_a_helper_acquired():
    check(None, compute_and_pop_what_a_helper_took)


@pytest.mark.rule("implicit-release")
def test_a_buffer_pops_what_a_closure_acquired():
    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=1)

        def take():
            return dfb.wait()

        @ttl.datamovement()
        def read():
            read_plainly(a, dfb)

        @ttl.datamovement()
        def write():
            for i in range(COUNT):
                blk = take()
                ttl.copy(blk, y[0, i])
                dfb.pop()

    run(operation, tensor(tiles(5, 6, 7, 8)), y := empty(32, 128))
    assert tile_numbers(y) == [5, 6, 7, 8]


# Blocks of a group --------------------------------------------------------------------------------


def write_in_a_group(y, y_dfb):
    group = ttl.GroupTransfer()
    for i in range(COUNT):
        group.add(ttl.copy(y_dfb.wait(), y[0, i]))
    group.wait_all()


def write_in_a_list(y, y_dfb):
    transfers = []
    for i in range(COUNT):
        transfers.append(ttl.copy(y_dfb.wait(), y[0, i]))
    for tx in transfers:
        tx.wait()


@pytest.mark.rule("implicit-release")
@pytest.mark.parametrize("write", [write_in_a_group, write_in_a_list])
def test_blocks_whose_transfers_are_waited_for_together(write):
    check(None, None, write, blocks=COUNT)
