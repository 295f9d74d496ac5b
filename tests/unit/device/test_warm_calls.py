"""Later calls hand over addresses, and nothing that matters is left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import ttl
from device.standins import DataType, Device, Launches, Layout, Tensor
from ttl.driver import PROCESS_DRIVER

FACTOR = 2


def tensors(device: Device, sizes: tuple[int, int] = (64, 32), count: int = 2) -> list[Tensor]:
    return [
        Tensor(sizes, DataType.FLOAT32, Layout.TILE, device, position, spec=sizes)
        for position in range(count)
    ]


def scaled_by(function: Any = None, **options: Any) -> Any:
    def scaled(x, y):  # type: ignore[no-untyped-def]
        x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2)
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)

        @ttl.compute()
        def compute():  # type: ignore[no-untyped-def]
            for _ in range(x.shape[0] // 32):
                with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                    y_blk.store(x_blk * FACTOR)

        @ttl.datamovement()
        def read():  # type: ignore[no-untyped-def]
            for row in range(x.shape[0] // 32):
                with x_dfb.reserve() as x_blk:
                    ttl.copy(x[row, 0], x_blk).wait()

        @ttl.datamovement()
        def write():  # type: ignore[no-untyped-def]
            for row in range(y.shape[0] // 32):
                with y_dfb.wait() as y_blk:
                    ttl.copy(y_blk, y[row, 0]).wait()

    return ttl.operation(grid=(1, 1), **options)(function or scaled)


def addresses(launches: Launches) -> list[list[int]]:
    return [
        [word for kernel in program.kernels for word in kernel.common_runtime_args]
        for _, program in launches.calls
    ]


def compilations() -> int:
    return PROCESS_DRIVER.artifacts.count


def test_only_the_first_call_compiles(launches: Launches) -> None:
    operation, device = scaled_by(), Device()
    built, compiled = PROCESS_DRIVER.device.programs.built, compilations()
    x, y = tensors(device)
    operation(x, y)
    other = replace(y, position=7)
    operation(x, other)
    operation(other, x)
    assert compilations() == compiled + 1
    # Their accessors differ here, as those of tensors in shards do.
    assert PROCESS_DRIVER.device.programs.built == built + 3
    assert [given for given, _ in launches.calls] == [[x, y], [x, other], [other, x]]
    far = 0x1000 + 7 * 0x400
    assert addresses(launches) == [[0x1000, 0x1400], [0x1000, far], [far, 0x1000]]
    operation(x, y)
    assert PROCESS_DRIVER.device.programs.built == built + 3


def test_other_shapes_devices_and_the_same_tensor_twice_are_other_calls(
    launches: Launches,
) -> None:
    operation, device = scaled_by(), Device()
    x, y = tensors(device)
    operation(x, y)
    compiled = compilations()
    operation(*tensors(device, (128, 32)))
    operation(*tensors(Device(number=3)))
    operation(x, x)
    assert compilations() == compiled + 2  # another device runs the same kernels
    assert len(launches.calls) == 4


def test_a_name_that_stands_for_something_else_is_noticed(
    launches: Launches, monkeypatch: pytest.MonkeyPatch
) -> None:
    operation, given = scaled_by(), tensors(Device())
    operation(*given)
    monkeypatch.setitem(globals(), "FACTOR", 3)
    operation(*given)
    first, second = (program.kernels[0].kernel_source for _, program in launches.calls)
    assert first != second


def test_so_are_options(launches: Launches, monkeypatch: pytest.MonkeyPatch) -> None:
    operation, given = scaled_by(), tensors(Device())
    operation(*given)
    compiled = compilations()
    monkeypatch.setenv("TTLANG_COMPILER_OPTIONS", "--no-ttl-maximize-dst")
    operation(*given)
    assert compilations() == compiled + 1


def test_a_body_runs_at_every_call(launches: Launches) -> None:
    run: list[int] = []

    def counting(x, y):  # type: ignore[no-untyped-def]
        run.append(1)
        _ = ttl.make_dataflow_buffer_like(x, shape=(1, 1)), y

        @ttl.datamovement()
        def nothing():  # type: ignore[no-untyped-def]
            pass

    operation, given = scaled_by(counting), tensors(Device())
    operation(*given)
    operation(*given)
    assert len(run) == 2


def test_numbers_among_the_arguments(launches: Launches) -> None:
    def shifted(y, by):  # type: ignore[no-untyped-def]
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute():  # type: ignore[no-untyped-def]
            for _ in range(2):
                with y_dfb.reserve() as y_blk:
                    y_blk.store(ttl.math.fill(by, shape=(1, 1)))

        @ttl.datamovement()
        def write():  # type: ignore[no-untyped-def]
            for row in range(2):
                with y_dfb.wait() as y_blk:
                    ttl.copy(y_blk, y[row, 0]).wait()

    operation, (y,) = scaled_by(shifted), tensors(Device(), count=1)
    compiled = compilations()
    for by in (0.0, -0.0, 1, 1.0, -0.0):
        operation(y, by)
    operation(y, by=1)
    operation(y=y, by=1)
    assert compilations() == compiled + 4
