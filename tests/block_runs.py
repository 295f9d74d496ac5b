"""Runs one block expression, or one statement of a compute kernel, on the simulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ttl
from ttl import sim, ttnn
from ttl.semantics.rounding import LANGUAGE, Rounding
from ttl.target import load

DEVICE = ttnn.open_device(device_id=0)

TARGET = load("wormhole_b0")
Shape = tuple[int, ...]


def in_tiles(elements: Shape) -> Shape:
    return (*elements[:-2], *(-(-size // 32) for size in elements[-2:]))


def run_statement(
    statement: Callable[..., Any],
    *arrays: np.ndarray,
    dtype: Any = ttnn.float32,
    out_dtype: Any = None,
    out_shape: Shape | None = None,
    fp32: bool | None = None,
    rounding: Rounding = LANGUAGE,
) -> np.ndarray:
    """What `statement(y_blk, *blocks)` leaves in y_blk; every array is one block."""
    shape = out_shape or arrays[0].shape

    @ttl.operation(grid=(1, 1), fp32_dest_acc_en=fp32)
    def operation(a, b, c, y):
        inputs = (a, b, c)[: len(arrays)]
        buffers = [ttl.make_dataflow_buffer_like(x, in_tiles(tuple(x.shape))) for x in inputs]
        y_dfb = ttl.make_dataflow_buffer_like(y, in_tiles(shape))

        @ttl.compute()
        def compute():
            with y_dfb.reserve() as y_blk:
                with_blocks(buffers, lambda *blocks: statement(y_blk, *blocks))

        @ttl.datamovement()
        def read():
            for tensor, buffer in zip(inputs, buffers, strict=True):
                with buffer.reserve() as block:
                    ttl.copy(whole(tensor), block).wait()

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as block:
                ttl.copy(block, whole(y)).wait()

    arrays = tuple(np.ascontiguousarray(array) for array in arrays)
    tensors = [ttl.from_numpy(array, dtype=dtype, device=DEVICE) for array in arrays]
    result = ttnn.empty(shape, out_dtype or dtype, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    padded = (*tensors, *[result] * (3 - len(tensors)), result)
    program = operation.program(padded, {}, TARGET.default_grid)
    sim.run(program, target=TARGET, rounding=rounding)
    return ttl.to_numpy(result)


def with_blocks(buffers: list[Any], body: Callable[..., Any], *blocks: Any) -> None:
    """Wait for one block of each buffer, then run the body."""
    if not buffers:
        body(*blocks)
        return
    with buffers[0].wait() as block:
        with_blocks(buffers[1:], body, *blocks, block)


def whole(tensor: Any) -> Any:
    return tensor[tuple(slice(None) for _ in tensor.shape)]


def run(expression: Callable[..., Any], *arrays: np.ndarray, **options: Any) -> np.ndarray:
    """The value of `expression(*blocks)`."""
    return run_statement(
        lambda y_blk, *blocks: y_blk.store(expression(*blocks)), *arrays, **options
    )


def run_numbers(expression: Callable[..., Any], *columns: Any, **options: Any) -> np.ndarray:
    """The same on lists of numbers, in the first elements of one tile."""
    integer = options.get("dtype", ttnn.float32).name.startswith(("int", "uint"))
    tiles = [np.ones((32, 32), np.int64 if integer else np.float32) for _ in columns]
    for tile, numbers in zip(tiles, columns, strict=True):
        tile[0, : len(numbers)] = numbers
    return run(expression, *tiles, **options)[0, : len(columns[0])]
