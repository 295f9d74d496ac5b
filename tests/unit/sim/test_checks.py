"""Every rule a kernel can break: the code, the marked source and the message."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import ttl
from ttl import ttnn

DEVICE = ttnn.open_device(device_id=0)


def operation_of(*, compute=None, read=None, write=None, grid=(1, 1), count=2, shape=(1, 1)):
    """An operation whose kernels are given as functions of (a, y, a_dfb, y_dfb)."""

    @ttl.operation(grid=grid)
    def operation(a, y):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=shape, block_count=count)
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=shape, block_count=count)
        if compute:

            @ttl.compute()
            def compute_kernel():
                compute(a, y, a_dfb, y_dfb)

        if read:

            @ttl.datamovement()
            def read_kernel():
                read(a, y, a_dfb, y_dfb)

        if write:

            @ttl.datamovement()
            def write_kernel():
                write(a, y, a_dfb, y_dfb)

    return operation


def good_read(a, y, a_dfb, y_dfb):
    with a_dfb.reserve() as block:
        ttl.copy(a[0, 0], block).wait()


def good_compute(a, y, a_dfb, y_dfb):
    with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
        y_blk.store(a_blk)


def good_write(a, y, a_dfb, y_dfb):
    with y_dfb.wait() as block:
        ttl.copy(block, y[0, 0]).wait()


def test_the_good_kernels_are_good(simulate, tensor) -> None:
    y = ttnn.empty((32, 32), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    operation = operation_of(compute=good_compute, read=good_read, write=good_write)
    simulate(operation, tensor(), y)
    assert ttl.to_numpy(y).tolist() == ttl.to_numpy(tensor()).tolist()


# Which kernel may do what


def compute_copies(a, y, a_dfb, y_dfb):
    ttl.copy(y_dfb.reserve(), None)


def compute_slices(a, y, a_dfb, y_dfb):
    _ = a[0, 0]


def read_stores(a, y, a_dfb, y_dfb):
    block = a_dfb.reserve()
    block.store(block)


def read_adds(a, y, a_dfb, y_dfb):
    block = a_dfb.reserve()
    return block + block


def read_exp(a, y, a_dfb, y_dfb):
    ttl.math.exp(a_dfb.reserve())


def read_fill(a, y, a_dfb, y_dfb):
    ttl.math.fill(1)


@pytest.mark.parametrize(
    ("kind", "kernel", "marked", "call", "where"),
    [
        ("compute", compute_copies, "ttl.copy(y_dfb.reserve(), None)", "ttl.copy()", "compute"),
        ("compute", compute_slices, "a[0, 0]", "a tensor slice", "compute"),
        ("read", read_stores, "block.store(block)", "Block.store()", "datamovement"),
        ("read", read_adds, "block + block", "operator +", "datamovement"),
        ("read", read_exp, "ttl.math.exp(a_dfb.reserve())", "ttl.math.exp()", "datamovement"),
        ("read", read_fill, "ttl.math.fill(1)", "ttl.math.fill()", "datamovement"),
    ],
)
def test_wrong_kernel_kind(report, tensor, kind, kernel, marked, call, where) -> None:
    found = report(operation_of(**{kind: kernel}), tensor(), tensor())
    assert found.code == "wrong-kernel-kind"
    assert found.primary == marked
    assert f"error[TTL1002]: {call} is not allowed in a {where} kernel" in found.text
    assert f"= in kernel `{kind}_kernel` on node (0, 0)" in found.text


# The life of a block


def push_unwritten(a, y, a_dfb, y_dfb):
    block = a_dfb.reserve()
    block.push()


def leave_unwritten(a, y, a_dfb, y_dfb):
    with a_dfb.reserve():
        pass


def push_before_the_copy_is_done(a, y, a_dfb, y_dfb):
    block = a_dfb.reserve()
    transfer = ttl.copy(a[0, 0], block)
    block.push()
    transfer.wait()


def copy_twice_into(a, y, a_dfb, y_dfb):
    block = a_dfb.reserve()
    ttl.copy(a[0, 0], block).wait()
    ttl.copy(a[0, 0], block)


def use_after_push(a, y, a_dfb, y_dfb):
    block = a_dfb.reserve()
    ttl.copy(a[0, 0], block).wait()
    block.push()
    ttl.copy(block, y[0, 0])


def pop_a_reserved_block(a, y, a_dfb, y_dfb):
    block = a_dfb.reserve()
    ttl.copy(a[0, 0], block).wait()
    block.pop()


@pytest.mark.parametrize(
    ("kernel", "marked", "message"),
    [
        (push_unwritten, "block.push()", "cannot be pushed now: nothing has been written"),
        (leave_unwritten, None, "cannot be pushed now: nothing has been written"),
        (
            push_before_the_copy_is_done,
            "block.push()",
            "cannot be pushed now: the transfer that writes it has not been waited for",
        ),
        (
            copy_twice_into,
            "ttl.copy(a[0, 0], block)",
            "cannot be written by a copy now: its value has not been read yet",
        ),
        (
            use_after_push,
            "ttl.copy(block, y[0, 0])",
            "cannot be read by a copy now: it was released",
        ),
        (
            pop_a_reserved_block,
            "block.pop()",
            "was acquired by reserve() and cannot be released by pop()",
        ),
    ],
)
def test_block_states_in_data_movement(report, tensor, kernel, marked, message) -> None:
    found = report(operation_of(read=kernel), tensor(), tensor())
    assert found.code == "block-state"
    assert f"error[TTL3001]: the block of `a_dfb` {message}" in found.text
    assert marked is None or found.primary == marked
    assert "a_dfb.reserve()" in found.marked("-")
    assert "acquired here" in found.text


def test_an_open_transfer_is_shown(report, tensor) -> None:
    found = report(operation_of(read=push_before_the_copy_is_done), tensor(), tensor())
    assert "ttl.copy(a[0, 0], block)" in found.marked("-")
    assert "the transfer started here" in found.text


def read_garbage(a, y, a_dfb, y_dfb):
    block = y_dfb.reserve()
    ttl.math.relu(block)


def pop_unread(a, y, a_dfb, y_dfb):
    block = a_dfb.wait()
    block.pop()


def push_a_waited_block(a, y, a_dfb, y_dfb):
    block = a_dfb.wait()
    block.push()


def read_after_pop(a, y, a_dfb, y_dfb):
    with a_dfb.wait() as block:
        ttl.math.relu(block)
    return block + block


@pytest.mark.parametrize(
    ("kernel", "marked", "message"),
    [
        (read_garbage, "ttl.math.relu(block)", "cannot be read by an expression now: nothing has"),
        (
            push_a_waited_block,
            "block.push()",
            "was acquired by wait() and cannot be released by push()",
        ),
        (read_after_pop, "block + block", "cannot be read by an expression now: it was released"),
    ],
)
def test_block_states_in_compute(report, tensor, kernel, marked, message) -> None:
    found = report(operation_of(compute=kernel, read=good_read), tensor(), tensor())
    assert (found.code, found.primary) == ("block-state", marked)
    assert message in found.text


def test_popped_unread(warned, tensor) -> None:
    found = warned(operation_of(compute=pop_unread, read=good_read), tensor(), tensor())
    assert (found.code, found.primary) == ("popped-unread", "a_dfb.wait()")
    assert "warning[TTL3016]: the block of `a_dfb` is popped, and nothing has read it" in found.text
    assert "in kernel `compute_kernel` on node (0, 0)" in found.text


def test_a_popped_block_that_was_never_read_is_mentioned_once_for_its_place(warnings, tensor):
    def pop_all(a, y, a_dfb, y_dfb):
        for _ in range(3):
            with a_dfb.wait():
                pass

    def read_all(a, y, a_dfb, y_dfb):
        for _ in range(3):
            good_read(a, y, a_dfb, y_dfb)

    operation = operation_of(compute=pop_all, read=read_all, grid=(2, 2))
    assert [each.code.slug for each in warnings(operation, tensor(), tensor())] == ["popped-unread"]


# Releases and ends


def release_younger_first(a, y, a_dfb, y_dfb):
    one, two = a_dfb.reserve(), a_dfb.reserve()
    ttl.copy(a[0, 0], two).wait()
    two.push()
    ttl.copy(a[0, 0], one).wait()


def with_inside_a_hand_held_block(a, y, a_dfb, y_dfb):
    one = a_dfb.reserve()
    ttl.copy(a[0, 0], one).wait()
    with a_dfb.reserve() as two:
        ttl.copy(a[0, 0], two).wait()
    one.push()


def nested_withs(a, y, a_dfb, y_dfb):
    with a_dfb.reserve() as one:
        ttl.copy(a[0, 0], one).wait()
        with a_dfb.reserve() as two:
            ttl.copy(a[0, 0], two).wait()


def nested_withs_then_wait(a, y, a_dfb, y_dfb):
    with a_dfb.reserve() as one:
        ttl.copy(a[0, 0], one).wait()
        with a_dfb.reserve() as two:
            ttl.copy(a[0, 0], two).wait()
        y_dfb.wait()


@pytest.mark.parametrize(
    ("kernel", "line"),
    [
        (release_younger_first, "    two.push()"),
        (with_inside_a_hand_held_block, "    with a_dfb.reserve() as two:"),
        (nested_withs, "        with a_dfb.reserve() as two:"),
        (nested_withs_then_wait, "        with a_dfb.reserve() as two:"),
    ],
)
def test_release_order(report, tensor, kernel, line) -> None:
    found = report(operation_of(read=kernel), tensor(), tensor())
    assert found.code == "release-order"
    assert "error[TTL3005]: a block of `a_dfb` is released while an older one is held" in found.text
    primary_source = found.text.splitlines()[3]
    assert primary_source.endswith(f"| {line}")
    assert "the older block was acquired here" in found.text


HELD = SimpleNamespace()


def hold_at_the_end(a, y, a_dfb, y_dfb):
    HELD.block = a_dfb.reserve()  # what is in an attribute is not supplied
    ttl.copy(a[0, 0], HELD.block).wait()


def test_block_not_released(warned, tensor) -> None:
    found = warned(operation_of(read=hold_at_the_end), tensor(), tensor())
    assert (found.code, found.primary) == ("block-not-released", "a_dfb.reserve()")
    assert "`read_kernel` ended while it held a block of `a_dfb`" in found.text
    assert "help: call push() on it" in found.text


def never_wait(a, y, a_dfb, y_dfb):
    HELD.blocks = [a_dfb.reserve(), a_dfb.reserve()]
    block, other = HELD.blocks
    HELD.transfers = [ttl.copy(a[0, 0], block), ttl.copy(a[0, 0], other)]


def test_transfer_not_waited(report, tensor) -> None:
    found = report(operation_of(read=never_wait), tensor(), tensor())
    assert (found.code, found.primary) == ("transfer-not-waited", "ttl.copy(a[0, 0], block)")
    assert found.marked("-") == ["ttl.copy(a[0, 0], other)"]


def wait_twice(a, y, a_dfb, y_dfb):
    block = a_dfb.reserve()
    transfer = ttl.copy(a[0, 0], block)
    transfer.wait()
    transfer.wait()


def test_transfer_waited_again(warned, tensor) -> None:
    found = warned(operation_of(read=wait_twice), tensor(), tensor())
    assert (found.code, found.primary) == ("transfer-waited-again", "transfer.wait()")
    assert found.marked("-")[0] == "ttl.copy(a[0, 0], block)"


def read_twice(a, y, a_dfb, y_dfb):
    good_read(a, y, a_dfb, y_dfb)
    good_read(a, y, a_dfb, y_dfb)


def test_buffer_leftover(warned, tensor) -> None:
    operation = operation_of(read=read_twice, compute=good_compute, write=good_write, grid=(2, 2))
    found = warned(operation, tensor(), tensor())
    assert found.code == "buffer-leftover"
    assert "warning[TTL3006]: 1 block is left in `a_dfb` at the end of the operation" in found.text
    assert found.primary.startswith("ttl.make_dataflow_buffer_like(a,")
    assert "`read_kernel` calls push() 2 times, `compute_kernel` calls pop() once" in found.text
    assert "seen on 4 of 4 nodes" in found.text


def test_the_next_call_starts_with_empty_buffers(warnings, tensor) -> None:
    operation = operation_of(read=read_twice, compute=good_compute, write=good_write)
    for _ in range(3):
        a, y = tensor(), ttnn.empty((32, 32), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
        found = warnings(operation, a, y)
        assert [each.code.slug for each in found] == ["buffer-leftover"]
        assert ttl.to_numpy(y).tolist() == ttl.to_numpy(a).tolist()


def also_reads(a, y, a_dfb, y_dfb):
    good_read(a, y, a_dfb, y_dfb)


def test_two_producers(report, tensor) -> None:
    found = report(operation_of(read=good_read, write=also_reads), tensor(), tensor())
    assert (found.code, found.primary) == ("buffer-ends", "a_dfb.reserve()")
    assert "two kernels call reserve() on `a_dfb`; the other one is `read_kernel`" in found.text


def test_two_consumers(report, tensor) -> None:
    def consume(a, y, a_dfb, y_dfb):
        with a_dfb.wait() as block:
            ttl.copy(block, y[0, 0]).wait()

    operation = operation_of(read=read_twice, compute=good_compute, write=consume)
    found = report(operation, tensor(), tensor())
    assert (found.code, found.primary) == ("buffer-ends", "a_dfb.wait()")


# Shapes and arguments


def copy_two_tiles(a, y, a_dfb, y_dfb):
    ttl.copy(a[0, 0:2], a_dfb.reserve())


def copy_other_type(a, y, a_dfb, y_dfb):
    ttl.copy(y[0, 0], a_dfb.reserve())


def copy_whole_tensor(a, y, a_dfb, y_dfb):
    ttl.copy(a, a_dfb.reserve())


def slice_outside(a, y, a_dfb, y_dfb):
    ttl.copy(a[0, 2], a_dfb.reserve())


@pytest.mark.parametrize(
    ("kernel", "code", "marked", "message"),
    [
        (
            copy_two_tiles,
            "shape-mismatch",
            "ttl.copy(a[0, 0:2], a_dfb.reserve())",
            "a tensor slice of shape (1, 2) with a block of shape (1, 1)",
        ),
        (
            copy_other_type,
            "dtype-mismatch",
            "ttl.copy(y[0, 0], a_dfb.reserve())",
            "a bfloat16 tensor with a float32 block",
        ),
        (
            copy_whole_tensor,
            "wrong-argument",
            "ttl.copy(a, a_dfb.reserve())",
            "help: slice the tensor",
        ),
        (slice_outside, "slice-out-of-range", "a[0, 2]", "slice 2 of dimension 1"),
    ],
)
def test_copies(report, tensor, kernel, code, marked, message) -> None:
    a, y = tensor(32, 64), tensor(dtype=ttnn.bfloat16)
    found = report(operation_of(read=kernel), a, y)
    assert (found.code, found.primary) == (code, marked)
    assert message in found.text


def add_different_types(a, y, a_dfb, y_dfb):
    block = y_dfb.reserve()
    block.store(ttl.math.fill(0))
    with a_dfb.wait() as a_blk:
        block.store(ttl.math.typecast(a_blk, ttnn.int32) + block)


def store_wrong_shape(a, y, a_dfb, y_dfb):
    y_dfb.reserve().store(ttl.math.fill(1, shape=(2, 2)))


def add_a_truth_value(a, y, a_dfb, y_dfb):
    return a_dfb.wait() + True


def store_a_number(a, y, a_dfb, y_dfb):
    y_dfb.reserve().store(2)


def too_many_operands(a, y, a_dfb, y_dfb):
    block = a_dfb.wait()
    ttl.math.exp(block, block)


def fill_with_text(a, y, a_dfb, y_dfb):
    ttl.math.fill("1")


def fill_wrong_shape(a, y, a_dfb, y_dfb):
    ttl.math.fill(1, shape=2)


def shapeless_matmul(a, y, a_dfb, y_dfb):
    return a_dfb.wait() @ ttl.math.fill(1)


@pytest.mark.parametrize(
    ("kernel", "code", "marked"),
    [
        (add_different_types, "dtype-mismatch", "ttl.math.typecast(a_blk, ttnn.int32) + block"),
        (
            store_wrong_shape,
            "shape-mismatch",
            "y_dfb.reserve().store(ttl.math.fill(1, shape=(2, 2)))",
        ),
        (add_a_truth_value, "wrong-argument", "a_dfb.wait() + True"),
        (store_a_number, "wrong-argument", "y_dfb.reserve().store(2)"),
        (too_many_operands, "wrong-argument", "ttl.math.exp(block, block)"),
        (fill_with_text, "wrong-argument", 'ttl.math.fill("1")'),
        (fill_wrong_shape, "wrong-argument", "ttl.math.fill(1, shape=2)"),
        (shapeless_matmul, "shapeless-fill", "a_dfb.wait() @ ttl.math.fill(1)"),
    ],
)
def test_expressions(report, tensor, kernel, code, marked) -> None:
    operation = operation_of(compute=kernel, read=good_read)
    found = report(operation, tensor(), tensor(dtype=ttnn.bfloat16))
    assert (found.code, found.primary) == (code, marked)


# Limits


def test_l1_budget(report, tensor) -> None:
    """Two buffers of 6 x 8 x 8 tiles of 4096 bytes are 3145728 bytes."""
    operation = operation_of(read=good_read, shape=(8, 8), count=6)
    found = report(operation, tensor(), tensor())
    assert found.code == "l1-budget"
    assert "need 3145728 bytes of L1; a node of wormhole_b0 has 1466368" in found.text
    table = [line for line in found.text.splitlines() if "float32" in line]
    assert table == [
        f"{' ' * 2} = {name}   (8, 8)  6            float32  1572864" for name in ("a_dfb", "y_dfb")
    ]


def test_l1_budget_to_the_byte(simulate, report) -> None:
    def operation_with(tiles):
        @ttl.operation(grid=(1, 1))
        def operation(a):
            dfb = ttl.make_dataflow_buffer_like(a, shape=(1, tiles), block_count=1)

            @ttl.datamovement()
            def nothing():
                return None if True else dfb

        return operation

    fits = 1466368 // 2048
    simulate(operation_with(fits), ttnn.zeros((32, 32), layout=ttnn.TILE_LAYOUT, device=DEVICE))
    assert (
        report(
            operation_with(fits + 1), ttnn.zeros((32, 32), layout=ttnn.TILE_LAYOUT, device=DEVICE)
        ).code
        == "l1-budget"
    )


def test_too_many_buffers(simulate, report) -> None:
    def operation_with(count):
        @ttl.operation(grid=(1, 1))
        def operation(a):
            for _ in range(count):
                ttl.make_dataflow_buffer_like(a, shape=(1, 1))

            @ttl.datamovement()
            def nothing():
                pass

        return operation

    simulate(operation_with(32), ttnn.zeros((32, 32), layout=ttnn.TILE_LAYOUT, device=DEVICE))
    found = report(operation_with(33), ttnn.zeros((32, 32), layout=ttnn.TILE_LAYOUT, device=DEVICE))
    assert found.code == "too-many-buffers"
    assert found.primary == "ttl.make_dataflow_buffer_like(a, shape=(1, 1))"
    assert "33 dataflow buffers; a node of wormhole_b0 has 32" in found.text
