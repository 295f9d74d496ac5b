"""What happens when something fails, and what tensors an operation takes."""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from conformance.harness import (
    empty,
    numbers,
    refused,
    run,
    tensor,
    tile_numbers,
    tiles,
    warned,
)
from ttl import ttnn


def writing(fail):
    """Every node writes its number, then calls `fail(node)`; after that it writes again."""

    @ttl.operation(grid=(4, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        def write(number):
            with dfb.reserve() as blk:
                ttl.copy(a[0, number], blk).wait()
            with dfb.wait() as blk:
                ttl.copy(blk, y[0, ttl.node(1)]).wait()

        @ttl.datamovement()
        def move():
            write(0)
            fail(ttl.node(1))
            write(1)

    return operation


def divide(node):
    if node == 2:
        return 1 // 0
    return 0


@pytest.mark.rule("error-stops-all")
def test_an_error_on_one_node_stops_all_and_is_raised_once():
    """Nodes run up to their next wait; node 2 fails before it writes a second time."""
    y = tensor(tiles(0, 0, 0, 0))
    text = refused(writing(divide), tensor(tiles(5, 6)), y, slug="kernel-exception")
    assert text.count("error[") == 1
    assert "return 1 // 0" in text and "fail(ttl.node(1))" in text and "(2, 0)" in text
    assert tile_numbers(y)[2] == 5, "node 2 did not go on"


@pytest.mark.rule("error-stops-all")
def test_a_node_that_waits_is_stopped_too():
    """Node 1 waits for a semaphore that node 0 would set; node 0 fails first."""
    after = []

    @ttl.operation(grid=(2, 1))
    def operation(y):
        semaphore = ttl.Semaphore()

        @ttl.datamovement()
        def move():
            if ttl.node(1) == 0:
                raise ValueError("on purpose")
            semaphore.wait_eq(1)
            after.append(1)

    text = refused(operation, empty(32, 32), slug="kernel-exception")
    assert "on purpose" in text and "deadlock" not in text and not after


@pytest.mark.rule("tensors-keep-data")
def test_tensors_keep_what_was_written_and_the_operation_can_be_called_again():
    y = tensor(tiles(0, 0, 0, 0))
    with pytest.raises(ttl.KernelFault):
        writing(divide)(tensor(tiles(5, 6)), y)
    assert tile_numbers(y)[2] == 5
    run(writing(lambda node: 0), tensor(tiles(5, 6)), y)
    assert tile_numbers(y) == [6, 6, 6, 6]


def over_x_only(grid, size=(1, 1), step=1):
    """Split the work over x; every y does the same. With `step` 0 every x writes one place."""

    @ttl.operation(grid=grid)
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=size)

        @ttl.datamovement()
        def read():
            x, _ = ttl.node(dims=2)
            with dfb.reserve() as block:
                ttl.copy(a[0 : size[0], x * size[1] : (x + 1) * size[1]], block).wait()

        @ttl.datamovement()
        def write():
            x, _ = ttl.node(dims=2)
            first = x * step * size[1]
            with dfb.wait() as block:
                ttl.copy(block, y[0 : size[0], first : first + size[1]]).wait()

    return operation


@pytest.mark.rule("written-alike", "severity-options")
def test_nodes_that_write_the_same_bytes():
    y = empty(32, 64)
    warned(over_x_only((2, 3)), tensor(tiles(3, 4)), y, slug="race")
    assert tile_numbers(y) == [3, 4]


@pytest.mark.rule("written-alike")
@pytest.mark.parametrize(
    ("dtype", "columns"),
    [
        (dtype, columns)
        for dtype in (ttnn.bfloat16, ttnn.int32, ttnn.bfloat8_b, ttnn.bfloat4_b)
        for columns in (64, 50)
    ],
)
def test_bytes_are_compared_in_every_element_type(dtype, columns):
    """What would be written to the padding of the result, here other numbers, is not compared."""
    alike, other = tensor(tiles(3, 3)[:, :columns], dtype), tensor(tiles(3, 4)[:, :columns], dtype)
    operation = over_x_only((2, 1), step=0)
    run(operation, alike, y := empty(32, 16, dtype=dtype))
    assert (ttl.to_numpy(y) == 3).all()
    text = refused(operation, other, y, slug="race")
    assert "race: tile (0, 0) of `y` is written on node (0, 0) and written on node (1, 0)" in text


@pytest.mark.rule("written-alike")
def test_padding_that_gives_block_floats_another_exponent_is_not_compared():
    """Of 16 elements in a row 4 are the result's; the others are 64 or 0."""
    values = tiles(1, 1)
    values[:, 4:16] = 64
    a = tensor(np.delete(values, slice(36, 64), axis=1), ttnn.bfloat8_b)
    run(over_x_only((2, 1), step=0), a, y := empty(32, 4, dtype=ttnn.bfloat8_b))
    assert (ttl.to_numpy(y) == 1).all()


@pytest.mark.rule("written-alike")
def test_elements_of_rows_are_compared():
    rows = ttnn.ROW_MAJOR_LAYOUT
    operation = over_x_only((2, 1), size=(1, 32), step=0)
    alike, other = np.ones((2, 64), np.float32), numbers(2, 64)
    text = warned(
        operation,
        tensor(alike, layout=rows),
        empty(2, 32, layout=rows),
        slug="race",
    )
    assert "element (0, 0) of `y`" in text
    refused(operation, tensor(other, layout=rows), empty(2, 32, layout=rows), slug="race")


@pytest.mark.rule("written-alike")
def test_parts_that_overlap_are_compared_tile_by_tile():
    """A last block that is moved back, so that it does not leave the tensor."""

    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 2))

        @ttl.datamovement()
        def read():
            first = ttl.node(1)
            with dfb.reserve() as block:
                ttl.copy(a[0, first : first + 2], block).wait()

        @ttl.datamovement()
        def write():
            first = ttl.node(1)
            with dfb.wait() as block:
                ttl.copy(block, y[0:1, first : first + 2]).wait()

    y = empty(32, 96)
    text = warned(operation, tensor(tiles(1, 2, 3)), y, slug="race")
    assert "tile (0, 1) of `y`" in text
    assert tile_numbers(y) == [1, 2, 3]


def read_back(reads_first=False):
    """The nodes of a column write the same tile of `scratch`; each moves it to one of its own."""

    @ttl.operation(grid=(2, 3))
    def operation(a, scratch, y):
        in_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        scratch_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def read():
            x, _ = ttl.node(dims=2)
            with in_dfb.reserve() as block:
                ttl.copy(a[0, x], block).wait()

        @ttl.datamovement()
        def write():
            x, row = ttl.node(dims=2)
            if reads_first:
                with scratch_dfb.reserve() as block:
                    ttl.copy(scratch[0, x], block).wait()
            with in_dfb.wait() as block:
                ttl.copy(block, scratch[0, x]).wait()
            if not reads_first:
                with scratch_dfb.reserve() as block:
                    ttl.copy(scratch[0, x], block).wait()
            with scratch_dfb.wait() as block:
                ttl.copy(block, y[row, x]).wait()

    return operation


@pytest.mark.rule("written-alike")
def test_nodes_that_write_in_several_places():
    """The message has a place on every way to run, if not always the same."""

    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def read():
            with dfb.reserve() as block:
                ttl.copy(a[0, ttl.node(dims=1)], block).wait()

        @ttl.datamovement()
        def write():
            with dfb.wait() as block:
                ttl.copy(block, y[0, 0]).wait()
                ttl.copy(block, y[0, 0]).wait()

    text = refused(operation, tensor(tiles(3, 4)), empty(32, 32), slug="race")
    assert "ttl.copy(block, y[0, 0]).wait()" in text
    assert "on node (1, 0) writes it here" in text or "node (1, 0) writes it here or" in text


@pytest.mark.rule("written-alike")
def test_nodes_read_back_what_they_write_alike():
    """A scratch tensor of an operation that splits its work over x only."""
    a, y = tensor(tiles(3, 4)), empty(96, 64)
    warned(read_back(), a, empty(32, 64), y, slug="race")
    assert [int(number) for number in ttl.to_numpy(y)[::32, ::32].flat] == [3, 4] * 3
    text = refused(read_back(reads_first=True), a, empty(32, 64), y, slug="race")
    assert "of `scratch` is written on node" in text


@pytest.mark.rule("severity-options")
@pytest.mark.parametrize(("variable", "text"), [("TTL_STRICT", "1"), ("TTL_WARNINGS", "error")])
def test_all_warnings_may_be_errors(variable, text, monkeypatch):
    """The other one is not hidden by the first; a later choice that names it does that."""
    monkeypatch.setenv(variable, text)
    operation = over_x_only((2, 2))
    with pytest.raises(ttl.TTLError) as caught:
        operation(tensor(tiles(3, 4)), empty(32, 96))
    slugs = {each.code.slug for each in caught.value.diagnostics}
    assert slugs == {"race", "output-not-covered"}
    assert "error[TTL3013]" in str(caught.value)
    hidden = "error,ignore=TTL3013,ignore=race"
    monkeypatch.setenv("TTL_WARNINGS", hidden)
    if variable == "TTL_WARNINGS":
        operation(tensor(tiles(3, 4)), y := empty(32, 64))
        assert tile_numbers(y) == [3, 4]


@pytest.mark.rule("in-place")
def test_the_same_tensor_may_be_input_and_output():
    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.datamovement()
        def read():
            for i in range(3):
                with a_dfb.reserve() as blk:
                    ttl.copy(a[0, i], blk).wait()

        @ttl.compute()
        def compute():
            for _ in range(3):
                with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
                    y_blk.store(a_blk * 2)

        @ttl.datamovement()
        def write():
            for i in range(3):
                with y_dfb.wait() as blk:
                    ttl.copy(blk, y[0, i]).wait()

    both = tensor(tiles(1, 2, 3))
    run(operation, both, both)
    assert tile_numbers(both) == [2, 4, 6]


def taking():
    @ttl.operation(grid=(1, 1))
    def operation(first, second):
        @ttl.datamovement()
        def move():
            pass

    return operation


@pytest.mark.rule("unusable-tensors")
@pytest.mark.parametrize("shape", [(), (0,), (0, 32), (32, 0)])
def test_scalars_and_empty_tensors_of_tiles_are_diagnosed_by_name(shape):
    wrong = tensor(np.zeros(shape, np.float32))
    text = refused(taking(), empty(32, 32), wrong, slug="unusable-tensor")
    assert "`second`" in text


@pytest.mark.rule("unusable-tensors")
def test_tensors_of_two_devices_are_diagnosed_by_name():
    elsewhere = ttl.from_numpy(numbers(32, 32), device=ttnn.open_device(device_id=1))
    text = refused(taking(), empty(32, 32), elsewhere, slug="unusable-tensor")
    assert "`second`" in text and "`first`" in text
