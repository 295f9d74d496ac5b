"""What earlier versions of the specification wrote runs as it is, and a note shows it once."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ttl
from conformance.harness import computing, empty, refused, run, small, tensor, tiles
from ttl import ttnn
from ttl.driver import PROCESS_DRIVER
from ttl.driver.artifacts import Artifacts
from ttl.language.old_names import OLD_NAMES

A, B = small(32, 128), small(32, 128)


@pytest.mark.rule("old-names")
@pytest.mark.parametrize("old", OLD_NAMES)
def test_an_old_name_is_the_object_of_the_present_one(old: str) -> None:
    scope: dict[str, object] = {}
    exec(f"from ttl import {old} as found", scope)
    assert scope["found"] is getattr(ttl, old) is getattr(ttl, OLD_NAMES[old].present)
    assert old not in ttl.__all__


@ttl.kernel(grid=(1, 1))
def oldest_matmul(a, b, y):
    a_cb = ttl.make_circular_buffer_like(a, shape=(1, 1), buffer_factor=2)
    b_cb = ttl.make_circular_buffer_like(b, shape=(1, 1), buffer_factor=2)
    y_cb = ttl.make_circular_buffer_like(y, shape=(1, 1), buffer_factor=2)
    assert isinstance(y_cb, ttl.CircularBuffer)

    @ttl.compute
    def multiply():
        y_blk = y_cb.reserve()
        for _ in range(4):
            a_blk = a_cb.wait()
            b_blk = b_cb.wait()
            y_blk.store(ttl.matmul(a_blk, b_blk, transpose_b=True), acc=True)
            a_cb.pop()
            b_cb.pop()
        y_cb.push()

    @ttl.datamovement
    def read():
        column, row = ttl.core(dims=2)
        for k in range(4):
            a_blk = a_cb.reserve()
            b_blk = b_cb.reserve()
            ttl.copy(a[row, column + k], a_blk).wait()
            ttl.copy(b[row, column + k], b_blk).wait()
            a_cb.push()
            b_cb.push()

    @ttl.datamovement
    def write():
        y_blk = y_cb.wait()
        ttl.copy(y_blk, y[0, 0]).wait()
        y_cb.pop()


def matmul_tensors() -> list[ttnn.Tensor]:
    return [tensor(A), tensor(B), empty(32, 32)]


NOTED = {
    "ttl.operation": "0.13",
    "ttl.make_dataflow_buffer_like": "0.5",
    "ttl.DataflowBuffer": "0.5",
    "block_count=": "0.15",
    "ttl.node": "0.11",
    "block += value": "0.12",
    "push() of the block that reserve() returned": "0.7",
    "pop() of the block that wait() returned": "0.7",
}


@pytest.mark.rule("old-names")
def test_a_program_of_the_oldest_version_runs() -> None:
    tensors = matmul_tensors()
    run(oldest_matmul, *tensors)
    assert np.array_equal(ttl.to_numpy(tensors[-1]), A @ B.T)


@pytest.mark.rule("old-names")
def test_one_note_shows_what_is_written_now_and_since_when(capsys, monkeypatch) -> None:
    monkeypatch.setattr(PROCESS_DRIVER, "artifacts", Artifacts())  # of a program that is not known
    for _ in range(2):
        oldest_matmul(*matmul_tensors())
    text = capsys.readouterr().err
    assert text.count("note[TTL1018]") == 1
    for present, version in NOTED.items():
        assert text.count(f"since version {version}: {present}\n") == 1, text
    for kind in ("compute", "datamovement"):
        assert text.count(f"now @ttl.{kind}()\n") == 1, text


@pytest.mark.rule("old-names")
def test_a_second_operation_shows_only_what_the_first_did_not(capsys) -> None:
    @ttl.kernel(grid=(1, 1))
    def one(y):
        @ttl.datamovement()
        def nothing():
            pass

    @ttl.kernel(grid=(1, 1))
    def two(y):
        @ttl.datamovement()
        def nothing():
            ttl.core(dims=1)

    one(empty(32, 32))
    assert re.findall("since version (.*): ", capsys.readouterr().err) == ["0.13"]
    two(empty(32, 32))
    assert re.findall("since version (.*): ", capsys.readouterr().err) == ["0.11"]
    two(empty(32, 32))
    assert capsys.readouterr().err == ""


@pytest.mark.rule("old-names")
def test_present_names_and_names_of_the_program_get_no_note(capsys) -> None:
    def kernel(push):
        return push

    def core():
        return 0

    @ttl.operation(grid=(1, 1))
    def operation(y):
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=kernel(push=2))

        @ttl.compute()
        def make():
            with y_dfb.reserve() as block:
                block.store(ttl.math.fill(core()))

        @ttl.datamovement()
        def write():
            block = y_dfb.wait()
            ttl.copy(block, y[0, 0]).wait()
            block.pop()

    operation(empty(32, 32))
    assert capsys.readouterr().err == ""


# push() and pop() of a buffer ---------------------------------------------------------------------


def through(move):
    """An operation that brings the tiles of x to y; `move(dfb, x)` is its reader."""

    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=3)

        @ttl.datamovement()
        def read():
            move(dfb, x)

        @ttl.datamovement()
        def write():
            for i in range(0, 6, 2):
                first = dfb.wait()
                second = dfb.wait()
                ttl.copy(first, y[0, i]).wait()
                dfb.pop()
                ttl.copy(second, y[0, i + 1]).wait()
                dfb.pop()

    return operation


def held_both(dfb, x):
    for i in range(3):
        first = dfb.reserve()
        second = dfb.reserve()
        ttl.copy(x[0, 2 * i + 1], second).wait()
        ttl.copy(x[0, 2 * i], first).wait()
        dfb.push()
        dfb.push()


def carried(dfb, x):
    held = dfb.reserve()
    ttl.copy(x[0, 0], held).wait()
    for i in range(1, 6):
        following = dfb.reserve()
        ttl.copy(x[0, i], following).wait()
        dfb.push()
        held = following
    dfb.push()
    assert held is not None


def without_a_name(dfb, x):
    for i in range(6):
        ttl.copy(x[0, i], dfb.reserve()).wait()
        dfb.push()


def on_one_path(dfb, x):
    for i in range(6):
        block = dfb.reserve()
        ttl.copy(x[0, i], block).wait()
        if i % 2 == 0:
            dfb.push()
        else:
            block.push()


READERS = [held_both, carried, without_a_name, on_one_path]


@pytest.mark.rule("buffer-releases")
@pytest.mark.parametrize("reader", READERS)
def test_the_oldest_block_that_the_kernel_holds_is_released(reader) -> None:
    x, y = tensor(tiles(1, 2, 3, 4, 5, 6)), empty(32, 192)
    run(through(reader), x, y)
    assert np.array_equal(ttl.to_numpy(y), ttl.to_numpy(x))


@pytest.mark.rule("buffer-releases")
def test_a_value_that_a_loop_carries_outlives_the_pop_of_the_buffer() -> None:
    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=6)
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def sum_of_neighbours():
            before = x_dfb.wait()
            for _ in range(5):
                after = x_dfb.wait()
                y_blk = y_dfb.reserve()
                y_blk.store(10 * before + after)
                x_dfb.pop()
                y_dfb.push()
                before = after
            x_dfb.pop()

        @ttl.datamovement()
        def read():
            for i in range(6):
                with x_dfb.reserve() as block:
                    ttl.copy(x[0, i], block).wait()

        @ttl.datamovement()
        def write():
            for i in range(5):
                with y_dfb.wait() as block:
                    ttl.copy(block, y[0, i]).wait()

    x, y = tensor(tiles(1, 2, 3, 4, 5, 6)), empty(32, 160)
    run(operation, x, y)
    assert np.array_equal(ttl.to_numpy(y), tiles(12, 23, 34, 45, 56))


@pytest.mark.rule("buffer-releases")
@pytest.mark.parametrize("call", ["push", "pop"])
def test_a_buffer_of_which_nothing_is_held_cannot_be_released(call: str) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(x):
        dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))

        @ttl.datamovement()
        def move():
            getattr(dfb, call)()

    text = refused(operation, tensor(tiles(1)), slug="block-state")
    assert f"`dfb` has no block that could be {call}{'ped' if call == 'pop' else 'ed'} here" in text


@pytest.mark.rule("buffer-releases")
def test_one_release_too_many_is_an_error() -> None:
    def twice(dfb, x):
        for i in range(6):
            block = dfb.reserve()
            ttl.copy(x[0, i], block).wait()
            dfb.push()
            block.push()

    refused(through(twice), tensor(tiles(*range(6))), empty(32, 192), slug="block-state")


# store(x, acc=True) -------------------------------------------------------------------------------


def sums(add, count: int = 17) -> np.ndarray:
    """What `count` times `add(block, x)` makes of ones, and one 256, in bf16."""

    def body(y, x):
        add(y, x * 256)
        for _ in range(count - 1):
            add(y, x)

    operation, tensors = computing(body, np.ones((32, 32)), dtype=ttnn.bfloat16, fp32=True)
    run(operation, *tensors)
    return ttl.to_numpy(tensors[-1]).astype(np.float32)


def stored(y, x):
    y.store(x, acc=True)


def added(y, x):
    y += x


@pytest.mark.rule("store-acc")
def test_a_store_with_acc_is_an_addition_in_place() -> None:
    assert np.array_equal(sums(stored), sums(added))
    assert (sums(stored) == 272).all()  # rounded once, at the push


@pytest.mark.rule("store-acc")
def test_acc_may_depend_on_the_step() -> None:
    def body(y, x):
        for k in range(3):
            y.store(x, acc=k > 0)

    operation, tensors = computing(body, small(32, 32))
    run(operation, *tensors)
    assert np.array_equal(ttl.to_numpy(tensors[-1]), 3 * small(32, 32))


@pytest.mark.rule("store-acc")
def test_a_store_without_acc_replaces() -> None:
    def body(y, x):
        y.store(x, acc=True)
        y.store(y + x, acc=False)

    operation, tensors = computing(body, small(32, 32))
    run(operation, *tensors)
    assert np.array_equal(ttl.to_numpy(tensors[-1]), 2 * small(32, 32))


# Decorators ---------------------------------------------------------------------------------------


@pytest.mark.rule("kernel-decorators")
@pytest.mark.parametrize("arguments", [(1,), (len,), ("fast",)])
def test_a_decorator_of_a_kernel_takes_the_kernel_only(arguments) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(y):
        @ttl.compute(*arguments)
        def compute():
            pass

    text = refused(operation, empty(32, 32), slug="wrong-declaration")
    assert "@ttl.compute() takes no arguments" in text
