"""What differs between nodes reaches their kernels, whatever carries it there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.diagnostics import CompileError, codes

NODES = 3


def run(make: Callable[[int], Any], use: Callable[[Any, Any], Any], backend: str) -> list[float]:
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

    device = ttnn.open_device(device_id=0)
    x = ttl.from_numpy(np.ones((32, 32 * NODES)), ttnn.float32, device=device)
    y = ttnn.zeros_like(x)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TTL_BACKEND", backend)
        operation(x, y)
    return [float(value) for value in ttl.to_numpy(y)[0, ::32]]


def default(node: int) -> Any:
    def act(x, k=node + 1):
        return x * k

    return act


def keyword_default(node: int) -> Any:
    def act(x, *, k=node + 1):
        return x * k

    return act


def attribute(node: int) -> Any:
    def act(x):
        return x

    act.factor = node + 1  # type: ignore[attr-defined]
    return act


def call(x, act):
    return act(x)


def first(x, acts):
    return acts[0](x)


def times_attribute(x, act):
    return act(x) * act.factor


CARRIERS = {
    "default": (default, call),
    "keyword-only default": (keyword_default, call),
    "attribute": (attribute, times_attribute),
    "lambda": (lambda node: lambda x, k=node + 1: x * k, call),
    "lambda in a tuple": (lambda node: (lambda x, k=node + 1: x * k,), first),
    "lambda in a list": (lambda node: [lambda x, k=node + 1: x * k], first),
}


@pytest.mark.parametrize("backend", ["sim", "host"])
@pytest.mark.parametrize("name", CARRIERS)
def test_a_number_through_a_function(name: str, backend: str) -> None:
    assert run(*CARRIERS[name], backend) == [1.0, 2.0, 3.0]


def half(x, number):
    return x * (7 // number if isinstance(number, int) else 7 / number)


def sign_of_zero(x, zero):
    return x * (1.0 if str(zero) == "0.0" else -1.0)


@pytest.mark.parametrize("backend", ["sim", "host"])
def test_numbers_that_are_equal_and_not_the_same(backend: str) -> None:
    assert run(lambda node: 2 if node else 2.0, half, backend) == [3.5, 3.0, 3.0]
    assert run(lambda node: 0.0 if node else -0.0, sign_of_zero, backend) == [-1.0, 1.0, 1.0]


class Scale:
    def __init__(self, factor: int):
        self.factor = factor

    def __mul__(self, other: Any) -> Any:
        return NotImplemented


@pytest.mark.parametrize("use", [lambda x, scale: x * (scale + 1), lambda x, scale: x * scale])
def test_objects_are_named_as_the_program_has_them(use: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(CompileError) as caught:
        run(Scale, use, "host")
    (found,) = caught.value.diagnostics
    assert "NodeObjects" not in str(caught.value) and "object at 0x" not in str(caught.value)
    assert found.code in (codes.KERNEL_EXCEPTION, codes.WRONG_ARGUMENT)
