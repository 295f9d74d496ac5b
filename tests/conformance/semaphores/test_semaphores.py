"""Semaphores: the specification's barriers, and every rule."""

from __future__ import annotations

import pytest

import ttl
from conformance.harness import empty, refused, run, tensor, tile_numbers, tiles


def handing_over(grid, publish, wait_for, **semaphore):
    """Node 0 writes 5 to y[0, 0]; every other node copies that to its own tile after a barrier."""

    @ttl.operation(grid=grid)
    def operation(a, y):
        node_num = ttl.node(dims=1)
        my_barrier = ttl.Semaphore(**semaphore)
        all_barrier = my_barrier.get_remote_multicast()
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        def move(source, destination):
            with dfb.reserve() as blk:
                ttl.copy(source, blk).wait()
            with dfb.wait() as blk:
                ttl.copy(blk, destination).wait()

        @ttl.datamovement()
        def dm():
            if node_num == 0:
                # do something on node 0 while non-0 nodes wait...
                move(a[0, 0], y[0, 0])
                publish(my_barrier, all_barrier)
            else:
                wait_for(my_barrier)
                # node 0 is done
                move(y[0, 0], y[0, node_num])

    return operation


@pytest.mark.rule("semaphore-multicast-set", "semaphore-wait-eq", "semaphore-operation-scope")
@pytest.mark.parametrize("grid", [(4, 1), (2, 3), (2, 2, 2)])
def test_one_to_many_barrier(grid):
    """The specification's example."""
    operation = handing_over(
        grid, lambda mine, everyone: everyone.set(1), lambda mine: mine.wait_eq(1)
    )
    count = 4 if grid == (4, 1) else 6 if grid == (2, 3) else 8
    run(operation, tensor(tiles(5)), y := empty(32, 32 * count))
    assert tile_numbers(y) == [5] * count


@pytest.mark.rule("semaphore-wait-ge")
@pytest.mark.parametrize("value", [4, 9])
def test_wait_ge_is_content_with_the_value_and_with_more(value):
    operation = handing_over(
        (3, 1), lambda mine, everyone: everyone.set(value), lambda mine: mine.wait_ge(4)
    )
    run(operation, tensor(tiles(5)), y := empty(32, 96))
    assert tile_numbers(y) == [5, 5, 5]


@pytest.mark.rule("semaphore-wait-eq")
@pytest.mark.parametrize("value", [3, 5])
def test_wait_eq_is_not_content_with_another_value(value):
    operation = handing_over(
        (2, 1), lambda mine, everyone: everyone.set(value), lambda mine: mine.wait_eq(4)
    )
    text = refused(operation, tensor(tiles(5)), empty(32, 64), slug="deadlock")
    assert "my_barrier" in text


@pytest.mark.rule("semaphore-wait-ge")
def test_wait_ge_is_not_content_with_less():
    operation = handing_over(
        (2, 1), lambda mine, everyone: everyone.set(3), lambda mine: mine.wait_ge(4)
    )
    refused(operation, tensor(tiles(5)), empty(32, 64), slug="deadlock")


@ttl.operation(grid=(2, 3))
def many_to_one(a, y):
    """The specification's example: node 0 waits until all others have written."""
    node_num = ttl.node(dims=1)
    my_barrier = ttl.Semaphore()
    node_0_barrier = my_barrier.get_remote((0, 0))
    non_0_node_count = ttl.grid_size(dims=1) - 1
    dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

    def move(source, destination):
        with dfb.reserve() as blk:
            ttl.copy(source, blk).wait()
        with dfb.wait() as blk:
            ttl.copy(blk, destination).wait()

    @ttl.datamovement()
    def dm():
        if node_num != 0:
            # do something on non-0 nodes while node 0 waits...
            move(a[0, node_num], y[0, node_num])
            node_0_barrier.inc(1)
        else:
            my_barrier.wait_eq(non_0_node_count)
            # non-0 nodes are done
            for node in range(1, non_0_node_count + 1):
                move(y[0, node], y[0, non_0_node_count + node])


@pytest.mark.rule("semaphore-inc", "semaphore-wait-eq", "semaphore-operation-scope")
def test_many_to_one_barrier():
    a = [0, 1, 2, 3, 4, 5]
    y = tensor(tiles(*[0] * 11))
    run(many_to_one, tensor(tiles(*a)), y)
    assert tile_numbers(y) == [0, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5]


def local(body, grid=(1, 1), **semaphore):
    """`body(semaphore)` in a data movement kernel on every node."""

    @ttl.operation(grid=grid)
    def operation(y):
        semaphore_ = ttl.Semaphore(**semaphore)

        @ttl.datamovement()
        def move():
            body(semaphore_)

    return operation


@pytest.mark.rule("semaphore-initial")
def test_the_initial_value_is_zero_or_what_is_given_at_every_launch():
    def count_up(semaphore):
        semaphore.wait_eq(3)
        semaphore.set(4)

    for _ in range(2):
        run(local(count_up, initial=3), empty(32, 32))
    run(local(lambda semaphore: semaphore.wait_eq(0)), empty(32, 32))
    refused(local(lambda semaphore: semaphore.wait_eq(1)), empty(32, 32), slug="deadlock")
    refused(
        local(lambda semaphore: semaphore.wait_eq(2), initial=3), empty(32, 32), slug="deadlock"
    )


@pytest.mark.rule("semaphore-initial", "semaphore-32-bit")
@pytest.mark.parametrize("initial", [-1, 2**32, 1.5, "1"])
def test_values_are_32_bit_naturals(initial):
    refused(local(lambda semaphore: None, initial=initial), empty(32, 32), slug="wrong-argument")


@pytest.mark.rule("semaphore-32-bit")
def test_increments_wrap_at_32_bits():
    def body(semaphore):
        semaphore.set(2**32 - 1)
        semaphore.get_remote((0, 0)).inc(3)
        semaphore.wait_eq(2)

    run(local(body), empty(32, 32))


@pytest.mark.rule("semaphore-set")
def test_set_changes_the_local_value_only():
    def body(semaphore):
        if ttl.node(1) == 0:
            semaphore.set(1)
        semaphore.wait_eq(1 if ttl.node(1) == 0 else 0)

    run(local(body, grid=(3, 1)), empty(32, 32))


@pytest.mark.rule("semaphore-unicast-set")
def test_a_remote_set_changes_one_node():
    def body(semaphore):
        if ttl.node() == (0, 0):
            semaphore.get_remote((1, 2)).set(7)
        if ttl.node() == (1, 2):
            semaphore.wait_eq(7)
        else:
            semaphore.wait_eq(0)

    run(local(body, grid=(2, 3)), empty(32, 32))


@pytest.mark.rule("semaphore-multicast-set")
def test_a_multicast_set_changes_a_range():
    """Columns 1 and 2 of the upper two rows."""

    def body(semaphore):
        x, y = ttl.node()
        if (x, y) == (0, 0):
            semaphore.get_remote_multicast((slice(1, 3), slice(0, 2))).set(7)
        semaphore.wait_eq(7 if x in (1, 2) and y < 2 else 0)

    run(local(body, grid=(4, 3)), empty(32, 32))


@pytest.mark.rule("semaphore-multicast-set")
def test_a_multicast_semaphore_has_no_inc():
    def body(semaphore):
        semaphore.get_remote_multicast().inc(1)

    with pytest.raises(ttl.TTLError):
        local(body)(empty(32, 32))


@pytest.mark.rule("semaphore-scope")
@pytest.mark.parametrize(
    "call",
    [
        lambda semaphore: semaphore.wait_eq(0),
        lambda semaphore: semaphore.wait_ge(0),
        lambda semaphore: semaphore.set(1),
        lambda semaphore: semaphore.get_remote((0, 0)).set(1),
        lambda semaphore: semaphore.get_remote((0, 0)).inc(1),
        lambda semaphore: semaphore.get_remote_multicast().set(1),
    ],
)
def test_waits_and_changes_are_for_data_movement_kernels(call):
    @ttl.operation(grid=(1, 1))
    def operation(y):
        semaphore = ttl.Semaphore()

        @ttl.compute()
        def compute():
            call(semaphore)

    refused(operation, empty(32, 32), slug="wrong-kernel-kind")

    @ttl.operation(grid=(1, 1))
    def in_the_body(y):
        call(ttl.Semaphore())

    refused(in_the_body, empty(32, 32), slug="outside-operation")


@pytest.mark.rule("semaphore-operation-scope")
def test_semaphores_are_made_in_the_body_of_an_operation():
    def body(semaphore):
        ttl.Semaphore()

    refused(local(body), empty(32, 32), slug="outside-operation")


@pytest.mark.rule("semaphore-inside-grid")
@pytest.mark.parametrize(
    "place",
    [
        lambda semaphore: semaphore.get_remote((2, 0)),
        lambda semaphore: semaphore.get_remote((0, -1)),
        lambda semaphore: semaphore.get_remote_multicast((slice(0, 3), 0)),
    ],
)
def test_remote_nodes_lie_in_the_grid(place):
    refused(local(place, grid=(2, 2)), empty(32, 32), slug="node-outside-grid")
