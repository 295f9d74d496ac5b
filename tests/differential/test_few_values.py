"""Constants are needed and run-time values are given, of which few are possible."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ttl
from differential.test_kernel_flow import agree, reader, writer
from ttl import ttnn
from ttl.diagnostics import TTLError, codes


def test_parameters_of_block_functions() -> None:
    """Loop counters, calculations with them, and numbers through functions."""

    def power(block, number):
        return ttl.math.pow(block, number % 3 + 1)

    def kernels(x, y, x_dfb, z_dfb, y_dfb):
        def compute():
            for i in range(6):
                with x_dfb.wait() as a, y_dfb.reserve() as out:
                    if i < 2:
                        out.store(a ** (i + 1))
                    elif i < 4:
                        out.store(ttl.math.clamp(power(a, i), min=-2.0 * i, max=i))
                    else:
                        out.store(ttl.math.threshold(ttl.math.round(a, (i - 4) // 2), i / 4, 1.0))

        return compute, reader(x, x_dfb), writer(y, y_dfb)

    agree(kernels)


def test_functions_of_python() -> None:
    def kernels(x, y, x_dfb, z_dfb, y_dfb):
        def compute():
            for i in range(6):
                quotient, rest = divmod(7 - 3 * i, 4)
                factor = math.ceil(i / 4) + math.floor(-i / 4) + math.trunc(i * 0.75)
                factor += round(i / 2) + round(i / 2 + 0.26, 1) + math.gcd(i, 4)
                factor *= min(i, 2.5) + max(1, i / 2, 2)
                factor += 2.0**i + 2**-i + (i - 3) ** 2 + i**0.5 + math.exp(i)
                with x_dfb.wait() as a, y_dfb.reserve() as out:
                    out.store(a * factor + quotient * 8 + rest)

        return compute, reader(x, x_dfb), writer(y, y_dfb)

    agree(kernels)


def test_items_that_are_blocks_transfers_or_functions() -> None:
    def kernels(x, y, x_dfb, z_dfb, y_dfb):
        def read():
            blocks = [x_dfb.reserve(), x_dfb.reserve()]
            for i in range(2):
                ttl.copy(x[0, 1 - i], blocks[i - 2]).wait()
            for block in blocks:
                block.push()
            for i in range(2, 6):
                with x_dfb.reserve() as block:
                    ttl.copy(x[0, i], block).wait()

        def compute():
            functions = [lambda a: a + a, lambda a: a * a, lambda a: a - 1.0]
            names = {0: 3.0, 1: 4.0, 2: 5.0}
            for i in range(6):
                with x_dfb.wait() as a, y_dfb.reserve() as out:
                    out.store(functions[i % 3](a) * names[i // 2])

        return compute, read, writer(y, y_dfb)

    agree(kernels)


def long_kernels(x, y, x_dfb, z_dfb, y_dfb):
    """The last iteration does not read ahead; lists of blocks whose first iterations fill them."""
    count = 300

    def read():
        following = x_dfb.reserve()
        next_transfer = ttl.copy(x[0, 0], following)
        for i in range(count):
            block, transfer = following, next_transfer
            if i + 1 < count:
                following = x_dfb.reserve()
                next_transfer = ttl.copy(x[0, (i + 1) % 6], following)
            transfer.wait()
            block.push()

    def compute():
        for _ in range(count):
            with x_dfb.wait() as a, y_dfb.reserve() as out:
                out.store(a + a)

    def write():
        under_way = []
        for i in range(count):
            block = y_dfb.wait()
            under_way.append((block, ttl.copy(block, y[0, i % 6])))
            if len(under_way) == 3:
                done, transfer = under_way.pop(0)
                transfer.wait()
                done.pop()
        for done, transfer in under_way:
            transfer.wait()
            done.pop()

    return compute, read, write


def test_long_loops_with_other_first_and_last_iterations() -> None:
    agree(long_kernels, block_count=4)


def test_callbacks_that_fill_lists_on_nodes_with_different_numbers_of_pipes() -> None:
    """Node 2 receives twice, node 1 once, node 0 never."""

    @ttl.operation(grid=(3, 1))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe(0, 2), ttl.Pipe(0, (slice(1, 3),))])
        own_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

        @ttl.datamovement()
        def read():
            blocks, posts, kept = [], [], None

            def receive(pipe):
                nonlocal kept
                kept = dfb.reserve()
                blocks.append(kept)
                posts.append(ttl.copy(pipe, kept))

            net.if_dst(receive)
            if net.is_src():
                with own_dfb.reserve() as own:
                    ttl.copy(a[0, 0], own).wait()
                    net.if_src(lambda pipe: ttl.copy(own, pipe).wait())
                with own_dfb.wait() as own:
                    ttl.copy(own, y[0, 0]).wait()
            for post in posts:
                post.wait()
            for block in blocks:
                block.push()

        @ttl.datamovement()
        def write():
            if net.is_dst():
                for i in range(ttl.node(1)):
                    with dfb.wait() as block:
                        ttl.copy(block, y[ttl.node(1), i]).wait()

    device = ttnn.open_device(device_id=0)
    results = []
    for backend in ("sim", "host"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TTL_BACKEND", backend)
            a = ttl.from_numpy(np.arange(1024.0).reshape(32, 32), ttnn.float32, device=device)
            y = ttnn.zeros((96, 64), dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=device)
            operation(a, y)
            results.append(ttl.to_numpy(y))
    np.testing.assert_array_equal(*results)
    assert (results[1][1::32, ::32] > 0).tolist() == [[True, False], [True, False], [True, True]]


def test_a_parameter_of_too_many_values_is_refused_in_the_words_of_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def kernels(x, y, x_dfb, z_dfb, y_dfb):
        def compute():
            for i in range(300):
                with x_dfb.wait() as a, y_dfb.reserve() as out:
                    out.store(ttl.math.leaky_relu(a, i / 300))

        return compute, reader(x, x_dfb), writer(y, y_dfb)

    monkeypatch.setenv("TTL_BACKEND", "host")
    with pytest.raises(TTLError) as caught:
        agree(kernels)
    (found,) = caught.value.diagnostics
    assert found.code is codes.NOT_COMPILED_YET
    assert "a parameter of ttl.math.leaky_relu()" in found.message


def agree_on(operation, shape=(64, 192)) -> np.ndarray:
    device = ttnn.open_device(device_id=0)
    results = []
    for backend in ("sim", "host"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TTL_BACKEND", backend)
            values = np.random.default_rng(5).integers(1, 9, shape).astype(np.float32)
            a = ttl.from_numpy(values, ttnn.float32, device=device)
            y = ttnn.zeros(shape, dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=device)
            operation(a, y)
            results.append(ttl.to_numpy(y))
    np.testing.assert_array_equal(*results)
    return results[1]


def test_what_differs_between_nodes() -> None:
    """Texts, lists of different lengths, None, and numbers that are parameters."""

    @ttl.operation(grid=(3, 1))
    def operation(a, y):
        number = ttl.node(1)
        mode = ("twice", "square", "clamped")[number]
        columns = list(range(number + 1))
        limit = None if number == 1 else 1.5 * number
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute():
            for _ in columns:
                with a_dfb.wait() as block, y_dfb.reserve() as out:
                    if mode == "twice":
                        out.store(block + block)
                    elif mode == "square":
                        out.store(block * block)
                    if limit is not None and mode == "clamped":
                        out.store(ttl.math.clamp(block, 0.0, limit))

        @ttl.datamovement()
        def read():
            for column in columns:
                with a_dfb.reserve() as block:
                    ttl.copy(a[0, column], block).wait()

        @ttl.datamovement()
        def write():
            for column in columns:
                with y_dfb.wait() as block:
                    ttl.copy(block, y[number % 2, (number // 2) * 3 + column]).wait()

    assert agree_on(operation).max() == 64


def test_buffers_by_number_in_long_loops() -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        dfbs = tuple(ttl.make_dataflow_buffer_like(a, shape=(1, 1)) for _ in range(3))

        @ttl.datamovement()
        def read():
            for i in range(600):
                with dfbs[i % 3].reserve() as block:
                    ttl.copy(a[i % 2, i % 6], block).wait()

        @ttl.datamovement()
        def write():
            for i in range(600):
                dfb = dfbs[i % 3]
                block = dfb.wait()
                ttl.copy(block, y[i % 2, i % 6]).wait()
                block.pop()

    assert agree_on(operation).max() == 8


def test_statements_that_are_written_with_others() -> None:
    """else of loops, match, tests that assign, imports, del, functions that call themselves."""

    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def read():
            import math as numbers
            from math import floor

            def send(column):
                with dfb.reserve() as block:
                    ttl.copy(a[ttl.node(1), column], block).wait()

            def down(column):
                if column >= 0:
                    send(column)
                    down(column - 2)

            total = 0
            for _ in range(2 + ttl.node(1)):
                total += 0.5
                if total > 1.0:
                    break
            else:
                send(floor(total))
            i = 0
            while (following := i + 1) < 3:
                match following + ttl.node(1):
                    case 1:
                        send(2)
                    case 2 | 3 if i < 9:
                        send(4)
                    case other:
                        send(other)
                i = following
            else:
                send(numbers.ceil(i - 0.5))
            gone = 3
            del gone
            down(0 if ttl.node(1) == 0 else 4)
            if i in range(0, 6, 2) and ttl.node(1) not in {0, 5}:
                pass
            else:
                send(0)

        @ttl.datamovement()
        def write():
            for column in range(6):
                with dfb.wait() as block:
                    ttl.copy(block, y[ttl.node(1), column]).wait()

    agree_on(operation)


def test_operations_of_any_number_of_tensors() -> None:
    @ttl.operation(grid=(1, 1))
    def operation(first, /, *others, factor=2.0):
        *more, y = others
        dfbs = [ttl.make_dataflow_buffer_like(each, shape=(1, 1)) for each in (first, *more)]
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute():
            with y_dfb.reserve() as out:
                for dfb in dfbs:
                    with dfb.wait() as block:
                        out += block * factor

        @ttl.datamovement()
        def read():
            for each, dfb in zip((first, *more), dfbs, strict=True):
                with dfb.reserve() as block:
                    ttl.copy(each[0, 0], block).wait()

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as block:
                ttl.copy(block, y[0, 0]).wait()

    found = agree_on(lambda a, y: operation(a, a, a, y, factor=3.0), (32, 32))
    assert found.max() == 72
    with pytest.raises(TTLError, match=r"from a ttnn tensor, not from \[\]"):
        zeros = ttnn.zeros(
            (32, 32), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=ttnn.open_device(device_id=0)
        )
        operation(zeros, zeros, [])


def test_a_dict_by_the_other_end_of_a_pipe() -> None:
    """And a slice whose bounds ask for the node each."""

    @ttl.operation(grid=(3, 1))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe((x, 0), (0, 0)) for x in (2, 1)])
        own_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 2))
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 2))

        @ttl.datamovement()
        def read():
            received = {}

            def receive(pipe):
                block = dfb.reserve()
                received[pipe.src] = block, ttl.copy(pipe, block)

            net.if_dst(receive)
            if net.is_src():
                with own_dfb.reserve() as own:
                    part = a[0:1, ttl.node(1) * 2 : ttl.node(1) * 2 + 2]
                    ttl.copy(part, own).wait()
                    net.if_src(lambda pipe: ttl.copy(own, pipe).wait())
                with own_dfb.wait() as own:
                    ttl.copy(own, y[1:2, 2 * ttl.node(1) : 2 * (ttl.node(1) + 1)]).wait()
            if (1, 0) in received:
                received[1, 0][1].wait()
            for source, (block, transfer) in received.items():
                if source != (1, 0):
                    transfer.wait()
                block.push()

        @ttl.datamovement()
        def write():
            if net.is_dst():
                for i in range(2):
                    with dfb.wait() as block:
                        ttl.copy(block, y[0:1, 2 * i : 2 * i + 2]).wait()

    agree_on(operation)


def test_lists_that_loops_change_item_by_item() -> None:
    """Numbers at places known at run time, after branches; lists that a `while` empties."""

    def kernels(x, y, x_dfb, z_dfb, y_dfb):
        def read():
            counts, order = [0] * 3, list(range(6))
            for i in range(600):
                counts[i % 3] += 1 + i % 2
            if counts[0] > 5:
                order[1] = 3
            order.append(counts[2] % 6)
            pending = []
            while order:
                block = x_dfb.reserve()
                pending.append((block, ttl.copy(x[1, order.pop()], block)))
                while len(pending) > 1:
                    oldest, transfer = pending.pop(0)
                    transfer.wait()
                    oldest.push()
            while pending:
                oldest, transfer = pending.pop(0)
                transfer.wait()
                oldest.push()

        def compute():
            for _ in range(7):
                with x_dfb.wait() as a, y_dfb.reserve() as out:
                    out.store(a + a)

        return compute, read, writer(y, y_dfb, 7)

    agree(kernels)


def test_an_item_behind_the_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def kernels(x, y, x_dfb, z_dfb, y_dfb):
        def read():
            places = (4, 2, 0)
            for i in range(6):
                with x_dfb.reserve() as block:
                    ttl.copy(x[0, places[i]], block).wait()

        def compute():
            for _ in range(6):
                with x_dfb.wait() as a, y_dfb.reserve() as out:
                    out.store(a + a)

        return compute, read, writer(y, y_dfb)

    monkeypatch.setenv("TTL_BACKEND", "host")
    with pytest.raises(TTLError, match="IndexError: tuple index out of range"):
        agree(kernels)


def test_lists_that_branches_make_and_change() -> None:
    """Item by item where both have as many; lists of one iteration end with it."""

    def kernels(x, y, x_dfb, z_dfb, y_dfb):
        def send(place):
            with x_dfb.reserve() as block:
                ttl.copy(x[1, place % 6], block).wait()

        def read():
            turning, by_name = [0, 1, 2, 3, 4, 5], {"a": 1, "b": 2}
            for i in range(300):
                turning.append(turning.pop(0))
                if i % 2:
                    turning.reverse()
                elif i > 200:
                    continue
                if i % 7 == 3:
                    turning[i % 6] += 1
            if turning[0] > 2:
                made = [5, 4]
                made[0] = turning[1]
                by_name["a"] = 3
            else:
                made = [1, 2]
                made.reverse()
                by_name["b"] = by_name["a"] + 4
            for place in (*turning[:2], *made, *by_name.values()):
                send(place)

        def compute():
            for _ in range(6):
                with x_dfb.wait() as a, y_dfb.reserve() as out:
                    out.store(a + a)

        return compute, read, writer(y, y_dfb)

    agree(kernels)
