"""Lists with several names, variables that functions keep, and functions in others' names."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest

import ttl
from ttl import ttnn

NODES = 2


def results(number: Callable[[int], float], backend: str) -> list[float]:
    """What `number(node)` is in a compute kernel, on each node."""

    @ttl.operation(grid=(NODES, 1))
    def operation(y):
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute():
            found = number(ttl.node(dims=1))
            with y_dfb.reserve() as block:
                block.store(ttl.block.fill(found, shape=(1, 1)))

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as block:
                ttl.copy(block, y[0, ttl.node(dims=1)]).wait()

    device = ttnn.open_device(device_id=0)
    y = ttnn.zeros((32, 32 * NODES), dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=device)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TTL_BACKEND", backend)
        operation(y)
    return [float(value) for value in ttl.to_numpy(y)[0, ::32]]


def item_of_a_list(n):
    lists = [[1], [2]]
    lists[n][0] = 9
    return lists[0][0] * 10 + lists[1][0]


def one_list_or_another(n):
    left, right = [1], [2]
    chosen = left if n else right
    chosen[0] = 9
    return left[0] * 10 + right[0]


def counter():
    count = 0

    def step():
        nonlocal count
        count += 1
        return count

    return step


def returned_function_in_a_loop(n):
    step = counter()
    for _ in range(3):
        step()
    return step() + n


def condition_that_assigns(n):
    count = 0

    def step():
        nonlocal count
        count += 1
        return count

    while step() < 5 + n:
        pass
    return count


def handed_on(n):
    def inner():
        got = yield from range(n + 3)
        assert got is None

    return sum_of(inner())


def sum_of(numbers):
    total = 0
    for number in numbers:
        total += number
    return total


def while_that_assigns_in_its_second_part(n):
    count = 0
    while count < n + 3 and (following := count + 2) < 9:
        count = following
    return count


def base(x=7):
    return x


@functools.wraps(base)
def wrapped(x=2):
    return x


def other_functions_name(n):
    return wrapped() + n


CASES = {
    item_of_a_list: [92.0, 19.0],
    one_list_or_another: [19.0, 92.0],
    returned_function_in_a_loop: [4.0, 5.0],
    condition_that_assigns: [5.0, 6.0],
    handed_on: [3.0, 6.0],
    while_that_assigns_in_its_second_part: [4.0, 4.0],
    other_functions_name: [2.0, 3.0],
}


@pytest.mark.parametrize("backend", ["sim", "host"])
@pytest.mark.parametrize("number", CASES, ids=lambda case: case.__name__)
def test_as_in_python(number: Callable[[int], float], backend: str) -> None:
    assert results(number, backend) == CASES[number]


INSIDE_ITSELF: dict[str, object] = {"factor": 2}
INSIDE_ITSELF["itself"] = INSIDE_ITSELF


@pytest.mark.parametrize("backend", ["sim", "host"])
def test_a_dict_that_is_in_itself(backend: str) -> None:
    assert results(lambda n: INSIDE_ITSELF["factor"] * (n + 1), backend) == [2.0, 4.0]


def test_a_dict_with_values_of_the_run_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    def shown(n):
        print({"node": n, "word": "x"})
        return n

    texts = []
    for backend in ("sim", "host"):
        results(shown, backend)
        texts.append([line for line in capfd.readouterr().out.splitlines() if "node" in line])
    assert texts[0] == texts[1] and "{'node': 1, 'word': 'x'}" in texts[0][1]
