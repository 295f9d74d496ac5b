"""Values of every element type through copies, expressions and stores."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ttl
from ttl import sim, ttnn
from ttl.semantics.dtypes import DTYPES, DType
from ttl.target import load

DEVICE = ttnn.open_device(device_id=0)

TARGET = load("wormhole_b0")


def binary(meaning, **options: Any):
    """y = meaning(a, b) for tensors of one tile."""

    @ttl.operation(grid=(1, 1), **options)
    def operation(a, b, y):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        b_dfb = ttl.make_dataflow_buffer_like(b, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.datamovement()
        def read():
            for tensor, dfb in ((a, a_dfb), (b, b_dfb)):
                with dfb.reserve() as block:
                    ttl.copy(tensor[0, 0], block).wait()

        @ttl.compute()
        def compute():
            with a_dfb.wait() as left, b_dfb.wait() as right, y_dfb.reserve() as out:
                out.store(meaning(left, right))

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as block:
                ttl.copy(block, y[0, 0]).wait()

    return operation


def run(operation, *tensors: ttnn.Tensor, float32: bool = False) -> np.ndarray:
    program = operation.program(tensors, {}, TARGET.default_grid)
    sim.run(program, target=TARGET, float32=float32)
    return ttl.to_numpy(tensors[-1])


def filled(value: float, dtype: DType) -> ttnn.Tensor:
    return ttnn.full((32, 32), value, dtype, layout=ttnn.TILE_LAYOUT, device=DEVICE)


def add(left, right):
    return left + right


@pytest.mark.parametrize(
    ("dtype", "left", "right", "result"),
    [
        (ttnn.bfloat16, 256, 1, 256),  # 257 is a tie
        (ttnn.float16, 256, 1, 257),
        (ttnn.float16, 65504, 65504, np.inf),
        (ttnn.float32, 1, 2.0**-20, 1 + 2.0**-20),
        (ttnn.bfloat8_b, 1, 2.0**-7, 1 + 2.0**-6),  # a tie: the packer rounds it away from zero
        (ttnn.bfloat4_b, 4, 2, 6),
        (ttnn.bfloat4_b, 4, 0.875, 5),
        (ttnn.int32, 2**31 - 1, 1, -(2**31)),
        (ttnn.int32, 16777216, 1, 16777217),  # more than an f32 holds
        (ttnn.uint32, 2**32 - 1, 2, 1),
        (ttnn.uint16, 65535, 65535, 65534),
        (ttnn.uint8, 200, 100, 44),
    ],
)
def test_a_sum_has_the_element_type(dtype: DType, left: float, right: float, result: float) -> None:
    array = run(binary(add), filled(left, dtype), filled(right, dtype), filled(0, dtype))
    assert array.dtype == dtype.storage
    assert (array == result).all()


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_copies_change_nothing(dtype: DType) -> None:
    @ttl.operation(grid=(1, 1))
    def copy(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(2, 2))

        @ttl.datamovement()
        def read():
            with dfb.reserve() as block:
                assert (block.shape, block.dtype, block.layout) == ((2, 2), a.dtype, a.layout)
                ttl.copy(a[:, :], block).wait()

        @ttl.datamovement()
        def write():
            with dfb.wait() as block:
                ttl.copy(block, y[:, :]).wait()

    values = np.random.default_rng(0).normal(0, 1000, (50, 60))
    a = ttl.from_numpy(values, dtype=dtype, device=DEVICE)
    y = ttnn.empty_like(a)
    assert np.array_equal(run(copy, a, y), ttl.to_numpy(a))
    assert not np.count_nonzero(y.storage.elements[50:])
    assert not np.count_nonzero(y.storage.elements[:, 60:])


def test_a_narrow_dst_rounds_what_is_read() -> None:
    """fp32_dest_acc_en=False: f32 blocks are read as bfloat16, though they are f32 in L1."""

    def tensors() -> list[ttnn.Tensor]:
        return [filled(value, ttnn.float32) for value in (257, -256, 0)]

    assert (run(binary(add), *tensors()) == 1).all()
    assert (run(binary(add, fp32_dest_acc_en=False), *tensors()) == 0).all()


def test_a_store_without_an_operator_passes_dst_too() -> None:
    def read_right(left, right):
        _ = right + right  # a waited block must be read
        return left

    tensors = [filled(value, ttnn.float32) for value in (257, 1, 0)]
    assert (run(binary(read_right, fp32_dest_acc_en=False), *tensors) == 256).all()
    assert (run(binary(read_right), *tensors) == 257).all()


@pytest.mark.parametrize(("fp32", "at_2048"), [(False, 0), (None, 1)])
def test_float16_buffers_in_a_16_bit_dst(fp32: bool | None, at_2048: int) -> None:
    """257 + 1 is exact in float16 and a tie in bfloat16; 2048 + 1 is a tie in float16."""
    operation = binary(lambda a, b: (a + b) - a, fp32_dest_acc_en=fp32)
    for large, difference in ((257, 1), (2048, at_2048)):
        tensors = [filled(value, ttnn.float16) for value in (large, 1, 0)]
        assert (run(operation, *tensors) == difference).all()


def test_integers_stay_integers_in_a_kernel_with_floats() -> None:
    operation = binary(add)
    array = run(
        operation, filled(16777217, ttnn.int32), filled(2, ttnn.int32), filled(0, ttnn.float32)
    )
    assert (array == 16777220).all()  # 16777219, rounded at the store and not before


@pytest.mark.parametrize(
    ("value", "block", "needs_typecast"),
    [
        (ttnn.float32, ttnn.int32, True),
        (ttnn.bfloat16, ttnn.uint8, True),
        (ttnn.int32, ttnn.uint16, True),
        (ttnn.int32, ttnn.bfloat16, False),
        (ttnn.bfloat8_b, ttnn.float32, False),
        (ttnn.float32, ttnn.bfloat4_b, False),
    ],
)
def test_what_a_store_converts(value: DType, block: DType, needs_typecast: bool) -> None:
    tensors = filled(3, value), filled(4, value), filled(0, block)
    if not needs_typecast:
        assert (run(binary(add), *tensors) == 7).all()
        return
    with pytest.raises(ttl.KernelFault, match=r"ttl\.math\.typecast") as caught:
        run(binary(add), *tensors)
    assert caught.value.diagnostics[0].code.slug == "dtype-mismatch"


def test_float32_rounds_nothing() -> None:
    """As the public simulator computes by default; the tensors keep what was computed."""

    def tensors() -> list[ttnn.Tensor]:
        return [filled(value, ttnn.bfloat16) for value in (256, 1, 0)]

    assert (run(binary(add), *tensors()) == 256).all()
    array = run(binary(add), *tensors(), float32=True)
    assert array.dtype == np.float32 and (array == 257).all()
    integers = [filled(value, ttnn.uint8) for value in (200, 100, 0)]
    assert (run(binary(add), *integers, float32=True) == 44).all()


def test_a_run_without_float32_rounds_again() -> None:
    a, b, y = (filled(value, ttnn.bfloat16) for value in (256, 1, 0))
    run(binary(add), a, b, y, float32=True)
    assert (ttl.to_numpy(y) == 257).all()
    array = run(binary(add), y, filled(0, ttnn.bfloat16), filled(0, ttnn.bfloat16))
    assert array.dtype == ml_dtypes.bfloat16 and (array == 256).all()


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_reserved_memory_is_poisoned_every_time(dtype: DType) -> None:
    """The array is the simulator's own; a program sees what it holds when part is unwritten."""
    seen = []

    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=1)

        @ttl.datamovement()
        def read():
            for _ in range(2):  # the second time the slot holds old data
                with dfb.reserve() as block:
                    seen.append(block.array.copy())
                    transfer = ttl.copy(a[0, 0], block)
                    seen.append(block.array.copy())  # nothing has arrived before wait()
                    transfer.wait()
                    block.array[16:] = dtype.poison  # as if half of the data was never sent

        @ttl.datamovement()
        def write():
            for _ in range(2):
                with dfb.wait() as block:
                    ttl.copy(block, y[0, 0]).wait()

    y = ttnn.zeros((32, 32), dtype, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    array = run(operation, filled(1, dtype), y)
    expected = np.full((32, 32), dtype.poison, dtype.carrier)
    assert len(seen) == 4
    assert all(np.array_equal(block, expected, equal_nan=True) for block in seen)
    assert (array[:16] == 1).all()
    assert np.array_equal(array[16:].astype(dtype.carrier), expected[16:], equal_nan=True)


def test_the_same_tensor_is_input_and_output() -> None:
    a, b = filled(3, ttnn.int32), filled(4, ttnn.int32)
    assert (run(binary(add), a, b, a) == 7).all()
