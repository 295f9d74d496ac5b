"""What kernels may capture, and that they do not write to it."""

from __future__ import annotations

import pytest

import ttl
from conformance.harness import empty, run, tensor, tile_numbers, tiles


@pytest.mark.rule("captured-kinds")
def test_kernels_capture_constants_tensors_and_objects_of_the_language():
    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        whole, part, flag, word, many = 3, 0.5, True, "double", (1, 2.5, "x", (True,))
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))
        net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])
        semaphore = ttl.Semaphore()

        @ttl.datamovement()
        def read():
            with a_dfb.reserve() as a_blk:
                if net.is_src():
                    ttl.copy(a[0, 0], a_blk).wait()
                net.if_src(lambda pipe: ttl.copy(a_blk, pipe).wait())
                net.if_dst(lambda pipe: ttl.copy(pipe, a_blk).wait())
            semaphore.wait_ge(0)

        @ttl.compute()
        def compute():
            with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
                value = a_blk * whole + part if flag else a_blk
                y_blk.store(value * 2 + many[1] if word == "double" and many[3][0] else value)

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[0, ttl.node(1)]).wait()

    run(operation, tensor(tiles(5)), y := empty(32, 64))
    assert tile_numbers(y) == [33.5, 33.5]


class Settings:
    def __init__(self):
        self.factor = 4


def with_captured(use):
    @ttl.operation(grid=(1, 1))
    def operation(y):
        numbers, by_name, settings = [1, 2], {"three": 3}, Settings()
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute():
            with y_dfb.reserve() as y_blk:
                y_blk.store(ttl.math.fill(use(numbers, by_name, settings)))
                assert numbers and by_name and settings

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[0, 0]).wait()

    return operation


@pytest.mark.rule("captured-read")
def test_a_captured_list_dict_or_object_may_be_read():
    operation = with_captured(
        lambda numbers, by_name, settings: sum(numbers) + by_name["three"] + settings.factor
    )
    run(operation, y := empty(32, 32))
    assert tile_numbers(y) == [10]


@pytest.mark.rule("captured-write")
@pytest.mark.parametrize("what", ["list item", "append", "dict", "attribute"])
def test_writing_to_a_captured_list_dict_or_object_is_diagnosed(what, capsys, monkeypatch):
    @ttl.operation(grid=(1, 1))
    def operation(y):
        numbers, by_name, settings = [1, 2], {"three": 3}, Settings()

        if what == "list item":

            @ttl.datamovement()
            def move():
                numbers[0] = 5

        elif what == "append":

            @ttl.datamovement()
            def move():
                numbers.append(5)

        elif what == "dict":

            @ttl.datamovement()
            def move():
                by_name["four"] = 4

        else:

            @ttl.datamovement()
            def move():
                settings.factor = 5

    operation(empty(32, 32))
    warning = capsys.readouterr().err
    assert warning.startswith("warning[TTL1016]: kernel `move` writes `")
    assert any(name in warning for name in ("numbers", "by_name", "settings"))
    monkeypatch.setenv("TTL_BACKEND", "host")
    with pytest.raises(ttl.CompileError, match="TTL1016"):
        operation(empty(32, 32))


@pytest.mark.rule("captured-write")
def test_a_list_made_in_the_kernel_may_be_written():
    def use(numbers, by_name, settings):
        own = []
        own.append(7)
        own[0] += 1
        return own[0]

    run(with_captured(use), y := empty(32, 32))
    assert tile_numbers(y) == [8]
