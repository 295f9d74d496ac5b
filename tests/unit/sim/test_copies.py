"""Copies of all pairs and groups of them."""

from __future__ import annotations

import pytest

import ttl
from ttl import ttnn

DEVICE = ttnn.open_device(device_id=0)


def one_kernel(body, kind="datamovement", shape=(1, 1)):
    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        one = ttl.make_dataflow_buffer_like(a, shape=shape)
        two = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @getattr(ttl, kind)()
        def kernel():
            body(a, y, one, two)

        @ttl.datamovement()
        def take():
            for dfb in (one, two) if getattr(body, "is_good", False) else ():
                with dfb.wait() as block:
                    ttl.copy(block, y[0, 0]).wait()

    return operation


def between_blocks(a, y, one, two):
    with one.reserve() as source, two.reserve() as block:
        ttl.copy(a[0, 0], source).wait()
        ttl.copy(source, block).wait()


def grouped(a, y, one, two):
    with one.reserve() as source, two.reserve() as block:
        group = ttl.GroupTransfer()
        group.add(ttl.copy(a[0, 0], source))
        group.add(ttl.copy(a[0, 0], block))
        group.wait_all()


@pytest.mark.parametrize("body", [between_blocks, grouped])
def test_good_copies(simulate, tensor, body) -> None:
    body.is_good = True
    y = ttnn.zeros((32, 32), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    simulate(one_kernel(body), tensor(), y)
    assert ttl.to_numpy(y).tolist() == ttl.to_numpy(tensor()).tolist()


def test_the_source_of_a_block_copy_may_change_afterwards(simulate) -> None:
    def body(a, y, one, two):
        source, block = one.reserve(), two.reserve()
        ttl.copy(a[0, 0], source).wait()
        ttl.copy(source, block).wait()
        ttl.copy(a[0, 1], source).wait()
        ttl.copy(block, y[0, 1]).wait()
        source.push()
        block.push()

    body.is_good = True
    a = ttnn.ones((32, 64), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    y = ttnn.zeros((32, 64), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    simulate(one_kernel(body), a, y)
    assert ttl.to_numpy(y).min() == 1


def add_after_wait_all(a, y, one, two):
    group = ttl.GroupTransfer()
    group.wait_all()
    group.add(ttl.copy(a[0, 0], one.reserve()))


def wait_all_twice(a, y, one, two):
    group = ttl.GroupTransfer()
    group.wait_all()
    group.wait_all()


def wait_for_an_added_one(a, y, one, two):
    group = ttl.GroupTransfer()
    transfer = ttl.copy(a[0, 0], one.reserve())
    group.add(transfer)
    transfer.wait()


def add_twice(a, y, one, two):
    transfer = ttl.copy(a[0, 0], one.reserve())
    ttl.GroupTransfer().add(transfer)
    ttl.GroupTransfer().add(transfer)


def add_a_waited_one(a, y, one, two):
    transfer = ttl.copy(a[0, 0], one.reserve())
    transfer.wait()
    ttl.GroupTransfer().add(transfer)


def add_something_else(a, y, one, two):
    ttl.GroupTransfer().add(one.reserve())


def wait_after_wait_all(a, y, one, two):
    group = ttl.GroupTransfer()
    transfer = ttl.copy(a[0, 0], one.reserve())
    group.add(transfer)
    group.wait_all()
    transfer.wait()


@pytest.mark.parametrize(
    ("body", "code", "marked", "message"),
    [
        (
            add_after_wait_all,
            "transfer-reused",
            "group.add(ttl.copy(a[0, 0], one.reserve()))",
            "add() on a group of transfers that was waited for already",
        ),
        (wait_all_twice, "transfer-reused", "group.wait_all()", "wait_all() on a group"),
        (
            wait_for_an_added_one,
            "transfer-reused",
            "transfer.wait()",
            "this transfer was added to a group",
        ),
        (
            add_twice,
            "transfer-reused",
            "ttl.GroupTransfer().add(transfer)",
            "this transfer was added to a group",
        ),
        (
            add_a_waited_one,
            "transfer-reused",
            "ttl.GroupTransfer().add(transfer)",
            "this transfer was waited for already",
        ),
        (
            add_something_else,
            "wrong-argument",
            "ttl.GroupTransfer().add(one.reserve())",
            "GroupTransfer.add() takes what ttl.copy() returns",
        ),
    ],
)
def test_groups_used_wrongly(report, tensor, body, code, marked, message) -> None:
    found = report(one_kernel(body), tensor(), tensor())
    assert (found.code, found.primary) == (code, marked)
    assert message in found.text


def test_a_wait_after_that_of_the_group(warned, tensor) -> None:
    found = warned(one_kernel(wait_after_wait_all), tensor(), tensor())
    assert (found.code, found.primary) == ("transfer-waited-again", "transfer.wait()")


def test_a_group_that_is_not_waited_for(report, tensor) -> None:
    def body(a, y, one, two):
        kept = [one.reserve(), ttl.GroupTransfer()]
        kept[1].add(ttl.copy(a[0, 0], kept[0]))

    found = report(one_kernel(body), tensor(), tensor())
    assert (found.code, found.primary) == ("transfer-not-waited", "ttl.copy(a[0, 0], kept[0])")


def test_groups_are_for_data_movement_kernels(report, tensor) -> None:
    found = report(one_kernel(lambda *_: ttl.GroupTransfer(), "compute"), tensor(), tensor())
    assert (found.code, found.primary) == ("wrong-kernel-kind", "ttl.GroupTransfer()")
    with pytest.raises(ttl.UsageError, match=r"ttl\.GroupTransfer\(\) works only in a kernel"):
        ttl.GroupTransfer()


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        (lambda a, y, block: (a, block), "not a whole tensor with a block"),
        (lambda a, y, block: (block, y), "not a block with a whole tensor"),
        (lambda a, y, block: (a[0, 0], y[0, 0]), "not a tensor slice with a tensor slice"),
        (lambda a, y, block: (block, 3), "not a block with 3"),
    ],
)
def test_wrong_pairs(report, tensor, ends, message) -> None:
    def body(a, y, one, two):
        block = one.reserve()
        source, destination = ends(a, y, block)
        ttl.copy(source, destination)
        ttl.copy(a[0, 0], block)

    found = report(one_kernel(body), tensor(), tensor())
    assert (found.code, found.primary) == ("wrong-argument", "ttl.copy(source, destination)")
    assert message in found.text
    assert ("slice the tensor, for example" in found.text) == ("whole tensor" in message)


def test_blocks_that_differ(report, tensor) -> None:
    def body(a, y, one, two):
        source, block = one.reserve(), two.reserve()
        ttl.copy(a[0:2, 0:1], source).wait()
        ttl.copy(source, block)

    found = report(one_kernel(body, shape=(2, 1)), tensor(64), tensor())
    assert (found.code, found.primary) == ("shape-mismatch", "ttl.copy(source, block)")
    assert "a copy connects a block of shape (2, 1) with a block of shape (1, 1)" in found.text

    def other_type(a, y, one, two):
        source, block = one.reserve(), two.reserve()
        ttl.copy(a[0, 0], source).wait()
        ttl.copy(source, block)

    found = report(one_kernel(other_type), tensor(), tensor(dtype=ttnn.bfloat16))
    assert found.code == "dtype-mismatch"
    assert "a block of float32 with a block of bfloat16" in found.text


def test_a_block_is_not_copied_onto_itself(report, tensor) -> None:
    def body(a, y, one, two):
        block = one.reserve()
        ttl.copy(a[0, 0], block).wait()
        ttl.copy(block, block)

    found = report(one_kernel(body), tensor(), tensor())
    assert (found.code, found.primary) == ("block-state", "ttl.copy(block, block)")


def test_both_blocks_are_left_alone_until_the_wait(report, tensor) -> None:
    def body(a, y, one, two):
        source, block = one.reserve(), two.reserve()
        ttl.copy(a[0, 0], source).wait()
        kept = [ttl.copy(source, block)]
        ttl.copy(a[0, 0], source)
        kept[0].wait()

    found = report(one_kernel(body), tensor(), tensor())
    assert (found.code, found.primary) == ("block-state", "ttl.copy(a[0, 0], source)")
    assert "ttl.copy(source, block)" in found.marked("-")


def test_a_copy_in_a_compute_kernel(report, tensor) -> None:
    def body(a, y, one, two):
        ttl.copy(one.reserve(), two.reserve())

    found = report(one_kernel(body, "compute"), tensor(), tensor())
    assert found.code == "wrong-kernel-kind"
