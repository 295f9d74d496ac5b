"""Names and signatures of the specification and of later public versions, both accepted."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import ttl
from conformance.harness import (
    computing,
    empty,
    evaluate,
    moving,
    refused,
    refused_expression,
    run,
    small,
    statement,
    tensor,
    tile_numbers,
    tiles,
)
from ttl import ttnn


def with_buffer(**parameters):
    counts = []

    @ttl.operation(grid=(1, 1))
    def operation(y):
        counts.append(ttl.make_dataflow_buffer_like(y, shape=(1, 1), **parameters).block_count)

        @ttl.datamovement()
        def move():
            pass

    return operation, counts


@pytest.mark.unwatched("it counts how often the body runs")
@pytest.mark.rule("buffer-factor")
@pytest.mark.parametrize("name", ["buffer_factor", "block_count"])
def test_buffer_factor_is_block_count(name):
    operation, counts = with_buffer(**{name: 3})
    operation(empty(32, 32))
    assert counts == [3]


@pytest.mark.unwatched("it counts how often the body runs")
@pytest.mark.rule("buffer-factor", "block-count-default")
def test_the_default_is_two():
    operation, counts = with_buffer()
    operation(empty(32, 32))
    assert counts == [2]


@pytest.mark.rule("buffer-factor")
def test_giving_both_is_an_error():
    operation, _ = with_buffer(buffer_factor=3, block_count=3)
    refused(operation, empty(32, 32), slug="wrong-argument")


COLUMN = small(64, 32)
WIDE = np.broadcast_to(COLUMN[:, :1], (64, 96))
BROADCASTS = {
    "math, out_blk": lambda y, x: ttl.math.broadcast(x, y, dims=[-1]),
    "math, out_blk, positions": lambda y, x: ttl.math.broadcast(x, y, [-1]),
    "math, shape": lambda y, x: ttl.math.broadcast(x, dims=[-1], shape=(2, 3)),
    "math, inferred": lambda y, x: ttl.math.broadcast(x, dims=[-1]),
    "block, out_blk": lambda y, x: ttl.block.broadcast(x, y, dims=[-1]),
    "block, shape": lambda y, x: ttl.block.broadcast(x, dims=[-1], shape=(2, 3)),
    "block, inferred": lambda y, x: ttl.block.broadcast(x, dims=[-1]),
}


@pytest.mark.rule("broadcast-spellings")
@pytest.mark.parametrize("name", BROADCASTS)
def test_every_spelling_of_broadcast(name):
    """Stored as it is, and inside an expression."""
    call = BROADCASTS[name]
    found = statement(lambda y, x: y.store(call(y, x)), COLUMN, out_shape=(64, 96))
    assert np.array_equal(found, WIDE)
    other = small(64, 96)
    found = statement(lambda y, x, b: y.store(b * call(y, x)), COLUMN, other, out_shape=(64, 96))
    assert np.array_equal(found, other * WIDE)


FILLS = {
    "math, out_blk": lambda y: ttl.math.fill(y, 3),
    "math, shape": lambda y: ttl.math.fill(3, shape=(1, 2)),
    "math, shapeless": lambda y: ttl.math.fill(3),
    "block, out_blk": lambda y: ttl.block.fill(y, 3),
    "block, shape": lambda y: ttl.block.fill(3, shape=(1, 2)),
    "block, shapeless": lambda y: ttl.block.fill(3),
}


@pytest.mark.rule("fill-spellings")
@pytest.mark.parametrize("name", FILLS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
def test_every_spelling_of_fill(name, dtype):
    """Shape and element type come from the store, or from the operand it meets."""
    call, options = FILLS[name], {"dtype": getattr(ttnn, dtype)}
    operation, tensors = computing(lambda y: y.store(call(y)), out_shape=(32, 64), **options)
    run(operation, *tensors)
    assert (ttl.to_numpy(tensors[-1]) == 3).all()
    found = statement(lambda y, a: y.store(a + call(y)), small(32, 64), **options)
    assert np.array_equal(found.astype(np.float32), small(32, 64) + 3)


@pytest.mark.rule("fill-shapeless")
@pytest.mark.parametrize(
    "call",
    [
        lambda f, x: ttl.math.reduce_sum(f, 1, dims=[-1]),
        lambda f, x: ttl.math.reduce_max(f + 1, 1, dims=[-1]),
        lambda f, x: ttl.math.broadcast(f, dims=[-1], shape=(1, 1)),
        lambda f, x: ttl.math.transpose(f),
        lambda f, x: x @ f,
        lambda f, x: f @ x,
    ],
)
def test_a_fill_that_is_still_shapeless_is_an_error(call):
    refused_expression(
        lambda x: call(ttl.math.fill(1), x) + x * 0, small(32, 32), slug="shapeless-fill"
    )


@pytest.mark.rule("fill-shapeless")
def test_a_fill_that_is_shapeless_at_the_end_of_the_kernel_is_an_error():
    def body(y, x):
        y.store(x)
        kept.append(ttl.math.fill(1))

    kept = []
    operation, tensors = computing(body, small(32, 32))
    refused(operation, *tensors, slug="shapeless-fill")


REDUCTIONS = {
    "scaler, dims": lambda f, x: f(x, 1, [-1]),
    "scaler, dims=": lambda f, x: f(x, 1, dims=[-1]),
    "dims=": lambda f, x: f(x, dims=[-1]),
    "dims=, shape=": lambda f, x: f(x, dims=[-1], shape=(2, 1)),
    "scaler=, dims=": lambda f, x: f(x, scaler=1, dims=[-1]),
}


@pytest.mark.rule("reduce-spellings")
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("function", ["reduce_sum", "reduce_max"])
def test_every_spelling_of_a_reduction(name, function):
    x = small(64, 96)
    call = REDUCTIONS[name]
    found = evaluate(lambda x: call(getattr(ttl.math, function), x), x, out_shape=(64, 32))
    expected = (np.sum if function == "reduce_sum" else np.max)(x, axis=1)
    assert np.array_equal(found[:, 0], expected)


@pytest.mark.rule("both-namespaces")
@pytest.mark.parametrize("space", [ttl.math, ttl.block])
def test_mask_where_transpose_are_in_both_namespaces(space):
    x, m = small(32, 32), (small(32, 32)[::-1] > 0).astype(np.float32)
    assert np.array_equal(evaluate(space.mask, x, m), np.where(m == 1, 0, x))
    expected = np.where(m == 1, np.float32(np.inf), x)
    assert np.array_equal(evaluate(space.mask_posinf, x, m), expected)
    assert np.array_equal(evaluate(space.where, m, x, -x), np.where(m == 1, x, -x))
    assert np.array_equal(evaluate(space.transpose, x), x.T)


@pytest.mark.rule("pipe-net-roles")
def test_is_src_is_dst_and_is_active_in_kernels_and_bodies():
    in_body, in_kernel = {}, {}

    @ttl.operation(grid=(4, 1))
    def operation(y):
        net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0)), ttl.Pipe((1, 0), (2, 0))])
        in_body[ttl.node(1)] = (net.is_src(), net.is_dst(), net.is_active())

        @ttl.datamovement()
        def move():
            in_kernel[ttl.node(1)] = (net.is_src(), net.is_dst(), net.is_active())

    run(operation, empty(32, 32))
    assert (
        in_body
        == in_kernel
        == {
            0: (True, False, True),
            1: (True, True, True),
            2: (False, True, True),
            3: (False, False, False),
        }
    )


@pytest.mark.rule("public-names")
@pytest.mark.parametrize(
    "name",
    ["Program", "SrcPipeIdentity", "DstPipeIdentity", "TILE_LAYOUT", "ROW_MAJOR_LAYOUT"],
)
def test_names_that_public_programs_use(name):
    assert getattr(ttl, name) is not None


def returning(result):
    """A copy through a buffer whose body returns `result(tensors, read, write)`."""

    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def read():
            with dfb.reserve() as blk:
                ttl.copy(a[0, 0], blk).wait()

        @ttl.datamovement()
        def write():
            with dfb.wait() as blk:
                ttl.copy(blk, y[0, 0]).wait()

        return result((a, y), read, write)

    return operation


@pytest.mark.rule("public-names")
@pytest.mark.parametrize("is_called", [False, True])
def test_a_program_names_the_kernels(is_called):
    def result(tensors, *kernels):
        program = ttl.Program(*kernels)
        return program(*tensors) if is_called else program

    run(returning(result), tensor(tiles(5)), y := empty(32, 32))
    assert (ttl.to_numpy(y) == 5).all()


@pytest.mark.rule("public-names")
@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda _, read, write: ttl.Program(read), "leaves out the kernel `write`"),
        (lambda _, read, write: ttl.Program(read, read), "each kernel once, not `read`"),
        (lambda _, read, write: ttl.Program(read, write, 3), "each kernel once, not `int`"),
    ],
)
def test_a_program_of_other_kernels(result, message):
    text = refused(returning(result), tensor(tiles(5)), empty(32, 32), slug="wrong-argument")
    assert message in text


@pytest.mark.rule("public-names")
def test_pipe_identities_and_layouts_are_what_they_name():
    seen = []

    def body(a, y, dfb):
        net.if_src(lambda pipe: seen.append(isinstance(pipe, ttl.SrcPipeIdentity)))
        net.if_dst(lambda pipe: seen.append(isinstance(pipe, ttl.DstPipeIdentity)))

    net = ttl.PipeNet([ttl.Pipe((0, 0), (0, 0))])
    run(moving(body, (1, 1)), empty(32, 32), empty(32, 32))
    assert set(seen) == {True}
    assert empty(32, 32).layout is ttl.TILE_LAYOUT
    assert empty(3, layout=ttnn.ROW_MAJOR_LAYOUT).layout is ttl.ROW_MAJOR_LAYOUT


@pytest.mark.rule("acquire-name")
def test_reserve_and_wait_take_a_name():
    def body(a, y, dfb):
        with dfb.reserve(name="in") as blk:
            ttl.copy(a[0, 0], blk).wait()
        with dfb.wait(name="out") as blk:
            ttl.copy(blk, y[0, 0]).wait()

    run(moving(body, (1, 1)), tensor(tiles(5)), y := empty(32, 32))
    assert tile_numbers(y) == [5]


@pytest.mark.rule("can-acquire")
def test_can_reserve_and_can_wait_tell_whether_the_call_would_return_at_once(capfd):
    def body(a, y, dfb):
        print(dfb.can_reserve(), dfb.can_wait())
        with dfb.reserve() as blk:
            ttl.copy(a[0, 0], blk).wait()
            print(dfb.can_reserve(), dfb.can_wait())
        print(dfb.can_reserve(), dfb.can_wait())
        with dfb.wait() as blk:
            ttl.copy(blk, y[0, 0]).wait()
        print(dfb.can_reserve(), dfb.can_wait())

    run(moving(body, (1, 1), count=1), tensor(tiles(5)), y := empty(32, 32))
    seen = [tuple(line.split()[-2:]) for line in capfd.readouterr().out.splitlines()]
    expected = [("True", "False"), ("False", "False"), ("False", "True"), ("True", "False")]
    assert seen == expected * (len(seen) // 4) != []
    assert tile_numbers(y) == [5]


@pytest.mark.rule("sim-import")
def test_the_simulator_gives_ttl_and_ttnn():
    """`from ttl.sim import ttl, ttnn`, as programs for the public simulator write."""
    module = importlib.import_module("ttl.sim")
    assert module.ttl.operation is ttl.operation
    assert module.ttnn.from_torch is ttnn.from_torch
