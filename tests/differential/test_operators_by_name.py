"""Operators under the names that Python gives them: `a.__add__(b)`, `operator.add(a, b)`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ttl
from agreement.verdicts import checked
from ttl import ttnn
from ttl.config import chosen_options
from ttl.diagnostics import TTLError

NODES = 3
DEVICE = ttnn.open_device(device_id=0)
Use = Callable[[Any, Any], Any]


def operation_of(use: Callable[..., None]) -> Any:
    """`use(x, out, node)` on each node, where x is two."""

    @ttl.operation(grid=(NODES, 1))
    def operation(x, y):
        x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute():
            with x_dfb.wait() as block, y_dfb.reserve() as out:
                use(block, out, ttl.node(dims=1))

        @ttl.datamovement()
        def read():
            with x_dfb.reserve() as block:
                ttl.copy(x[0, ttl.node(dims=1)], block).wait()

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as block:
                ttl.copy(block, y[0, ttl.node(dims=1)]).wait()

    return operation


def tensors() -> tuple[Any, Any]:
    x = ttl.from_numpy(np.full((32, 32 * NODES), 2.0), ttnn.float32, device=DEVICE)
    return x, ttnn.zeros_like(x)


def run(use: Callable[..., None], backend: str) -> list[float]:
    x, y = tensors()
    with chosen_options(backend=backend):
        operation_of(use)(x, y)
    return [float(value) for value in ttl.to_numpy(y)[0, ::32]]


def stored(value: Use) -> Callable[..., None]:
    def use(x, out, node):
        out.store(value(x, node))

    return use


def added_in_place(x, out, node):
    out.store(x)
    out.__iadd__(x)


def added_in_a_loop(x, out, node):
    out.store(x)
    for _ in range(5):
        out.__iadd__(x * 2)


def a_list_that_grows(x, out, node):
    items = [1, 2]
    for number in range(2):
        items.__iadd__([number])
        items.__setitem__(0, node)
    items.__delitem__(1)
    out.store(x * sum(items) + len(items))


def a_method_that_is_kept(x, out, node):
    add, times = x.__add__, node.__mul__
    out.store(add(x) * times(3))


EXPRESSIONS: dict[str, tuple[Use, list[float]]] = {
    "of blocks": (lambda x, n: x.__add__(x).__mul__(3).__radd__(1), [13, 13, 13]),
    "of one block": (lambda x, n: x.__neg__().__abs__().__truediv__(4), [0.5, 0.5, 0.5]),
    "of numbers": (lambda x, n: x * n.__add__(3).__mul__(2).__rsub__(20), [28, 24, 20]),
    "of constants": (lambda x, n: x * (5).__add__(n).__mod__(4), [2, 4, 6]),
    "items": (lambda x, n: x * ((3, 4, 5).__getitem__(n) + [1, 2].__getitem__(1)), [10, 12, 14]),
    "one number": (lambda x, n: x * (n.__neg__() + n.__index__() + n.__float__()), [0, 2, 4]),
    "comparisons": (lambda x, n: x * 2 if n.__lt__(1) else x.__sub__(3), [4, -1, -1]),
    "membership": (lambda x, n: x * (2 if (1, 2).__contains__(n) else 30), [60, 4, 4]),
    "truth": (lambda x, n: x * (2 if n.__bool__() else 30), [60, 4, 4]),
    "lengths": (lambda x, n: x * [1, 2].__len__(), [4, 4, 4]),
    "functions": (lambda x, n: operator.add(x, operator.mul(x, n)), [2, 4, 6]),
    "a function of an item": (lambda x, n: x * operator.getitem((1, 2, 3), n), [2, 4, 6]),
    "functions that compare": (lambda x, n: x if operator.gt(n, 0) else x * 5, [10, 2, 2]),
}
PROGRAMS: dict[str, tuple[Callable[..., None], list[float]]] = {
    **{name: (stored(value), expected) for name, (value, expected) in EXPRESSIONS.items()},
    "a sum": (added_in_place, [4, 4, 4]),
    "a sum in a loop": (added_in_a_loop, [22, 22, 22]),
    "a list": (a_list_that_grows, [5, 7, 9]),
    "a method that is kept": (a_method_that_is_kept, [0, 12, 24]),
}


@pytest.mark.parametrize("backend", ["sim", "host"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_name_means_the_operator(name: str, backend: str) -> None:
    use, expected = PROGRAMS[name]
    assert run(use, backend) == expected


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_runs_passes_the_check(name: str) -> None:
    assert checked(operation_of(PROGRAMS[name][0]), (tensors(), {})) == ()


REFUSED: dict[str, Use] = {
    "no such operator": lambda x, n: x.__and__(x),
    "in place": lambda x, n: x.__imul__(2),
    "of a text": lambda x, n: x.__add__("a"),
    "an argument too few": lambda x, n: x.__add__(),
    "a number has none in place": lambda x, n: x * n.__iadd__(1),
    "an item of a block": lambda x, n: x.__getitem__(0),
    "the truth of a block": lambda x, n: x * (1 if x.__bool__() else 2),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_operator_does_is_refused_alike(name: str) -> None:
    said = []
    for backend in ("sim", "host"):
        with pytest.raises(TTLError) as caught:
            run(stored(REFUSED[name]), backend)
        said.append(caught.value.diagnostics[0].code)
    assert said[0] == said[1]
