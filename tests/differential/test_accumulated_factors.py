"""`f(c) + a * b` in 32-bit registers: the product accumulates on f(c), and rounds as before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.config import Config
from ttl.driver.compile import compile_operation
from ttl.target import load

DEVICE = ttnn.open_device(device_id=0)
FORMS: dict[str, tuple[Callable[..., Any], bool]] = {
    "after": (lambda a, b, c: abs(c) + a * b, True),
    "before": (lambda a, b, c: a * b + abs(c), True),
    "a block": (lambda a, b, c: c + a * b, True),
    "two products": (lambda a, b, c: b * c + a * b, True),
    "a difference": (lambda a, b, c: abs(c) - a * b, False),
    "both twice": (lambda a, b, c: (abs(c) + a * b) * abs(c), False),
}


def make(form: Callable[..., Any], fp32: bool) -> ttl.Operation:
    @ttl.operation(grid=(1, 1), fp32_dest_acc_en=fp32)
    def operation(a, b, c, y):
        tensors = a, b, c
        buffers = [ttl.make_dataflow_buffer_like(each, shape=(2, 2)) for each in tensors]
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(2, 2))

        @ttl.datamovement()
        def read():
            for i in range(3):
                with buffers[i].reserve() as block:
                    ttl.copy(tensors[i][0:2, 0:2], block).wait()

        @ttl.compute()
        def compute():
            blocks = [dfb.wait() for dfb in buffers]
            with y_dfb.reserve() as result:
                result.store(form(*blocks))
            for block in blocks:
                block.pop()

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as result:
                ttl.copy(result, y[0:2, 0:2]).wait()

    return operation


def tensors() -> list[ttnn.Tensor]:
    random = np.random.default_rng(11)
    numbers = [random.normal(size=(64, 64)).astype(np.float32) for _ in range(3)]
    given = [ttl.from_numpy(each, dtype=ttnn.bfloat16, device=DEVICE) for each in numbers]
    return [*given, ttnn.zeros((64, 64), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)]


@pytest.mark.parametrize("fp32", [False, True])
@pytest.mark.parametrize("name", FORMS)
def test_both_backends_round_alike(name: str, fp32: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    form, _ = FORMS[name]
    results = []
    for backend in ("sim", "host"):
        monkeypatch.setenv("TTL_BACKEND", backend)
        given = tensors()
        make(form, fp32)(*given)
        results.append(ttl.to_numpy(given[-1]))
    assert np.array_equal(*results)


@pytest.mark.parametrize("name", FORMS)
def test_nothing_is_added_by_the_vector_unit(name: str) -> None:
    form, accumulates = FORMS[name]
    target = load("wormhole_b0")
    program = make(form, True).program(tuple(tensors()), {}, target.default_grid)
    compiled = compile_operation(program, target, Config())
    (source,) = (kernel.cpp_source for kernel in compiled.kernels if kernel.name == "compute")
    assert ("_binary_tile" not in source) is accumulates
