"""Objects that differ between nodes: methods, partials, arrays, containers, in every kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

import ttl
from agreement.verdicts import checked
from ttl import ttnn
from ttl.config import chosen_options
from ttl.diagnostics import TTLError

NODES = 3
DEVICE = ttnn.open_device(device_id=0)
Make = Callable[[int], Any]
Use = Callable[[Any, Any], Any]


def operation_of(make: Make, use: Use) -> Any:
    """`y = use(x, made)` on each node, where x is one and `made` is what its body makes."""

    @ttl.operation(grid=(NODES, 1))
    def operation(x, y):
        node = ttl.node(dims=1)
        made = make(node)
        x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute():
            with x_dfb.wait() as block, y_dfb.reserve() as out:
                out.store(use(block, made))

        @ttl.datamovement()
        def read():
            with x_dfb.reserve() as block:
                ttl.copy(x[0, node], block).wait()

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as block:
                ttl.copy(block, y[0, node]).wait()

    return operation


def tensors() -> tuple[Any, Any]:
    x = ttl.from_numpy(np.ones((32, 32 * NODES)), ttnn.float32, device=DEVICE)
    return x, ttnn.zeros_like(x)


def run(make: Make, use: Use, backend: str) -> list[float]:
    x, y = tensors()
    with chosen_options(backend=backend):
        operation_of(make, use)(x, y)
    return [float(value) for value in ttl.to_numpy(y)[0, ::32]]


class Scale:
    bias = 1

    def __init__(self, n: int):
        self.n, self.pair, self.array = n, (n, 2 * n), np.arange(4) * n

    def times(self, x, k=1):
        return x * (self.n + 1) * k

    @property
    def twice(self) -> int:
        return self.n * 2

    def through_another(self, x):
        return self.times(x) + self.pair[1]

    def __call__(self, x):
        return x * (self.n + 4)

    @staticmethod
    def plus_one(x):
        return x + 1

    @classmethod
    def plus_bias(cls, x):
        return x + cls.bias

    def __len__(self) -> int:
        return self.n + 3

    def __getitem__(self, index: int) -> int:
        return self.n * index

    def __eq__(self, other: object) -> bool:
        return self.n == other

    __hash__ = None  # type: ignore[assignment]


class Holder:
    def __init__(self, n: int):
        self.scale, self.function = Scale(n), lambda x: x * (n + 2)


@dataclass
class Plain:
    n: int

    def times(self, x):
        return x * self.n


class Named(NamedTuple):
    n: int

    def times(self, x):
        return x * (self.n + 1)


def times(x, k, j=2):
    return x * (k + j)


def numbers(n: int) -> Any:
    return np.arange(5) * n


def table(n: int) -> Any:
    return np.arange(6).reshape(2, 3) * n


def here() -> Any:
    return ttl.node(dims=1)


WORKING: dict[str, tuple[Make, Use, list[float]]] = {
    "method": (lambda n: Scale(n).times, lambda x, m: m(x), [1, 2, 3]),
    "method with a keyword": (lambda n: Scale(n).times, lambda x, m: m(x, k=3), [3, 6, 9]),
    "method of an object": (Scale, lambda x, m: m.times(x), [1, 2, 3]),
    "method of a method": (Scale, lambda x, m: m.through_another(x), [1, 4, 7]),
    "method's object": (lambda n: Scale(n).times, lambda x, m: m.__self__.times(x), [1, 2, 3]),
    "property": (Scale, lambda x, m: x * m.twice, [0, 2, 4]),
    "tuple": (Scale, lambda x, m: x * m.pair[1], [0, 2, 4]),
    "array of an object": (Scale, lambda x, m: x * m.array[1], [0, 1, 2]),
    "object that is called": (Scale, lambda x, m: m(x), [4, 5, 6]),
    "static method": (Scale, lambda x, m: m.plus_one(x), [2, 2, 2]),
    "class method": (Scale, lambda x, m: m.plus_bias(x), [2, 2, 2]),
    "attribute of the class": (Scale, lambda x, m: x * m.bias, [1, 1, 1]),
    "object in an object": (Holder, lambda x, m: m.scale.times(x) + m.function(x), [3, 5, 7]),
    "length": (Scale, lambda x, m: x * len(m), [3, 4, 5]),
    "item": (Scale, lambda x, m: x * m[3], [0, 3, 6]),
    "equality": (Scale, lambda x, m: x * 3 if m == 1 else x, [1, 3, 1]),
    "identity": (Scale, lambda x, m: x * 3 if m is m else x, [3, 3, 3]),
    "class": (Scale, lambda x, m: x * 3 if isinstance(m, Scale) else x, [3, 3, 3]),
    "type": (Scale, lambda x, m: x * 3 if type(m) is Scale else x, [3, 3, 3]),
    "truth": (lambda n: [0] * n, lambda x, m: x * 3 if m else x, [1, 3, 3]),
    "getattr": (Scale, lambda x, m: x * getattr(m, "n", 4) * getattr(m, "q", 4), [0, 4, 8]),
    "text": (Plain, lambda x, m: x * len(str(m)), [10, 10, 10]),
    "f-string": (Plain, lambda x, m: x * len(f"{m}"), [10, 10, 10]),
    "dataclass": (Plain, lambda x, m: m.times(x), [0, 1, 2]),
    "named tuple": (Named, lambda x, m: m.times(x), [1, 2, 3]),
    "partial": (lambda n: partial(times, k=n), lambda x, m: m(x), [2, 3, 4]),
    "partial that is overruled": (lambda n: partial(times, k=n), lambda x, m: m(x, j=5), [5, 6, 7]),
    "partial of places": (
        lambda n: partial(lambda k, x: x * (k + 1), n),
        lambda x, m: m(x),
        [1, 2, 3],
    ),
    "partial of a closure": (
        lambda n: partial(lambda x, k: x * (k + n), k=n),
        lambda x, m: m(x),
        [0, 2, 4],
    ),
    "partial of a method": (lambda n: partial(Scale(n).times, k=n), lambda x, m: m(x), [0, 2, 6]),
    "partials in a list": (
        lambda n: [partial(times, k=n), partial(times, k=3)],
        lambda x, m: m[0](m[1](x)),
        [10, 15, 20],
    ),
    "parts of a partial": (
        lambda n: partial(times, k=n),
        lambda x, m: m.func(x, *m.args, **m.keywords),
        [2, 3, 4],
    ),
    "functions of other codes": (
        lambda n: (lambda x: x * n) if n else (lambda x: x + 4),
        lambda x, m: m(x),
        [5, 1, 2],
    ),
    "functions of Python": (lambda n: max if n else min, lambda x, m: x * m(2, 3), [2, 3, 3]),
    "object or nothing": (
        lambda n: Scale(n) if n else None,
        lambda x, m: x if m is None else m.times(x),
        [1, 2, 3],
    ),
    "list": (lambda n: [n, 2 * n, 3], lambda x, m: x * m[1], [0, 2, 4]),
    "list at a place of the run": (lambda n: [n, 2 * n, 3], lambda x, m: x * m[here()], [0, 2, 3]),
    "lists of other lengths": (lambda n: [n] * n, lambda x, m: x * sum(m), [0, 1, 4]),
    "objects in a list": (
        lambda n: [Scale(n), Scale(2 * n)],
        lambda x, m: m[0].times(x) + m[1].times(x),
        [2, 5, 8],
    ),
    "dict": (lambda n: {"a": n, "b": 2 * n}, lambda x, m: x * m["b"], [0, 2, 4]),
    "dict with defaults": (
        lambda n: {"a": n},
        lambda x, m: x * (m.get("a", 3) + m.get("c", 3)),
        [3, 4, 5],
    ),
    "dict of more than 32 bits": (
        lambda n: {"a": n, "b": 0.1 * n, "c": 2**40 + n},
        lambda x, m: x * m["a"],
        [0, 1, 2],
    ),
    "objects in a dict": (lambda n: {"a": Scale(n)}, lambda x, m: m["a"].times(x), [1, 2, 3]),
    "dicts with other keys": (lambda n: {n: n + 1}, lambda x, m: x * sum(m.values()), [1, 2, 3]),
    "slice": (lambda n: slice(n, n + 1), lambda x, m: x * (m.start + m.stop), [1, 3, 5]),
    "array": (numbers, lambda x, m: x * m[2], [0, 2, 4]),
    "array from its end": (numbers, lambda x, m: x * m[-1], [0, 4, 8]),
    "array at a place of the run": (numbers, lambda x, m: x * m[here() + 1], [0, 2, 6]),
    "array of two dimensions": (table, lambda x, m: x * m[1, 2], [0, 5, 10]),
    "array's row": (table, lambda x, m: x * m[1][2], [0, 5, 10]),
    "array's row at a place of the run": (table, lambda x, m: x * m[1][here()], [0, 4, 10]),
    "array of floats": (lambda n: np.array([0.5, 1.5]) * n, lambda x, m: x * m[1], [0, 1.5, 3]),
    "array of flags": (lambda n: np.array([n > 0]), lambda x, m: x * 2 if m[0] else x, [1, 2, 2]),
    "array's length": (numbers, lambda x, m: x * len(m), [5, 5, 5]),
    "array's shape": (table, lambda x, m: x * m.shape[1], [3, 3, 3]),
    "array's items": (numbers, lambda x, m: x * sum(i * v for i, v in enumerate(m)), [0, 30, 60]),
    "array's slice": (numbers, lambda x, m: x * sum(m[1:3]), [0, 3, 6]),
    "array that is calculated with": (numbers, lambda x, m: x * (m * 2 + 1)[2], [1, 5, 9]),
    "array's sum": (numbers, lambda x, m: x * m.sum(), [0, 10, 20]),
    "array as a list": (numbers, lambda x, m: x * m.tolist()[1], [0, 1, 2]),
    "array that has": (numbers, lambda x, m: x * 3 if 2 in m else x, [1, 3, 3]),
    "arrays of other lengths": (lambda n: np.arange(n + 1), lambda x, m: x * sum(m), [0, 1, 3]),
    "arrays in a list": (lambda n: [numbers(n)] * 2, lambda x, m: x * m[1][2], [0, 2, 4]),
    "one array for all": (lambda n: np.arange(5), lambda x, m: x * m[here()], [0, 1, 2]),
    "array as an index": (numbers, lambda x, m: x * [1, 2, 3, 4, 5][m[1]], [1, 2, 3]),
}


@pytest.mark.parametrize("backend", ["sim", "host"])
@pytest.mark.parametrize("name", WORKING)
def test_what_a_node_has_reaches_its_kernels(name: str, backend: str) -> None:
    make, use, expected = WORKING[name]
    assert run(make, use, backend) == expected


@pytest.mark.parametrize("name", WORKING)
def test_what_runs_passes_the_check(name: str) -> None:
    make, use, _ = WORKING[name]
    assert checked(operation_of(make, use), (tensors(), {})) == ()


WRONG: dict[str, tuple[Make, Use]] = {
    "the truth of an array": (numbers, lambda x, m: x * 3 if m else x),
    "no such item": (numbers, lambda x, m: x * m[7]),
    "an index that is a text": (numbers, lambda x, m: x * m["a"]),
    "the call of an array": (numbers, lambda x, m: m(x)),
    "an array times a block": (numbers, lambda x, m: x * m),
    "an object times a block": (Scale, lambda x, m: x * m),
    "no such attribute": (Scale, lambda x, m: x * m.missing),
    "the items of what has none": (Plain, lambda x, m: [each for each in m]),
    "an argument too few": (Scale, lambda x, m: m.times()),
    "the call of what is no function": (Plain, lambda x, m: m(x)),
    "an item of what has none": (Plain, lambda x, m: x * m[0]),
    "int()": (Plain, lambda x, m: x * int(m)),
    "abs()": (Plain, lambda x, m: x * abs(m)),
    "minus": (Plain, lambda x, m: x * (-m)),
    "less than": (Plain, lambda x, m: x * (m < m)),
    "max()": (Plain, lambda x, m: x * max(m, 1)),
    "range()": (Plain, lambda x, m: x * len(range(m))),
    "ttl.math.exp()": (Plain, lambda x, m: ttl.math.exp(m)),
    "ttl.block.fill()": (Plain, lambda x, m: x + ttl.block.fill(m, shape=(1, 1))),
    "stored": (Plain, lambda x, m: m),
    "a partial that is stored": (lambda n: partial(times, k=n), lambda x, m: m),
    "a method times a block": (lambda n: Scale(n).times, lambda x, m: m * x),
    "a method plus one": (lambda n: Scale(n).times, lambda x, m: m + 1),
    "a function plus one": (lambda n: lambda x: x * n, lambda x, m: m + 1),
    "a function that is stored": (lambda n: lambda x: x * n, lambda x, m: m),
    "a key": (Plain, lambda x, m: {m: 1}),
    "an index": (Plain, lambda x, m: x * [1, 2][m]),
    "hash()": (Scale, lambda x, m: x * hash(m)),
    "zip()": (Plain, lambda x, m: x * len(list(zip(m, m, strict=True)))),
    "join()": (Plain, lambda x, m: x * len("".join(m))),
    "arguments": (Plain, lambda x, m: times(*m)),
    "keywords": (Plain, lambda x, m: times(**m)),
    "ttl.node()": (Plain, lambda x, m: x * ttl.node(dims=m)),
    "ttl.copy()": (Plain, lambda x, m: ttl.copy(m, x)),
}
OUR_OWN = ("NodeObjects", "NodeFunctions", "PerNode", "node_values", "RuntimeArgument")


@pytest.mark.parametrize("name", WRONG)
def test_wrong_uses_are_refused_alike_and_in_words_of_the_program(name: str) -> None:
    said = []
    for backend in ("sim", "host"):
        with pytest.raises(TTLError) as caught:
            run(*WRONG[name], backend)
        said.append(caught.value.diagnostics[0].code)
        text = str(caught.value)
        assert not any(ours in text for ours in OUR_OWN) and "object at 0x" not in text, text
    assert said[0] == said[1]
