"""Nets of any pipes: whatever starts and ends where, compiled as simulated, under any order.

All nodes send in the order in which the pipes are declared, and receive in that order in their
other kernel: the first transfer that is not complete can always go on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ttl
from ttl import ttnn

DEVICE = ttnn.open_device(device_id=0)
Place = tuple[int | slice, int | slice]


@dataclass(frozen=True)
class Exchange:
    """`ahead` blocks go through each pipe in each of `rounds`; as many are posted at a time."""

    grid: tuple[int, int]
    pipes: tuple[tuple[tuple[int, int], Place], ...]
    rounds: int
    ahead: int
    spare: int  # blocks that the receiving buffer has more

    @property
    def rows(self) -> int:
        return len(self.pipes) * self.rounds * self.ahead


@st.composite
def exchanges(draw: st.DrawFn) -> Exchange:
    grid = draw(st.tuples(st.integers(1, 4), st.integers(1, 3)))

    def part(size: int) -> int | slice:
        first = draw(st.integers(0, size - 1))
        last = draw(st.integers(first, size - 1))
        return slice(first, last + 1) if draw(st.booleans()) else first

    def node() -> tuple[int, int]:
        return draw(st.integers(0, grid[0] - 1)), draw(st.integers(0, grid[1] - 1))

    count = draw(st.integers(1, 6))
    pipes = tuple((node(), (part(grid[0]), part(grid[1]))) for _ in range(count))
    return Exchange(
        grid, pipes, draw(st.integers(1, 2)), draw(st.integers(1, 2)), draw(st.integers(0, 1))
    )


def operation_of(exchange: Exchange) -> Any:
    ahead, rounds = exchange.ahead, exchange.rounds

    @ttl.operation(grid=exchange.grid)
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe(*ends) for ends in exchange.pipes])
        out = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        into = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=ahead + exchange.spare)

        @ttl.datamovement()
        def send():
            sent = 0

            def give(pipe):
                nonlocal sent
                for _ in range(ahead):
                    with out.reserve() as block:
                        ttl.copy(a[sent, ttl.node(1)], block).wait()
                    with out.wait() as block:
                        ttl.copy(block, pipe).wait()
                    sent += 1

            for _ in range(rounds):
                net.if_src(give)

        @ttl.datamovement()
        def receive():
            got = 0

            def take_one(pipe):
                nonlocal got
                with into.reserve() as block:
                    ttl.copy(pipe, block).wait()
                with into.wait() as block:
                    ttl.copy(block, y[got, ttl.node(1)]).wait()
                got += 1

            def take_two(pipe):
                nonlocal got
                with into.reserve() as first, into.reserve() as second:
                    posts = ttl.GroupTransfer()
                    posts.add(ttl.copy(pipe, first))
                    posts.add(ttl.copy(pipe, second))
                    posts.wait_all()
                with into.wait() as first:
                    ttl.copy(first, y[got, ttl.node(1)]).wait()
                with into.wait() as second:
                    ttl.copy(second, y[got + 1, ttl.node(1)]).wait()
                got += 2

            for _ in range(rounds):
                net.if_dst(take_one if ahead == 1 else take_two)

    return operation


def expected(exchange: Exchange, a: np.ndarray) -> np.ndarray:
    """The numbers of the tiles that each node gets, by the order of the transfers."""
    columns, rows = exchange.grid
    result = np.zeros((exchange.rows, columns * rows))
    sent = dict.fromkeys(range(columns * rows), 0)
    got = dict.fromkeys(range(columns * rows), 0)
    for _ in range(exchange.rounds):
        for (x, y), place in exchange.pipes:
            xs, ys = (
                range(item.start, item.stop) if isinstance(item, slice) else (item,)
                for item in place
            )
            source = x * rows + y
            for _ in range(exchange.ahead):
                for receiver in (x * rows + y for x in xs for y in ys):
                    result[got[receiver], receiver] = a[sent[source], source]
                    got[receiver] += 1
                sent[source] += 1
    return result


def tensor(tiles: np.ndarray) -> Any:
    values = np.kron(tiles, np.ones((32, 32))).astype(np.float32)
    return ttl.from_numpy(values, dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)


@settings(max_examples=12)
@given(exchange=exchanges(), seed=st.integers(0, 100))
def test_what_goes_into_a_pipe_comes_out_of_it(exchange: Exchange, seed: int) -> None:
    nodes = exchange.grid[0] * exchange.grid[1]
    a = np.arange(1, exchange.rows * nodes + 1).reshape(exchange.rows, nodes)
    wanted = expected(exchange, a)
    operation = operation_of(exchange)
    for backend in ("sim", "host"):
        y = tensor(np.zeros((exchange.rows, nodes)))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TTL_BACKEND", backend)
            patch.setenv("TTL_SEED", str(seed))
            operation(tensor(a), y)
        assert np.array_equal(ttl.to_numpy(y)[::32, ::32], wanted), backend
