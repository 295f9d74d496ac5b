"""Single elements of blocks, read and written by data movement kernels."""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from conformance.harness import empty, numbers, refused, run, small, tensor, warned
from ttl import ttnn

READ, WRITE = ttl.raw_element_read, ttl.raw_element_write
FLOATS = (ttnn.float32, ttnn.bfloat16)
# One in each face of each tile of 2 x 2, and the corners.
PLACES = [(r + 5, c + 9) for r in range(0, 64, 16) for c in range(0, 64, 16)]
PLACES += [(0, 0), (0, 63), (63, 0), (63, 63)]


def changing(change, shape=(1, 1)):
    """`a` goes to `y` through a block on which the writer does `change(block)` before."""

    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=shape, block_count=2)
        whole = tuple(slice(0, size) for size in shape)

        @ttl.datamovement()
        def read():
            with dfb.reserve() as block:
                ttl.copy(a[whole], block).wait()

        @ttl.datamovement()
        def write():
            with dfb.wait() as block:
                change(block)
                ttl.copy(block, y[whole]).wait()

    return operation


def changed(change, values, dtype=ttnn.float32, shape=(1, 1), layout=ttnn.TILE_LAYOUT):
    y = empty(*values.shape, dtype=dtype, layout=layout)
    run(changing(change, shape), tensor(values, dtype, layout), y)
    return ttl.to_numpy(y)


@pytest.mark.rule("raw-read", "raw-write", "raw-dtypes", "raw-coordinates")
@pytest.mark.parametrize("dtype", FLOATS)
def test_every_face_of_every_tile(dtype):
    def mirror(block):
        for row, column in PLACES:
            WRITE(block, row, column, -READ(block, row, column))

    values = small(64, 64) + 10
    expected = values.copy()
    for place in PLACES:
        expected[place] = -values[place]
    assert (changed(mirror, values, dtype, (2, 2)) == expected).all()


@pytest.mark.rule("raw-coordinates")
def test_coordinates_known_at_run_time():
    def transpose(block):
        for row in range(64):
            for column in range(row):
                lower, upper = READ(block, row, column), READ(block, column, row)
                WRITE(block, row, column, upper)
                WRITE(block, column, row, value=lower)

    values = numbers(64, 64)
    assert (changed(transpose, values, shape=(2, 2)) == values.T).all()


@pytest.mark.rule("raw-coordinates")
def test_a_coordinate_for_each_dimension():
    def change(block):
        for outer in range(2):
            WRITE(block, outer, 33, 2, READ(block, 1 - outer, 20, 40) + 1.0)

    values = numbers(2, 64, 64)
    expected = values.copy()
    expected[0, 33, 2] = values[1, 20, 40] + 1
    expected[1, 33, 2] = values[0, 20, 40] + 1
    assert (changed(change, values, shape=(2, 2, 2)) == expected).all()


@pytest.mark.rule("raw-coordinates")
def test_a_row_of_tiles_has_one_coordinate():
    def change(block):
        for i in range(32):
            WRITE(block, 63 - i, READ(block, i))

    values = numbers(64)
    expected = np.concatenate([values[:32], values[31::-1]])
    assert (changed(change, values, shape=(2,)) == expected).all()


@pytest.mark.rule("raw-coordinates")
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(4, 24), (2, 3, 8), (40,)])
def test_row_major_blocks(dtype, shape):
    def change(block):
        WRITE(block, *last, READ(block, *first))
        WRITE(block, *first, 0.5)

    first, last = (0,) * len(shape), tuple(size - 1 for size in shape)
    values = small(*shape) + 20
    expected = values.copy()
    expected[last], expected[first] = values[first], 0.5
    got = changed(change, values, dtype, shape, ttnn.ROW_MAJOR_LAYOUT)
    assert (got == expected).all()


@pytest.mark.rule("raw-write")
@pytest.mark.parametrize("dtype", FLOATS)
def test_a_written_value_is_rounded_to_nearest(dtype):
    def change(block):
        for place, number in enumerate((3.14, 1.00390625, 1.01171875, -0.0, 1e39, 7)):
            WRITE(block, 0, place, number)

    given = np.array([3.14, 1.00390625, 1.01171875, -0.0, np.inf, 7])
    bf16 = np.array([3.140625, 1.0, 1.015625, -0.0, np.inf, 7])
    got = changed(change, small(32, 32), dtype)[0, :6]
    expected = given.astype(np.float32) if dtype is ttnn.float32 else bf16
    assert (got == expected).all() and np.signbit(got[3])


@pytest.mark.rule("raw-compare")
@pytest.mark.parametrize("dtype", FLOATS)
def test_all_six_comparisons_in_conditions(dtype):
    def change(block):
        for i in range(3):
            x, limit = READ(block, 0, i), READ(block, 0, 3)
            if x < limit:
                WRITE(block, 1, i, 1.0)
            if x <= limit:
                WRITE(block, 2, i, 1.0)
            if x > limit:
                WRITE(block, 3, i, 1.0)
            if x >= limit:
                WRITE(block, 4, i, 1.0)
            if x == limit:
                WRITE(block, 5, i, 1.0)
            if x != limit:
                WRITE(block, 6, i, 1.0)

    values = np.zeros((32, 32), np.float32)
    values[0, :4] = -3, 2, 5, 2
    x = values[0, :3]
    expected = [x < 2, x <= 2, x > 2, x >= 2, x == 2, x != 2]
    assert (changed(change, values, dtype)[1:7, :3] == expected).all()


@pytest.mark.rule("raw-compare")
def test_the_largest_of_a_row_is_carried_by_a_loop():
    def change(block):
        largest, smallest = READ(block, 0, 0), READ(block, 0, 0)
        for i in range(1, 32):
            value = READ(block, 0, i)
            if value > largest:
                largest = value
            smallest = min(smallest, value)
        WRITE(block, 1, 0, largest)
        WRITE(block, 1, 1, smallest)

    values = small(32, 32)
    assert changed(change, values)[1, :2].tolist() == [values[0].max(), values[0].min()]


@pytest.mark.rule("raw-compare")
def test_arithmetic_is_noted_once_where_it_is_compiled(way, capsys):
    def change(block):
        total = 0.0
        for i in range(32):
            total += READ(block, 0, i)
        WRITE(block, 0, 0, total / 4 - 1)

    values = small(32, 32)
    assert changed(change, values)[0, 0] == values[0].sum() / 4 - 1
    assert capsys.readouterr().err.count("note[TTL7008]") == (way == "compiled")


@pytest.mark.rule("raw-read")
def test_what_a_compute_kernel_has_stored_is_read():
    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
        b_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

        @ttl.datamovement()
        def read():
            with a_dfb.reserve() as block:
                ttl.copy(a[0, 0], block).wait()
                ttl.raw_element_write(block, 20, 3, 42.0)

        @ttl.compute()
        def compute():
            with a_dfb.wait() as a_blk, b_dfb.reserve() as b_blk:
                b_blk.store(-a_blk)

        @ttl.datamovement()
        def write():
            with b_dfb.wait() as block:
                ttl.raw_element_write(block, 0, 0, ttl.raw_element_read(block, 20, 3))
                ttl.copy(block, y[0, 0]).wait()

    values = numbers(32, 32)
    run(operation, tensor(values), y := empty(32, 32))
    expected = -values
    expected[20, 3] = expected[0, 0] = -42
    assert (ttl.to_numpy(y) == expected).all()


@pytest.mark.rule("raw-write-state")
def test_a_block_that_is_only_written_by_elements_counts_as_written():
    @ttl.operation(grid=(1, 1))
    def operation(y):
        dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)

        @ttl.datamovement()
        def make():
            with dfb.reserve() as block:
                for row in range(32):
                    for column in range(32):
                        ttl.raw_element_write(block, row, column, 32.0 * row + column)

        @ttl.datamovement()
        def write():
            with dfb.wait() as block:
                ttl.copy(block, y[0, 0]).wait()

    run(operation, y := empty(32, 32))
    assert (ttl.to_numpy(y) == numbers(32, 32)).all()


# Refused ------------------------------------------------------------------------------------------


def refusal(change, slug, dtype=ttnn.float32):
    values = np.zeros((32, 32))
    return refused(changing(change), tensor(values, dtype), empty(32, 32, dtype=dtype), slug=slug)


@pytest.mark.rule("raw-dtypes")
@pytest.mark.parametrize("dtype", [ttnn.int32, ttnn.bfloat8_b])
def test_other_element_types_are_refused(dtype):
    text = refusal(lambda block: READ(block, 0, 0), "no-meaning", dtype)
    assert "works on float32 and bfloat16 blocks, not on " in text


@pytest.mark.rule("raw-coordinates")
def test_another_number_of_coordinates_is_refused():
    text = refusal(lambda block: READ(block, 0), "slice-out-of-range")
    assert "1 coordinate for a block of 2 dimensions" in text
    text = refusal(lambda block: WRITE(block, 0, 1.0), "slice-out-of-range")
    assert "then the value" in text


@pytest.mark.rule("raw-coordinates")
@pytest.mark.parametrize("place", [(0, 32), (-1, 0)])
def test_an_element_outside_of_the_block_is_refused(place):
    text = refusal(lambda block: READ(block, *place), "slice-out-of-range")
    assert "is not in 0:32" in text and "32 x 32 elements" in text


@pytest.mark.rule("raw-coordinates")
def test_an_element_that_a_loop_runs_to_outside_of_the_block_is_refused():
    def change(block):
        for i in range(33):
            WRITE(block, 0, i, 0.0)

    text = refusal(change, "slice-out-of-range")
    assert "of dimension 1 is not in 0:32" in text and "WRITE(block, 0, i, 0.0)" in text


@pytest.mark.rule("raw-coordinates", "raw-write")
def test_what_is_no_coordinate_no_block_and_no_number_is_refused():
    assert "takes ints" in refusal(lambda block: READ(block, 0, 1.5), "wrong-argument")
    assert "writes a float" in refusal(lambda block: WRITE(block, 0, 0, "1"), "wrong-argument")
    assert "no value" in refusal(lambda block: WRITE(block), "wrong-argument")
    assert "works on a block" in refusal(lambda block: READ(3.0, 0, 0), "wrong-argument")


@pytest.mark.rule("raw-kernels")
@pytest.mark.parametrize("use", [lambda b: READ(b, 0, 0), lambda b: WRITE(b, 0, 0, 1.0)])
def test_a_compute_kernel_has_no_elements(use):
    @ttl.operation(grid=(1, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

        @ttl.datamovement()
        def read():
            with dfb.reserve() as block:
                ttl.copy(a[0, 0], block).wait()

        @ttl.compute()
        def compute():
            with dfb.wait() as block:
                use(block)

    text = refused(operation, tensor(np.zeros((32, 32))), slug="wrong-kernel-kind")
    assert "is not allowed in a compute kernel" in text


def in_reader(use):
    """`use(block, part)` of a reserved block that nothing has written."""

    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

        @ttl.datamovement()
        def read():
            block = dfb.reserve()
            use(block, a[0, 0])
            block.push()

        @ttl.datamovement()
        def write():
            with dfb.wait() as block:
                ttl.copy(block, y[0, 0]).wait()

    return operation


def read_unwritten(block, part):
    READ(block, 0, 0)


def touch_while_written(block, part):
    transfer = ttl.copy(part, block)
    WRITE(block, 0, 0, 1.0)
    transfer.wait()


def touch_released(block, part):
    ttl.copy(part, block).wait()
    block.push()
    WRITE(block, 0, 0, 1.0)


@pytest.mark.rule("raw-read-state", "raw-write-state")
@pytest.mark.parametrize(
    ("use", "state"), [(read_unwritten, "MW"), (touch_while_written, "NAW"), (touch_released, "OS")]
)
def test_a_block_in_another_state_is_refused(use, state):
    a, y = tensor(np.zeros((32, 32))), empty(32, 32)
    text = refused(in_reader(use), a, y, slug="block-state")
    assert f"the block is in state {state}" in text and "ttl.raw_element_" in text


@pytest.mark.rule("raw-write-state")
def test_an_element_that_is_written_and_popped_is_a_warning():
    @ttl.operation(grid=(1, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

        @ttl.datamovement()
        def read():
            with dfb.reserve() as block:
                ttl.copy(a[0, 0], block).wait()

        @ttl.datamovement()
        def drop():
            with dfb.wait() as block:
                WRITE(block, 0, 0, READ(block, 1, 1))

    warned(operation, tensor(np.zeros((32, 32))), slug="popped-unread")
