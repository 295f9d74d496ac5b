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
            a = ttnn.from_numpy(np.arange(1024.0).reshape(32, 32), ttnn.float32, device=device)
            y = ttnn.zeros((96, 64), dtype=ttnn.float32, device=device)
            operation(a, y)
            results.append(ttnn.to_numpy(y))
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
