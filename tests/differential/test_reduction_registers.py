"""A reduction, like a matmul, adds up in 32-bit registers unless its option says otherwise."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.config import Config
from ttl.driver.compile import compile_operation
from ttl.source.facts import facts_of
from ttl.target import load

DEVICE = ttnn.open_device(device_id=0)
TILES = 64
OFF = "--no-ttl-reduce-full-fp32"
MATMUL_OFF = "--no-ttl-matmul-full-fp32"


def make(
    function: Callable[..., Any], options: str = "", fp32: bool | None = None, tiles: int = TILES
) -> ttl.Operation:
    """`y = function(x)`, a row of tiles to one tile."""

    @ttl.operation(grid=(1, 1), options=options, fp32_dest_acc_en=fp32)
    def operation(x, y):
        x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, tiles))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.datamovement()
        def read():
            with x_dfb.reserve() as block:
                ttl.copy(x[0:1, 0:tiles], block).wait()

        @ttl.compute()
        def compute():
            with x_dfb.wait() as block, y_dfb.reserve() as result:
                result.store(function(block))

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as result:
                ttl.copy(result, y[0:1, 0:1]).wait()

    return operation


def row_sum(x):
    return ttl.math.reduce_sum(x, dims=[-1])


def values(tiles: int = TILES) -> np.ndarray:
    return np.random.default_rng(4).uniform(0, 1, (32, 32 * tiles)).astype(np.float32)


def tensors(tiles: int = TILES) -> list[ttnn.Tensor]:
    x = ttl.from_numpy(values(tiles), dtype=ttnn.bfloat16, device=DEVICE)
    return [x, ttnn.zeros((32, 32), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE)]


def largest_error(operation: ttl.Operation, backend: str) -> float:
    given = tensors()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TTL_BACKEND", backend)
        operation(*given)
    found = ttl.to_numpy(given[1])[:, 0].astype(np.float64)
    expected = ttl.to_numpy(given[0]).astype(np.float64).sum(axis=1)
    return float(np.abs(found / expected - 1).max())


@pytest.mark.parametrize("backend", ["sim", "host"])
def test_a_sum_of_many_values_is_rounded_once(backend: str) -> None:
    assert largest_error(make(row_sum), backend) <= 2**-8


@pytest.mark.parametrize("options", ["", OFF, f"{OFF} --ttl-reduce-full-fp32"])
@pytest.mark.parametrize("fp32", [None, False, True])
def test_the_option_decides_where_nothing_else_does(options: str, fp32: bool | None) -> None:
    expected = options != OFF if fp32 is None else fp32
    assert widths(make(row_sum, options, fp32)) == (expected, expected)


@pytest.mark.parametrize(
    ("function", "options", "expected"),
    [
        (lambda x: x @ x, "", True),
        (lambda x: x @ x, MATMUL_OFF, False),
        (lambda x: x @ x, OFF, True),
        (lambda x: row_sum(x @ x), MATMUL_OFF, True),
        (lambda x: row_sum(x), MATMUL_OFF, True),
        (lambda x: x + x, "", False),
        (lambda x: ttl.math.reduce_max(x, dims=[0]), "", True),
        (lambda x: ttl.math.reduce_mean(x, dims=[0, 1]), "", True),
    ],
)
def test_each_sum_has_its_own_option(
    function: Callable[..., Any], options: str, expected: bool
) -> None:
    assert widths(make(function, options, tiles=1), tiles=1) == (expected, expected)


def test_two_functions_of_one_name_are_not_taken_for_each_other() -> None:
    for function in (ttl.math.exp, ttl.math.reduce_sum, ttl.math.abs):
        is_sum = function is ttl.math.reduce_sum
        operation = make(partial(called, function, {"dims": [-1]} if is_sum else {}), tiles=1)
        assert widths(operation, tiles=1) == (is_sum, is_sum)


def called(function, given, x):
    return function(x, **given)


def widths(operation: ttl.Operation, tiles: int = TILES) -> tuple[bool, bool]:
    """Are the registers 32 bits wide, simulated and compiled?"""
    target = load("wormhole_b0")
    program = operation.program(tuple(tensors(tiles)), {}, target.default_grid)
    compiled = compile_operation(program, target, Config())
    (config,) = (kernel.config for kernel in compiled.kernels if kernel.name == "compute")
    return facts_of(program).dest_dtype is ttnn.float32, config.fp32_dest_acc_en
