"""Operations: grids, arguments, options, and how many kernels there are."""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from conformance.harness import (
    empty,
    evaluate,
    numbers,
    refused,
    run,
    tensor,
    tile_numbers,
    tiles,
)
from ttl import ttnn


def numbering(grid):
    """Every node writes 1 + node(1) into its tile."""

    @ttl.operation(grid=grid)
    def operation(y):
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute():
            with y_dfb.reserve() as y_blk:
                y_blk.store(ttl.math.fill(1 + ttl.node(1)))

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[0, ttl.node(1)]).wait()

    return operation


def adding(**parameters):
    @ttl.operation(grid=(1, 1), **parameters)
    def operation(a, y, count: int, by: float, twice: bool, word: str = "add"):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.datamovement()
        def read():
            with a_dfb.reserve() as a_blk:
                ttl.copy(a[0, 0], a_blk).wait()

        @ttl.compute()
        def compute():
            with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
                value = a_blk + by if word == "add" else a_blk - by
                for _ in range(count):
                    value = value * 2 if twice else value
                y_blk.store(value)

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[0, 0]).wait()

    return operation


@pytest.mark.rule("grid-tuple")
@pytest.mark.parametrize("grid", [(1, 1), (4, 1), (2, 3), (3, 2, 2)])
def test_a_tuple_is_the_grid(grid):
    count = int(np.prod(grid))
    y = empty(32, 32 * count)
    run(numbering(grid), y)
    assert tile_numbers(y) == [1.0 + number for number in range(count)]


@pytest.mark.rule("grid-auto")
@pytest.mark.parametrize("grid", ["auto", "full", None])
def test_auto_and_full_are_the_compute_grid_of_the_device(grid):
    seen = set()

    @ttl.operation(**({} if grid is None else {"grid": grid}))
    def operation(a, y):
        seen.add((ttl.grid_size(), ttl.node()))
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def look():
            assert ttl.grid_size() == (8, 8)
            column, row = ttl.node()
            with dfb.reserve() as blk:
                ttl.copy(a[row, column], blk).wait()
            with dfb.wait() as blk:
                ttl.copy(blk, y[row, column]).wait()

    run(operation, tensor(numbers(256, 256)), y := empty(256, 256))
    assert seen == {((8, 8), (x, y)) for x in range(8) for y in range(8)}
    assert np.array_equal(ttl.to_numpy(y), numbers(256, 256)), "every node has run"


@pytest.mark.rule("grid-callable")
def test_a_callable_gets_the_arguments():
    run(numbering(lambda y: (y.shape[1] // 32, 1)), y := empty(32, 96))
    assert tile_numbers(y) == [1, 2, 3]


@pytest.mark.rule("grid-tuple")
@pytest.mark.parametrize("grid", [(), (0, 1), (1.5, 1), "half", (9, 9)])
def test_what_is_no_grid_of_the_device_is_refused(grid):
    slug = "grid-too-large" if grid == (9, 9) else "wrong-argument"
    with pytest.raises(ttl.UsageError) as caught:
        numbering(grid)(empty(32, 32 * 81))
    assert caught.value.diagnostics[0].code.slug == slug


@pytest.mark.rule("arguments")
def test_tensors_by_keyword_and_constants():
    a = tensor(tiles(3))
    for word, expected in (("add", 28), ("subtract", -4)):
        y = empty(32, 32)
        adding()(y=y, a=a, twice=True, by=4.0, count=2, word=word)
        assert tile_numbers(y) == [expected]


@pytest.mark.rule("arguments")
@pytest.mark.parametrize("value", [np.zeros((32, 32)), [np.zeros(3)], {"a": (np.zeros(3),)}])
def test_arrays_are_refused_by_name(value):
    text = refused(
        adding(),
        tensor(tiles(1)),
        empty(32, 32),
        count=value,
        by=1.0,
        twice=False,
        slug="not-a-tensor",
    )
    assert "`count`" in text


@pytest.mark.rule("operation-parameters")
def test_all_parameters_of_the_decorator_are_accepted():
    y = empty(32, 32)
    operation = adding(
        fp32_dest_acc_en=True,
        dst_full_sync_en=True,
        math_fidelity="HiFi4",
        options="--no-ttl-maximize-dst",
        num_outs=1,
        memory_space="L1",
        tiled=True,
    )
    run(operation, tensor(tiles(3)), y, 1, 1.0, True)
    assert tile_numbers(y) == [8]


@pytest.mark.rule("operation-parameters")
def test_an_unknown_memory_space_is_refused_where_the_operation_is_made():
    with pytest.raises(ttl.TTLError) as caught:
        ttl.operation(grid=(1, 1), memory_space="SRAM")
    assert "memory_space='SRAM' is not known" in str(caught.value)
    assert 'memory_space="SRAM")' in str(caught.value)
    adding(memory_space="DRAM")


@pytest.mark.rule("fp32-dest")
@pytest.mark.parametrize(("wide", "expected"), [(True, 257), (False, 256), (None, 256)])
def test_fp32_dest_acc_en_chooses_the_format_of_values(wide, expected):
    value = evaluate(lambda a: (a + 1) - 256, tiles(256), dtype=ttnn.bfloat16, fp32=wide)
    assert (value == expected - 256).all()


@pytest.mark.rule("options-order")
def test_options_of_the_call_win_over_the_environment_and_that_over_the_decorator(monkeypatch):
    """The block needs 8192 bytes of L1."""
    small, large = "--ttl-l1-budget 100", "--ttl-l1-budget 100000"
    arguments = (tensor(tiles(3)), empty(32, 32), 0, 1.0, False)

    def is_refused(decorator, environment, call):
        if environment:
            monkeypatch.setenv("TTLANG_COMPILER_OPTIONS", environment)
        else:
            monkeypatch.delenv("TTLANG_COMPILER_OPTIONS", raising=False)
        try:
            adding(options=decorator)(*arguments, **({"options": call} if call else {}))
        except ttl.UsageError as error:
            return error.diagnostics[0].code.slug == "l1-budget"
        return False

    assert is_refused(small, None, None)
    assert not is_refused(small, large, None)
    assert is_refused(large, small, None)
    assert not is_refused(small, small, large)
    assert is_refused(large, large, small)


@pytest.mark.rule("kernel-signature")
def test_kernels_have_no_parameters():
    @ttl.operation(grid=(1, 1))
    def operation(y):
        @ttl.datamovement()
        def move(tensor):
            pass

    assert "`move` has parameters" in refused(operation, empty(32, 32), slug="wrong-declaration")


@pytest.mark.rule("kernel-signature")
@pytest.mark.parametrize("kind", ["compute", "datamovement"])
def test_kernels_return_nothing(kind):
    @ttl.operation(grid=(1, 1))
    def operation(y):
        @getattr(ttl, kind)()
        def kernel():
            return 1

    with pytest.raises(ttl.TTLError):
        operation(empty(32, 32))


def with_kernels(*kinds):
    def make(kind):
        @getattr(ttl, kind)()
        def kernel():
            print(kind)

    @ttl.operation(grid=(1, 1))
    def counted(y):
        for kind in kinds:
            make(kind)

    return counted


@pytest.mark.rule("kernel-counts")
@pytest.mark.parametrize(
    "kinds",
    [
        ("compute",),
        ("datamovement",),
        ("datamovement", "datamovement"),
        ("compute", "datamovement"),
        ("datamovement", "compute", "datamovement"),
    ],
)
def test_up_to_one_compute_and_two_data_movement_kernels(kinds, capfd):
    with_kernels(*kinds)(empty(32, 32))
    ran = [line.split()[-1] for line in capfd.readouterr().out.splitlines()]
    assert sorted(ran) == sorted(kinds)


@pytest.mark.rule("kernel-counts")
@pytest.mark.parametrize("kinds", [("compute",) * 2, ("datamovement",) * 3])
def test_more_kernels_are_refused(kinds, capfd):
    refused(with_kernels(*kinds), empty(32, 32), slug="kernel-count")
    assert not capfd.readouterr().out


@pytest.mark.rule("kernel-kinds")
@pytest.mark.parametrize(
    ("kind", "call"),
    [
        ("compute", lambda y, dfb: ttl.copy(None, None)),
        ("compute", lambda y, dfb: ttl.GroupTransfer()),
        ("datamovement", lambda y, dfb: ttl.math.fill(1) + 1),
        ("datamovement", lambda y, dfb: dfb.reserve().store(1)),
    ],
)
def test_each_call_belongs_to_one_kind_of_kernel(kind, call):
    @ttl.operation(grid=(1, 1))
    def operation(y):
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @getattr(ttl, kind)()
        def kernel():
            call(y, y_dfb)

    refused(operation, empty(32, 32), slug="wrong-kernel-kind")
