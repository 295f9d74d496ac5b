"""What the conformance programs are run and judged with.

A program runs in order and again under three seeds, which shuffle the schedule; all four results
are the same bits.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from contextlib import redirect_stderr
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.config import chosen_options
from ttl.diagnostics import codes
from ttl.driver import PROCESS_DRIVER
from ttl.driver.remarks import Remarks

SEEDS = (1, 2, 3)
BACKEND: str | None = None  # conftest.py sets it where the program runs compiled
TILE = 32
DEVICE = ttnn.open_device(device_id=0)

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


# Tensors ------------------------------------------------------------------------------------------


def tensor(values: Any, dtype: Any = ttnn.float32, layout: Any = ttnn.TILE_LAYOUT) -> ttnn.Tensor:
    return ttl.from_numpy(np.asarray(values), dtype=dtype, layout=layout, device=DEVICE)


def empty(*shape: int, dtype: Any = ttnn.float32, layout: Any = ttnn.TILE_LAYOUT) -> ttnn.Tensor:
    """A tensor of NaN, or of a pattern, for the result."""
    return ttnn.empty(shape, dtype=dtype, layout=layout, device=DEVICE)


def numbers(*shape: int) -> Array:
    """Different numbers everywhere, exact in f32."""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def small(*shape: int) -> Array:
    """Numbers that are exact in bf16, their sums and products in f32."""
    return np.random.default_rng(7).integers(-8, 9, shape).astype(np.float32)


def tiles(*values: float) -> Array:
    """A row of tiles, each with one number everywhere."""
    return np.tile(np.repeat(np.array(values, np.float32), TILE), (TILE, 1))


def tile_numbers(result: ttnn.Tensor) -> list[float]:
    """The inverse of tiles()."""
    values = ttl.to_numpy(result)
    parts = np.split(values, values.shape[1] // TILE, axis=1)
    assert all((part == part[0, 0]).all() for part in parts), "a tile holds different numbers"
    return [float(part[0, 0]) for part in parts]


# Runs ---------------------------------------------------------------------------------------------


def run(operation: Any, *arguments: Any, **constants: Any) -> None:
    """Run the operation on these tensors, and on copies of them under each seed."""
    copies = [_copies(arguments) for _ in SEEDS]
    _launch(operation, arguments, constants, None)
    for seed, of_seed in zip(SEEDS, copies, strict=True):
        _launch(operation, of_seed, constants, seed)
        for first, other in zip(arguments, of_seed, strict=True):
            if isinstance(first, ttnn.Tensor):
                same = ttl.to_numpy(first).tobytes() == ttl.to_numpy(other).tobytes()
                assert same, f"the result depends on the schedule: seed {seed}"


def _copies(arguments: tuple[Any, ...]) -> list[Any]:
    """Tensors anew, the same one where it was the same."""
    made: dict[int, Any] = {}
    for value in arguments:
        if isinstance(value, ttnn.Tensor):
            made[id(value)] = ttl.from_numpy(
                ttl.to_numpy(value),
                value.dtype,
                value.layout,
                value.device(),
                value.memory_config(),
            )
            made[id(value)].is_layout_chosen = value.is_layout_chosen
    return [made.get(id(value), value) for value in arguments]


def _launch(operation: Any, arguments: Any, constants: dict[str, Any], seed: int | None) -> None:
    ours = {k: v for k, v in os.environ.items() if not k.startswith(("TTL_", "TTLANG_"))}
    if seed is not None:
        ours["TTL_SEED"] = str(seed)
    if BACKEND is not None:
        ours["TTL_BACKEND"] = BACKEND
    with patch.dict(os.environ, ours, clear=True):
        operation(*arguments, **constants)


class Refusal:
    """A diagnosis: the slug of its first code, and its text."""

    def __init__(self, error: ttl.TTLError):
        self.slug = error.diagnostics[0].code.slug
        self.text = str(error)


def refused(operation: Any, *arguments: Any, slug: str, **constants: Any) -> str:
    """The text of the diagnosis; it names no file of pyttlang, and something in this folder."""
    with pytest.raises(ttl.TTLError) as caught:
        _launch(operation, arguments, constants, None)
    refusal = Refusal(caught.value)
    assert refusal.slug == slug, refusal.text
    assert "src/ttl" not in refusal.text
    assert "conformance" in refusal.text, "no span in the program"
    return refusal.text


def warned(operation: Any, *arguments: Any, slug: str, **constants: Any) -> str:
    """Runs the operation twice, as run() does; what it mentions, the first time only. It is an
    error if that is asked for, and not there if it is not wanted.
    """
    code = next(each for each in codes.CATALOGUE.values() if each.slug == slug)
    text = _shown(lambda: run(operation, *arguments, **constants))
    assert f"warning[{code.code}]: " in text
    assert text.count(f"[{code.code}]: ") == 1
    assert "conformance" in text, "no span in the program"
    assert _shown(lambda: run(operation, *_copies(arguments), **constants)) == ""
    with chosen_options(warnings=f"error={slug}"):
        refused(operation, *_copies(arguments), slug=slug, **constants)
    with chosen_options(warnings=f"ignore={slug}"), _fresh_remarks():
        hidden = _shown(lambda: run(operation, *_copies(arguments), **constants))
        assert f"[{code.code}]" not in hidden
    return text


def _shown(call: Callable[[], None]) -> str:
    shown = io.StringIO()
    with redirect_stderr(shown):
        call()
    return shown.getvalue()


def _fresh_remarks() -> Any:
    return patch.object(PROCESS_DRIVER, "remarks", Remarks())


# Operations with one part left open ---------------------------------------------------------------


def computing(
    statement: Callable[..., Any],
    *arrays: Any,
    dtype: Any = ttnn.float32,
    out_dtype: Any = None,
    out_shape: Shape | None = None,
    fp32: bool | None = None,
) -> tuple[Any, list[ttnn.Tensor]]:
    """An operation whose compute kernel does `statement(y_blk, *blocks)`, and its tensors.

    Every array is one block, of one element type or of those given; the last tensor is the result.
    """
    dtypes = dtype if isinstance(dtype, tuple) else (dtype,) * len(arrays)
    inputs = [tensor(array, each) for array, each in zip(arrays, dtypes, strict=True)]
    first = dtype[0] if isinstance(dtype, tuple) else dtype
    result = empty(*(out_shape or np.shape(arrays[0])), dtype=out_dtype or first)
    operation = COMPUTING[len(arrays)](statement, fp32)
    padded = [*inputs, *[result] * (3 - len(inputs)), result]
    return operation, padded


# As programs are written: one operation for each number of operands.


def _of_none(statement: Callable[..., Any], fp32: bool | None) -> Any:
    @ttl.operation(grid=(1, 1), fp32_dest_acc_en=fp32)
    def operation(a, b, c, y):  # type: ignore[no-untyped-def]
        y_dfb, of_y = _whole_buffer(y), whole(y)

        @ttl.compute()
        def compute() -> None:
            y_blk = y_dfb.reserve()
            statement(y_blk)
            y_blk.push()

        @ttl.datamovement()
        def write() -> None:
            with y_dfb.wait() as block:
                ttl.copy(block, y[of_y]).wait()

    return operation


def _of_one(statement: Callable[..., Any], fp32: bool | None) -> Any:
    @ttl.operation(grid=(1, 1), fp32_dest_acc_en=fp32)
    def operation(a, b, c, y):  # type: ignore[no-untyped-def]
        a_dfb, y_dfb = _whole_buffer(a), _whole_buffer(y)
        of_a, of_y = whole(a), whole(y)

        @ttl.compute()
        def compute() -> None:
            a_blk = a_dfb.wait()
            y_blk = y_dfb.reserve()
            statement(y_blk, a_blk)
            a_blk.pop()
            y_blk.push()

        @ttl.datamovement()
        def read() -> None:
            with a_dfb.reserve() as block:
                ttl.copy(a[of_a], block).wait()

        @ttl.datamovement()
        def write() -> None:
            with y_dfb.wait() as block:
                ttl.copy(block, y[of_y]).wait()

    return operation


def _of_two(statement: Callable[..., Any], fp32: bool | None) -> Any:
    @ttl.operation(grid=(1, 1), fp32_dest_acc_en=fp32)
    def operation(a, b, c, y):  # type: ignore[no-untyped-def]
        a_dfb, b_dfb, y_dfb = _whole_buffer(a), _whole_buffer(b), _whole_buffer(y)
        of_a, of_b, of_y = whole(a), whole(b), whole(y)

        @ttl.compute()
        def compute() -> None:
            a_blk = a_dfb.wait()
            b_blk = b_dfb.wait()
            y_blk = y_dfb.reserve()
            statement(y_blk, a_blk, b_blk)
            a_blk.pop()
            b_blk.pop()
            y_blk.push()

        @ttl.datamovement()
        def read() -> None:
            with a_dfb.reserve() as block:
                ttl.copy(a[of_a], block).wait()
            with b_dfb.reserve() as block:
                ttl.copy(b[of_b], block).wait()

        @ttl.datamovement()
        def write() -> None:
            with y_dfb.wait() as block:
                ttl.copy(block, y[of_y]).wait()

    return operation


def _of_three(statement: Callable[..., Any], fp32: bool | None) -> Any:
    @ttl.operation(grid=(1, 1), fp32_dest_acc_en=fp32)
    def operation(a, b, c, y):  # type: ignore[no-untyped-def]
        a_dfb, b_dfb = _whole_buffer(a), _whole_buffer(b)
        c_dfb, y_dfb = _whole_buffer(c), _whole_buffer(y)
        of_a, of_b, of_c, of_y = whole(a), whole(b), whole(c), whole(y)

        @ttl.compute()
        def compute() -> None:
            a_blk = a_dfb.wait()
            b_blk = b_dfb.wait()
            c_blk = c_dfb.wait()
            y_blk = y_dfb.reserve()
            statement(y_blk, a_blk, b_blk, c_blk)
            a_blk.pop()
            b_blk.pop()
            c_blk.pop()
            y_blk.push()

        @ttl.datamovement()
        def read() -> None:
            with a_dfb.reserve() as block:
                ttl.copy(a[of_a], block).wait()
            with b_dfb.reserve() as block:
                ttl.copy(b[of_b], block).wait()
            with c_dfb.reserve() as block:
                ttl.copy(c[of_c], block).wait()

        @ttl.datamovement()
        def write() -> None:
            with y_dfb.wait() as block:
                ttl.copy(block, y[of_y]).wait()

    return operation


COMPUTING = {0: _of_none, 1: _of_one, 2: _of_two, 3: _of_three}


def _whole_buffer(source: Any) -> Any:
    """A buffer whose block is all of a tensor."""
    return ttl.make_dataflow_buffer_like(source, shape=in_tiles(source.shape))


def in_tiles(elements: Any) -> Shape:
    sizes = tuple(elements)
    return (*sizes[:-2], *(-(-size // TILE) for size in sizes[-2:]))


def whole(source: Any) -> tuple[slice, ...]:
    """The items that take all of a tensor."""
    return tuple(slice(None) for _ in source.shape)


def statement(body: Callable[..., Any], *arrays: Any, **options: Any) -> Array:
    """What `body(y_blk, *blocks)` leaves in y_blk, under every schedule."""
    operation, tensors = computing(body, *arrays, **options)
    run(operation, *tensors)
    return ttl.to_numpy(tensors[-1])


def evaluate(expression: Callable[..., Any], *arrays: Any, **options: Any) -> Array:
    """The value of `expression(*blocks)`, under every schedule."""
    return statement(lambda y, *blocks: y.store(expression(*blocks)), *arrays, **options)


def refused_expression(
    expression: Callable[..., Any], *arrays: Any, slug: str, **options: Any
) -> str:
    operation, tensors = computing(
        lambda y, *blocks: y.store(expression(*blocks)), *arrays, **options
    )
    return refused(operation, *tensors, slug=slug)


def moving(body: Callable[..., Any], *shapes: Shape, count: int = 2, grid: Any = (1, 1)) -> Any:
    """An operation with one data movement kernel: `body(tensors, buffers)`; f32 tiles.

    There is a buffer like the first tensor for each of the shapes.
    """

    @ttl.operation(grid=grid)
    def operation(a, y):  # type: ignore[no-untyped-def]
        buffers = [
            ttl.make_dataflow_buffer_like(a, shape=shape, block_count=count) for shape in shapes
        ]

        @ttl.datamovement()
        def move() -> None:
            body(a, y, *buffers)

    return operation
