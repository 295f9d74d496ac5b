"""The plan of a launch: the arguments of its kernels as plain values."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ttl.artifact import (
    Buffer,
    CompiledOperation,
    ComputeConfig,
    CoreArguments,
    Kernel,
    Operand,
    SemaphorePlan,
    ThreadKind,
)
from ttl.device.plan import TTNN_DTYPES, UNPACK_MODES, TensorPlace, plan_kernels
from ttl.target.data_formats import PAGE_BYTES

PLACES = (TensorPlace(0x1000, (2, 2048)), TensorPlace(0x2000, (3, 2048, 1, 4)))
PER_CORE = (CoreArguments((0, 0), (7,)), CoreArguments((1, 0), (8,)))
OPERATION = CompiledOperation(
    name="copied",
    target="wormhole_b0",
    device_api="0.81",
    kernels=(
        Kernel("compute", ThreadKind.COMPUTE, "c", (), ComputeConfig(fp32_dest_acc_en=True)),
        Kernel("read", ThreadKind.READER, "r", (1, 0), runtime_args=PER_CORE),
        Kernel("write", ThreadKind.WRITER, "w", (1,)),
    ),
    buffers=(Buffer("a_dfb", 0, "BFloat16", 4, 2), Buffer("b_dfb", 3, "Float32", 1, 3, True)),
    operands=(
        Operand("a", (64, 64), "bfloat16", "TILE"),
        Operand("b", (32, 32), "float32", "TILE"),
    ),
    core_range=((0, 0), (1, 0)),
    semaphores=(SemaphorePlan(0), SemaphorePlan(2, 5)),
)


def test_compute_gets_buffer_indices_and_movement_also_all_accessors() -> None:
    compute, read, write = plan_kernels(OPERATION, PLACES)
    assert compute.compile_time_args == (0, 3)
    assert read.compile_time_args == write.compile_time_args == (0, 3, 2, 2048, 3, 2048, 1, 4)


def test_addresses_follow_the_tensor_indices_of_each_kernel() -> None:
    addresses = [kernel.common_runtime_args for kernel in plan_kernels(OPERATION, PLACES)]
    assert addresses == [(), (0x2000, 0x1000), (0x2000,)]


def test_each_kernel_has_a_plan() -> None:
    plans = plan_kernels(OPERATION, PLACES)
    assert tuple(plan.kernel for plan in plans) == OPERATION.kernels


def test_unpack_modes_are_for_every_index_or_for_none() -> None:
    compute, read, _ = plan_kernels(OPERATION, PLACES)
    assert len(compute.unpack_to_dest_fp32) == UNPACK_MODES
    assert [i for i, wide in enumerate(compute.unpack_to_dest_fp32) if wide] == [3]
    assert read.unpack_to_dest_fp32 == ()
    narrow = replace(OPERATION, buffers=OPERATION.buffers[:1])
    assert plan_kernels(narrow, PLACES)[0].unpack_to_dest_fp32 == ()


def test_every_format_but_float16_has_a_name_in_ttnn() -> None:
    assert set(PAGE_BYTES) - set(TTNN_DTYPES) == {"Float16"}


def test_a_missing_tensor_is_our_mistake() -> None:
    with pytest.raises(AssertionError, match="one tensor for each operand"):
        plan_kernels(OPERATION, PLACES[:1])
