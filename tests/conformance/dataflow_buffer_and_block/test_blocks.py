"""Blocks in compute kernels: store, +=, values, conversions."""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from conformance.harness import (
    empty,
    evaluate,
    refused_expression,
    run,
    small,
    statement,
    tensor,
    tile_numbers,
    tiles,
)
from ttl import ttnn


@pytest.mark.rule("store")
def test_store_materializes_the_value():
    """What happens to the operands afterwards does not reach it."""

    def body(y, a):
        value = a * 2
        a.store(a + 100)
        y.store(value)
        assert y.shape == (1, 1)
        _ = a + 0

    assert (statement(body, tiles(5)) == 10).all()


@pytest.mark.rule("store-converts")
@pytest.mark.parametrize("out", ["bfloat16", "float16", "float32", "bfloat8_b", "bfloat4_b"])
def test_store_converts_between_float_formats(out):
    value = evaluate(lambda a: a * 1, tiles(3), out_dtype=getattr(ttnn, out))
    assert (value.astype(np.float32) == 3).all()


@pytest.mark.rule("store-converts")
def test_store_rounds_to_nearest_even():
    a = tiles(257, 259, 258.5, -257)
    value = evaluate(lambda a: a, a, out_dtype=ttnn.bfloat16)
    assert value.astype(np.float32)[0, ::32].tolist() == [256, 260, 258, -256]


@pytest.mark.rule("store-converts")
@pytest.mark.parametrize(
    ("out", "expected"),
    [("float32", 1), ("bfloat16", 0), ("bfloat8_b", 0), ("bfloat4_b", 0), ("float16", 1)],
)
def test_what_is_read_again_was_rounded_in_the_block(out, expected):
    """257 has nine bits; the tensor that gets the difference could hold it."""

    def body(y, a):
        y.store(a)
        y.store(y - 256)

    value = statement(body, tiles(257), out_dtype=getattr(ttnn, out))
    assert (value == expected).all()


@pytest.mark.rule("store-converts")
@pytest.mark.parametrize("dtype", ["int32", "uint32", "uint16", "uint8"])
def test_store_converts_integers_to_floats(dtype):
    a = np.full((32, 32), 77)
    value = evaluate(lambda a: a + 1, a, dtype=getattr(ttnn, dtype), out_dtype=ttnn.float32)
    assert (value == 78).all()


@pytest.mark.rule("store-converts", "typecast")
@pytest.mark.parametrize("dtype", ["int32", "uint32", "uint16", "uint8"])
def test_a_float_becomes_an_integer_only_by_typecast(dtype):
    out = getattr(ttnn, dtype)
    text = refused_expression(lambda a: a, tiles(2.5), out_dtype=out, slug="dtype-mismatch")
    assert "ttl.math.typecast" in text
    value = evaluate(lambda a: ttl.math.typecast(a, out), tiles(2.5), out_dtype=out)
    assert (value == 2).all()


@pytest.mark.rule("store-shape")
def test_the_stored_value_has_the_shape_of_the_block():
    refused_expression(lambda a: a, tiles(1, 2), out_shape=(32, 32), slug="shape-mismatch")
    refused_expression(lambda a: a, tiles(1, 2), out_shape=(64, 32), slug="shape-mismatch")


@pytest.mark.rule("read-of-reserved")
def test_a_read_of_a_reserved_block_gives_what_was_stored():
    def body(y, a):
        y.store(a + 1)
        y.store(y * y)

    assert (statement(body, tiles(2)) == 9).all()


@pytest.mark.rule("store-into-waited")
def test_a_store_into_a_waited_block_counts_until_it_is_popped():
    """The buffer's space is not changed: the next block is what was pushed."""

    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=1)
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.datamovement()
        def read():
            for i in range(2):
                with a_dfb.reserve() as a_blk:
                    ttl.copy(a[0, i], a_blk).wait()

        @ttl.compute()
        def compute():
            for _ in range(2):
                with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
                    a_blk.store(a_blk + 1)
                    a_blk.store(a_blk * 10)
                    y_blk.store(a_blk)

        @ttl.datamovement()
        def write():
            for i in range(2):
                with y_dfb.wait() as y_blk:
                    ttl.copy(y_blk, y[0, i]).wait()

    a, y = tensor(tiles(1, 2)), empty(32, 64)
    run(operation, a, y)
    assert tile_numbers(y) == [20, 30]
    assert tile_numbers(a) == [1, 2]


@pytest.mark.rule("iadd-reserved")
def test_iadd_on_a_reserved_block_starts_from_zero():
    """Reserved memory is poisoned: a sum that started from it would be NaN."""

    def body(y, a):
        y += a

    assert (statement(body, tiles(7)) == 7).all()


@pytest.mark.rule("iadd-reserved")
def test_iadd_goes_on_after_a_store_and_after_a_read():
    def body(y, a):
        y.store(a)
        y += a
        doubled = y + 0
        y += doubled

    assert (statement(body, tiles(3)) == 12).all()


@pytest.mark.rule("iadd-rounding")
@pytest.mark.parametrize(("wide", "expected"), [(True, 272), (False, 256)])
def test_a_running_sum_is_rounded_once(wide, expected):
    """The example of the language page: 256 + 16 x 1 in bf16."""

    def body(y, a, one):
        y += a
        for _ in range(16):
            y += one

    value = statement(body, tiles(256), tiles(1), dtype=ttnn.bfloat16, fp32=wide)
    assert (value == expected).all()


@pytest.mark.rule("iadd-rounding")
def test_a_store_of_a_sum_is_rounded_each_time():
    def body(y, a, one):
        y.store(a)
        for _ in range(16):
            y.store(y + one)

    value = statement(body, tiles(256), tiles(1), dtype=ttnn.bfloat16, fp32=True)
    assert (value == 256).all()


@pytest.mark.rule("iadd-rounding")
def test_a_read_rounds_the_running_sum():
    def body(y, a, one):
        y += a
        y += one
        _ = y * 1
        y += one

    value = statement(body, tiles(256), tiles(1), dtype=ttnn.bfloat16, fp32=True)
    assert (value == 256).all()


@pytest.mark.rule("iadd-waited")
def test_iadd_on_a_waited_block_stores_the_sum():
    def body(y, a, one):
        for _ in range(16):
            a += one
        y.store(a)

    value = statement(body, tiles(256), tiles(1), dtype=ttnn.bfloat16, fp32=True)
    assert (value == 256).all()
    value = statement(body, tiles(2), tiles(1), dtype=ttnn.bfloat16, fp32=True)
    assert (value == 18).all()


@pytest.mark.rule("block-expressions")
def test_expressions_are_values_that_may_be_named_and_reused():
    def body(y, a, b):
        total = a + b
        twice = total
        twice += a
        y.store(total * 100 + twice)

    a, b = small(32, 32), small(32, 32)[::-1]
    assert np.array_equal(statement(body, a, b), (a + b) * 100 + (2 * a + b))


@pytest.mark.rule("block-expressions")
def test_expressions_accumulate_across_a_loop_in_the_dst_format():
    def body(y, a):
        total = ttl.math.fill(0)
        for i in range(5):
            total += a * i
        y.store(total)

    a = small(32, 32)
    assert np.array_equal(statement(body, a), a * 10)
