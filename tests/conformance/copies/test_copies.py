"""Copies: what they connect, when data moves, handles, groups, slices."""

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


def through(a_slice, y_slice, shape):
    """Copies one slice of a to one of y through a block of this shape."""

    def body(a, y, dfb):
        with dfb.reserve() as blk:
            ttl.copy(a_slice(a), blk).wait()
        with dfb.wait() as blk:
            ttl.copy(blk, y_slice(y)).wait()

    return moving(body, shape)


SLICES = {
    "indices": (lambda t: t[1, 2, 3], (1, 1), np.s_[1, 64:96, 96:128]),
    "closed": (lambda t: t[0:1, 1:3, 2:4], (2, 2), np.s_[0, 32:96, 64:128]),
    "open": (lambda t: t[1, :, 2:], (4, 2), np.s_[1, :, 64:]),
    "open at the start": (lambda t: t[:1, :2, 3], (2, 1), np.s_[0, :64, 96:]),
    "step of one": (lambda t: t[1, 0:2:1, 0], (2, 1), np.s_[1, :64, :32]),
    "everything": (lambda t: t[:, :, :], (2, 4, 4), np.s_[:]),
    "slice objects": (lambda t: t[slice(0, 2), 0, slice(1, None)], (2, 1, 3), np.s_[:, :32, 32:]),
    "numpy indices": (lambda t: t[np.int64(1), 0, 0], (1, 1), np.s_[1, :32, :32]),
}


@pytest.mark.rule("tensor-slices", "copy-pairs")
@pytest.mark.parametrize("name", SLICES)
def test_slices_count_tiles_in_the_two_innermost_dimensions(name):
    take, shape, elements = SLICES[name]
    values = numbers(2, 128, 128)
    y = tensor(np.zeros_like(values))
    run(through(take, take, shape), tensor(values), y)
    expected = np.zeros_like(values)
    expected[elements] = values[elements]
    assert np.array_equal(ttl.to_numpy(y), expected)


ROW_SLICES = {
    "index and slice": (lambda t: t[1, 2:5], (3,), np.s_[1, 2:5]),
    "open": (lambda t: t[:, 1], (3,), np.s_[:, 1]),
    "part": (lambda t: t[0:2, 3:], (2, 4), np.s_[0:2, 3:]),
}


@pytest.mark.rule("tensor-slices", "row-major-copies")
@pytest.mark.parametrize("name", ROW_SLICES)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "uint8"])
def test_slices_of_row_major_tensors_count_elements(name, dtype):
    take, shape, elements = ROW_SLICES[name]
    values = numbers(3, 7)
    kind = {"dtype": getattr(ttnn, dtype), "layout": ttnn.ROW_MAJOR_LAYOUT}
    y = tensor(np.zeros_like(values), **kind)
    run(through(take, take, shape), tensor(values, **kind), y)
    expected = np.zeros_like(values)
    expected[elements] = values[elements]
    assert np.array_equal(ttl.to_numpy(y).astype(np.float32), expected)


@pytest.mark.rule("slice-bounds")
@pytest.mark.parametrize(
    "take",
    [
        lambda t: t[4, 0],
        lambda t: t[-1, 0],
        lambda t: t[0, 0:5],
        lambda t: t[0, -1:],
        lambda t: t[2:2, 0],
        lambda t: t[3:1, 0],
        lambda t: t[0:4:2, 0],
        lambda t: t[0],
        lambda t: t[0, 0, 0],
        lambda t: t[0, 1.5],
        lambda t: t[..., 0],
        lambda t: t[None, 0],
    ],
)
def test_slices_lie_in_the_tensor_and_have_no_step(take):
    refused(
        moving(lambda a, y, dfb: take(a), (1, 1)),
        *[tensor(numbers(128, 128))] * 2,
        slug="slice-out-of-range",
    )


@pytest.mark.rule("slice-scope")
def test_slices_are_for_data_movement_kernels():
    @ttl.operation(grid=(1, 1))
    def operation(a):
        @ttl.compute()
        def compute():
            a[0, 0]

    refused(operation, empty(32, 32), slug="wrong-kernel-kind")

    @ttl.operation(grid=(1, 1))
    def in_the_body(a):
        a[0, 0]

    refused(in_the_body, empty(32, 32), slug="outside-operation")


AGREE = [
    (lambda t: t[0, 0, 0], (1, 1)),
    (lambda t: t[0, 0, 0], (1, 1, 1)),
    (lambda t: t[0, 0, 0], (1, 1, 1, 1)),
    (lambda t: t[0, 0:2, 0:2], (2, 2)),
    (lambda t: t[0, 0:2, 0:2], (1, 2, 2)),
    (lambda t: t[0, 0:2, 0:2], (1, 1, 2, 2)),
    (lambda t: t[0:1, 0:2, 0:2], (2, 2)),
    (lambda t: t[0:2, 0, 0:2], (2, 2)),
    (lambda t: t[0:2, 0, 0:2], (2, 1, 2)),
    (lambda t: t[0, 0:2, 1], (2, 1)),
    (lambda t: t[0:2, 0:2, 1], (2, 2)),
]
DIFFER = [
    (lambda t: t[0, 0:2, 0:2], (4, 1)),
    (lambda t: t[0, 0:2, 0:2], (1, 4)),
    (lambda t: t[0, 0:2, 0:1], (1, 2)),
    (lambda t: t[0, 0:1, 0:2], (2, 1)),
    (lambda t: t[0:2, 0:1, 0:2], (2, 2)),
    (lambda t: t[0:2, 0:1, 0:1], (2, 1)),
    (lambda t: t[0:2, 0:2, 0:2], (2, 4)),
    (lambda t: t[0, 0:3, 0:2], (2, 2)),
    (lambda t: t[0, 0:3, 0:1], (2, 1)),
    (lambda t: t[0, 0, 0:3], (1, 2)),
    (lambda t: t[0, 0:2, 0:2], (2, 2, 1)),
]


@pytest.mark.rule("copy-shapes")
@pytest.mark.parametrize("case", range(len(AGREE)))
def test_integer_indices_and_leading_ones_may_be_left_out(case):
    take, shape = AGREE[case]
    values = numbers(2, 64, 64)
    y = tensor(np.zeros_like(values))
    run(through(take, take, shape), tensor(values), y)
    result = ttl.to_numpy(y)
    written = result != 0
    assert np.array_equal(result[written], values[written])
    assert written.sum() >= np.prod(shape) * 1024 - 1  # one element of the values is 0


@pytest.mark.rule("copy-shapes")
@pytest.mark.parametrize("case", range(len(DIFFER)))
@pytest.mark.parametrize("into", [True, False])
def test_other_shapes_are_refused(case, into):
    take, shape = DIFFER[case]

    def body(a, y, dfb):
        if into:
            ttl.copy(take(a), dfb.reserve()).wait()
        else:
            blk = dfb.reserve()
            ttl.copy(blk, take(a)).wait()

    a = tensor(numbers(2, 96, 96))
    refused(moving(body, shape), a, a, slug="shape-mismatch")


@pytest.mark.rule("copy-dtype-layout")
def test_element_types_and_layouts_agree():
    def body(a, y, dfb):
        with dfb.reserve() as blk:
            ttl.copy(y[0:1, 0:1], blk).wait()

    a = empty(32, 32)
    other = empty(32, 32, dtype=ttnn.bfloat16)
    rows = empty(32, 32, layout=ttnn.ROW_MAJOR_LAYOUT)
    refused(moving(body, (1, 1)), a, other, slug="dtype-mismatch")
    refused(moving(body, (1, 1)), a, rows, slug="layout-mismatch")
    refused(moving(body, (1, 1)), rows, a, slug="layout-mismatch")


@pytest.mark.rule("copy-pairs")
def test_a_block_is_copied_to_a_block_of_the_same_node():
    def body(a, y, first, second):
        with first.reserve() as one, second.reserve() as two:
            ttl.copy(a[0:1, 0:2], one).wait()
            ttl.copy(one, two).wait()
        with first.wait() as one, second.wait() as two:
            ttl.copy(one, y[0:1, 0:2]).wait()
            ttl.copy(two, y[0:1, 2:4]).wait()

    run(moving(body, (1, 2), (1, 2)), tensor(tiles(7, 8)), y := empty(32, 128))
    assert tile_numbers(y) == [7, 8, 7, 8]


@pytest.mark.rule("copy-pairs")
@pytest.mark.parametrize(
    "ends",
    [
        lambda a, blk: (a[0, 0], a[0, 0]),
        lambda a, blk: (a, blk),
        lambda a, blk: (blk, a),
        lambda a, blk: (3, blk),
        lambda a, blk: (blk, None),
    ],
)
def test_other_pairs_are_refused(ends):
    def body(a, y, dfb):
        ttl.copy(*ends(a, dfb.reserve())).wait()

    refused(moving(body, (1, 1)), *[tensor(tiles(1))] * 2, slug="wrong-argument")


@pytest.mark.rule("copy-pairs")
def test_blocks_of_two_shapes_are_not_copied():
    def body(a, y, first, second):
        with first.reserve() as one, second.reserve() as two:
            ttl.copy(a[0:1, 0:2], one).wait()
            ttl.copy(one, two).wait()

    a = tensor(tiles(1, 2))
    refused(moving(body, (1, 2), (2, 1)), a, a, slug="shape-mismatch")


@pytest.mark.rule("copy-scope")
def test_copies_are_for_data_movement_kernels():
    @ttl.operation(grid=(1, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.compute()
        def compute():
            ttl.copy(dfb.reserve(), dfb.reserve())

    refused(operation, empty(32, 32), slug="wrong-kernel-kind")


@pytest.mark.rule("copy-does-not-wait")
def test_several_copies_are_under_way_at_once():
    """Waits in another order than starts."""

    def body(a, y, dfb):
        with dfb.reserve() as one, dfb.reserve() as two, dfb.reserve() as three:
            xfs = [ttl.copy(a[0, i], blk) for i, blk in enumerate((one, two, three))]
            for i in (1, 2, 0):
                xfs[i].wait()
        with dfb.wait() as one, dfb.wait() as two, dfb.wait() as three:
            xfs = [ttl.copy(blk, y[0, i]) for i, blk in enumerate((three, two, one))]
            for i in (2, 0, 1):
                xfs[i].wait()

    run(moving(body, (1, 1), count=3), tensor(tiles(1, 2, 3)), y := empty(32, 96))
    assert tile_numbers(y) == [3, 2, 1]


@pytest.mark.rule("transfer-wait")
def test_a_second_wait_changes_nothing():
    def body(a, y, dfb):
        with dfb.reserve() as blk:
            ttl.copy(a[0, 0], blk).wait()
        with dfb.wait() as blk:
            xf = ttl.copy(blk, y[0, 0])
            xf.wait()
            xf.wait()

    text = warned(
        moving(body, (1, 1)), tensor(tiles(1)), y := empty(32, 32), slug="transfer-waited-again"
    )
    assert "            xf.wait()" in text
    assert tile_numbers(y) == [1]


@pytest.mark.rule("transfer-wait")
def test_a_transfer_through_a_pipe_is_waited_for_once():
    @ttl.operation(grid=(2, 1))
    def op(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
        net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])

        @ttl.datamovement()
        def send_and_receive():
            def send(pipe):
                with dfb.reserve() as blk:
                    ttl.copy(a[0, 0], blk).wait()
                    xf = ttl.copy(blk, pipe)
                    xf.wait()
                    xf.wait()

            def receive(pipe):
                with dfb.reserve() as blk:
                    ttl.copy(pipe, blk).wait()

            net.if_src(send)
            net.if_dst(receive)

    refused(op, tensor(tiles(1)), empty(32, 32), slug="transfer-reused")


def add_after_wait_all(group, xf):
    group.wait_all()
    group.add(xf)


def wait_after_add(group, xf):
    group.add(xf)
    xf.wait()


def wait_all_twice(group, xf):
    group.add(xf)
    group.wait_all()
    group.wait_all()


def add_twice(group, xf):
    group.add(xf)
    group.add(xf)


def wait_then_add(group, xf):
    xf.wait()
    group.add(xf)


@pytest.mark.rule("group-transfer")
@pytest.mark.parametrize(
    "misuse", [add_after_wait_all, wait_after_add, wait_all_twice, add_twice, wait_then_add]
)
def test_misuse_of_a_group_is_refused(misuse):
    def body(a, y, dfb):
        with dfb.reserve() as blk:
            xf = ttl.copy(a[0, 0], blk)
            misuse(ttl.GroupTransfer(), xf)

    refused(moving(body, (1, 1)), *[tensor(tiles(1))] * 2, slug="transfer-reused")


@pytest.mark.rule("row-major-compute")
def test_row_major_blocks_are_not_computed_with():
    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(8,))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.datamovement()
        def read():
            with dfb.reserve() as blk:
                ttl.copy(a[:], blk).wait()

        @ttl.compute()
        def compute():
            with dfb.wait() as blk, y_dfb.reserve() as y_blk:
                y_blk.store(blk + 1)

    rows = tensor(numbers(8), layout=ttnn.ROW_MAJOR_LAYOUT)
    assert "to_layout" in refused(operation, rows, empty(32, 32), slug="layout-mismatch")
