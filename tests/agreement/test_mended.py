"""Programs on which check, simulator and executor once disagreed: all of them run them alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ttl
from agreement.verdicts import checked, copied, run
from ttl import ttnn
from ttl.config import chosen_options

DEVICE = ttnn.open_device(device_id=0)
STEPS = (4, 300)  # few enough to unroll, and not
WAYS: tuple[dict[str, Any], ...] = (
    {"backend": "sim"},
    {"backend": "sim", "seed": 1},
    {"backend": "host"},
    {"backend": "host", "seed": 1},
    {"backend": "host", "seed": 2},
)


def tensor(rows: int, columns: int, values: np.ndarray | None = None) -> Any:
    if values is None:
        values = np.zeros((32 * rows, 32 * columns), np.float32)
    return ttl.from_numpy(values.astype(np.float32), dtype=ttnn.float32, device=DEVICE)


STRICT = {"backend": "sim", "strict": True}


def agree(operation: Any, *tensors: Any, leaves_out: bool = False) -> np.ndarray:
    """What the last tensor holds in the end, the same on all ways; `leaves_out`: that --strict
    refuses the program for what it leaves out.
    """
    results = []
    for way in WAYS if leaves_out else (*WAYS, STRICT):
        args, _ = copied((tensors, {}))
        with chosen_options(**way):
            operation(*args)
        results.append(ttl.to_numpy(args[-1]))
    assert checked(operation, (tensors, {})) == ()
    for each in results[1:]:
        np.testing.assert_array_equal(each, results[0])
    return results[0]


def numbered(count: int = 8) -> Any:
    """A row of tiles, each with its number."""
    return tensor(1, count, np.repeat(np.arange(count), 32)[None].repeat(32, 0))


def tile_numbers(result: np.ndarray) -> list[float]:
    return result[0, ::32].tolist()


# A block that is held into a loop and released in one of its iterations ---------------------------


def moving(take: Any, pushes: int, first: int = 0) -> Any:
    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

        @ttl.datamovement()
        def read():
            for i in range(pushes):
                with a_dfb.reserve() as block:
                    ttl.copy(a[0, (first + i) % 8], block).wait()

        @ttl.datamovement()
        def write():
            take(a_dfb, y)

    return operation


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("last", [False, True])
def test_a_block_that_one_iteration_releases(steps: int, last: bool) -> None:
    chosen = steps - 1 if last else 0

    def take(a_dfb, y):
        held = a_dfb.wait()
        for i in range(steps):
            if i == chosen:
                ttl.copy(held, y[0, 5]).wait()
                held.pop()

    result = agree(moving(take, 1, first=3), numbered(), tensor(1, 8), leaves_out=True)
    assert tile_numbers(result) == [0, 0, 0, 0, 0, 3, 0, 0]


@pytest.mark.parametrize("steps", STEPS)
def test_a_block_that_the_first_iteration_releases_before_others_come(steps: int) -> None:
    def take(a_dfb, y):
        held = a_dfb.wait()
        for i in range(steps):
            if i == 0:
                ttl.copy(held, y[0, 0]).wait()
                held.pop()
            else:
                with a_dfb.wait() as block:
                    ttl.copy(block, y[0, i % 8]).wait()

    result = agree(moving(take, steps), numbered(), tensor(1, 8), leaves_out=True)
    assert tile_numbers(result)[:4] == [0, 1, 2, 3]


def test_a_compute_kernel_releases_in_the_first_iteration() -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)

        @ttl.compute()
        def compute():
            held = a_dfb.wait()
            for i in range(8):
                with y_dfb.reserve() as y_blk:
                    if i == 0:
                        y_blk.store(held + 4)
                        held.pop()
                    else:
                        y_blk.store(ttl.block.fill(1, shape=(1, 1)))

        @ttl.datamovement()
        def read():
            with a_dfb.reserve() as block:
                ttl.copy(a[0, 3], block).wait()

        @ttl.datamovement()
        def write():
            for i in range(8):
                with y_dfb.wait() as block:
                    ttl.copy(block, y[0, i]).wait()

    result = agree(operation, numbered(), tensor(1, 8), leaves_out=True)
    assert tile_numbers(result) == [7, *[1] * 7]


def test_a_block_that_each_iteration_releases_is_refused() -> None:
    def take(a_dfb, y):
        held = a_dfb.wait()
        for _ in range(4):
            held.pop()

    arguments = ((numbered(), tensor(1, 8)), {})
    operation = moving(take, 1)
    assert checked(operation, arguments) == ("TTL3001",)
    assert run("sim", operation, arguments) == run("host", operation, arguments) == ("TTL3001",)


# Several blocks held of a buffer that they do not divide ------------------------------------------


@pytest.mark.parametrize(("held", "block_count"), [(2, 3), (2, 5), (3, 4), (3, 5)])
def test_blocks_that_do_not_divide_their_buffer(held: int, block_count: int) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=block_count)
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=block_count)

        @ttl.compute()
        def compute():
            for _ in range(8):
                blocks = [a_dfb.wait() for _ in range(held)]
                results = [y_dfb.reserve() for _ in range(held)]
                for block, result in zip(blocks, results, strict=True):
                    result.store(blocks[0] + block * 10)
                for block, result in zip(blocks, results, strict=True):
                    block.pop()
                    result.push()

        @ttl.datamovement()
        def read():
            for i in range(8 * held):
                with a_dfb.reserve() as block:
                    ttl.copy(a[0, i], block).wait()

        @ttl.datamovement()
        def write():
            for i in range(8 * held):
                with y_dfb.wait() as block:
                    ttl.copy(block, y[0, i]).wait()

    result = agree(operation, numbered(8 * held), tensor(1, 8 * held))
    assert tile_numbers(result) == [i - i % held + 10 * i for i in range(8 * held)]


# Numbers that are added to a reserved block -------------------------------------------------------


@ttl.operation(grid=(1, 1))
def adds_numbers(a, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

    @ttl.compute()
    def compute():
        with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
            y_blk += 1
            y_blk += a_blk
            for i in range(4):
                y_blk += i
            y_blk += ttl.node(dims=1) + 2.5

    @ttl.datamovement()
    def read():
        with a_dfb.reserve() as block:
            ttl.copy(a[0, 3], block).wait()

    @ttl.datamovement()
    def write():
        with y_dfb.wait() as block:
            ttl.copy(block, y[0, 0]).wait()


def test_numbers_are_added_to_a_reserved_block() -> None:
    assert tile_numbers(agree(adds_numbers, numbered(), tensor(1, 1))) == [1 + 3 + 6 + 2.5]


# Pipes under conditions that only the run knows ---------------------------------------------------


@ttl.operation(grid=(3, 1))
def by_data(a, y):
    """The sign of a number decides which net a block goes through, in each step."""
    flag_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
    got_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=3)
    own_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
    to_all = ttl.PipeNet([ttl.Pipe((0, 0), (slice(1, 3), 0))])
    ring = ttl.PipeNet([ttl.Pipe((i, 0), ((i + 1) % 3, 0)) for i in range(3)])

    @ttl.datamovement()
    def move():
        column = ttl.node(dims=1)
        for i in range(6):
            with flag_dfb.reserve() as block:
                ttl.copy(a[0, i], block).wait()
            with flag_dfb.wait() as block:
                number = ttl.raw_element_read(block, 0, 0)
            if number > 0.0:
                with got_dfb.reserve() as block:

                    def send(pipe):
                        ttl.copy(a[0, i], block).wait()  # noqa: B023
                        ttl.copy(block, pipe).wait()

                    to_all.if_src(send)
                    to_all.if_dst(lambda pipe: ttl.copy(pipe, block).wait())
            else:
                with own_dfb.reserve() as own:
                    ttl.copy(a[1, column], own).wait()
                with got_dfb.reserve() as block, own_dfb.wait() as own:
                    posts = []
                    ring.if_dst(lambda pipe: posts.append(ttl.copy(pipe, block)))  # noqa: B023
                    ring.if_src(lambda pipe: ttl.copy(own, pipe).wait())
                    for post in posts:
                        post.wait()

    @ttl.datamovement()
    def write():
        for i in range(6):
            with got_dfb.wait() as block:
                ttl.copy(block, y[i, ttl.node(dims=1)]).wait()


def test_pipes_under_a_condition_that_data_decide() -> None:
    numbers = np.array([[1, -2, 3, 4, -5, 6], [10, 20, 30, 40, 50, 60]])
    result = agree(by_data, tensor(2, 6, numbers.repeat(32, 0).repeat(32, 1)), tensor(6, 3))
    ring = [30, 10, 20]
    wanted = [[number] * 3 if number > 0 else ring for number in numbers[0]]
    np.testing.assert_array_equal(result[::32, ::32], wanted)


@ttl.operation(grid=(2, 1))
def decided_by_each_node(a, y):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
    net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])

    @ttl.datamovement()
    def move():
        column = ttl.node(dims=1)
        with dfb.reserve() as block:
            ttl.copy(a[0, column], block).wait()
            if ttl.raw_element_read(block, 0, 0) > 0.0:
                net.if_src(lambda pipe: ttl.copy(block, pipe).wait())
                net.if_dst(lambda pipe: ttl.copy(pipe, block).wait())
        with dfb.wait() as block:
            ttl.copy(block, y[0, column]).wait()


@pytest.mark.parametrize("numbers", [(1, 2), (-1, -2), (1, -2), (-1, 2)])
def test_nodes_that_decide_otherwise_wait_for_each_other_on_every_way(
    numbers: tuple[int, int],
) -> None:
    a = tensor(1, 2, np.array([numbers]).repeat(32, 0).repeat(32, 1))
    arguments = ((a, tensor(1, 2)), {})
    stuck = () if numbers[0] * numbers[1] > 0 else ("TTL5001",)
    assert run("sim", decided_by_each_node, arguments) == stuck
    assert run("host", decided_by_each_node, arguments) == stuck
    assert checked(decided_by_each_node, arguments) == ()
