"""`f32="tf32"`: the matrix unit adds and multiplies f32 blocks, with 10 of their 23 digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.config import Config
from ttl.driver.compile import compile_operation
from ttl.semantics.dtypes import A_DIGITS, to_tf32
from ttl.target import load

DEVICE = ttnn.open_device(device_id=0)
FORMS: dict[str, tuple[Callable[..., Any], str]] = {
    "add": (lambda a, b: a + b, "add_tiles("),
    "sub": (lambda a, b: a - b, "sub_tiles("),
    "mul": (lambda a, b: a * b, "mul_tiles("),
    "chain": (lambda a, b: (a * b) - (a + b), "mul_tiles("),
    "absolute": (lambda a, b: abs(a - b), "sub_tiles("),
}


class InSource(np.ndarray[Any, Any]):
    """As the first factor of a product it is in source A, whose last digit no phase takes."""

    def __mul__(self, other: Any) -> Any:
        return to_tf32(np.asarray(self), A_DIGITS) * np.asarray(other)


def make(form: Callable[..., Any], f32: str) -> ttl.Operation:
    @ttl.operation(grid=(1, 1), f32=f32)
    def operation(a, b, y):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(2, 2), block_count=2)
        b_dfb = ttl.make_dataflow_buffer_like(b, shape=(2, 2), block_count=2)
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(2, 2), block_count=2)

        @ttl.datamovement()
        def read():
            with a_dfb.reserve() as left, b_dfb.reserve() as right:
                ttl.copy(a[0:2, 0:2], left).wait()
                ttl.copy(b[0:2, 0:2], right).wait()

        @ttl.compute()
        def compute():
            with a_dfb.wait() as left, b_dfb.wait() as right, y_dfb.reserve() as result:
                result.store(form(left, right))

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as result:
                ttl.copy(result, y[0:2, 0:2]).wait()

    return operation


def run(operation: ttl.Operation, numbers: list[np.ndarray]) -> np.ndarray:
    tensors = [ttl.from_numpy(each, dtype=ttnn.float32, device=DEVICE) for each in numbers]
    result = ttnn.zeros((64, 64), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    operation(*tensors, result)
    return ttl.to_numpy(result)


@pytest.mark.parametrize("name", FORMS)
def test_the_digits_of_a_tf32_are_added(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    form, _ = FORMS[name]
    random = np.random.default_rng(5)
    numbers = [random.normal(size=(64, 64)).astype(np.float32) for _ in range(2)]
    exact, cut = form(*numbers), form(*(to_tf32(each).view(InSource) for each in numbers))
    assert not np.array_equal(exact, cut)
    monkeypatch.setenv("TTL_BACKEND", "sim")
    assert np.array_equal(run(make(form, "tf32"), numbers), exact)
    monkeypatch.setenv("TTL_BACKEND", "host")
    assert np.array_equal(run(make(form, "exact"), numbers), exact)
    assert np.array_equal(run(make(form, "tf32"), numbers), cut)


@pytest.mark.parametrize("name", FORMS)
def test_no_block_is_copied(name: str) -> None:
    form, call = FORMS[name]
    tensors = [
        ttnn.zeros((64, 64), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE) for _ in range(3)
    ]
    target = load("wormhole_b0")
    program = make(form, "tf32").program(tuple(tensors), {}, target.default_grid)
    compiled = compile_operation(program, target, Config())
    (source,) = (kernel.cpp_source for kernel in compiled.kernels if kernel.name == "compute")
    assert call in source
    assert "copy_tile(" not in source


def test_other_words_are_refused() -> None:
    with pytest.raises(ttl.TTLError, match="f32='half' is not known"):
        ttl.operation(grid=(1, 1), f32="half")
