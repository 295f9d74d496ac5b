"""Calls that are known already hand over addresses, and nothing that matters is left out."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any

import pytest

import ttl
from device.standins import DataType, Device, Launches, Layout, Tensor
from ttl import ttnn
from ttl.driver import PROCESS_DRIVER

FACTOR = 2
BODIES: list[int] = []


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


@pytest.fixture
def bodies(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operations whose bodies were run."""
    run: list[str] = []
    program = ttl.Operation.program

    def counted(operation: Any, *args: Any, **kwargs: Any) -> Any:
        run.append(operation.__name__)
        return program(operation, *args, **kwargs)

    monkeypatch.setattr(ttl.Operation, "program", counted)
    return run


def test_only_the_first_call_runs_the_body_and_builds(
    launches: Launches, bodies: list[str]
) -> None:
    operation, device = scaled_by(), Device()
    built = PROCESS_DRIVER.runs.programs.built
    x, y = tensors(device)
    operation(x, y)
    other = replace(y, position=7)
    operation(x, other)
    operation(other, x)
    assert len(bodies) == 1
    assert PROCESS_DRIVER.runs.programs.built == built + 1
    assert [given for given, _ in launches.calls] == [[x, y], [x, other], [other, x]]
    far = 0x1000 + 7 * 0x400
    assert addresses(launches) == [[0x1000, 0x1400], [0x1000, far], [far, 0x1000]]


def test_other_shapes_devices_and_the_same_tensor_twice_are_other_calls(
    launches: Launches, bodies: list[str]
) -> None:
    operation, device = scaled_by(), Device()
    x, y = tensors(device)
    operation(x, y)
    operation(*tensors(device, (128, 32)))
    operation(*tensors(Device(number=3)))
    operation(x, x)
    assert len(bodies) == 4
    operation(x, y)
    assert len(bodies) == 4


def test_a_name_that_stands_for_something_else_is_noticed(
    launches: Launches, bodies: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    operation, given = scaled_by(), tensors(Device())
    operation(*given)
    monkeypatch.setitem(globals(), "FACTOR", 3)
    operation(*given)
    assert len(bodies) == 2
    first, second = (program.kernels[0].kernel_source for _, program in launches.calls)
    assert first != second


def test_so_are_options(
    launches: Launches, bodies: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    operation, given = scaled_by(), tensors(Device())
    operation(*given)
    monkeypatch.setenv("TTLANG_COMPILER_OPTIONS", "--no-ttl-maximize-dst")
    operation(*given)
    assert len(bodies) == 2


COUNTED: list[int] = []


def counting(x, y):  # type: ignore[no-untyped-def]
    COUNTED.append(1)
    _ = ttl.make_dataflow_buffer_like(x, shape=(1, 1)), y

    @ttl.datamovement()
    def nothing():  # type: ignore[no-untyped-def]
        pass


def printing(x, y):  # type: ignore[no-untyped-def]
    print("called", x.shape, y.shape)

    @ttl.datamovement()
    def nothing():  # type: ignore[no-untyped-def]
        pass


def asking(x, y):  # type: ignore[no-untyped-def]
    assert x.buffer_address() != y.buffer_address()

    @ttl.datamovement()
    def nothing():  # type: ignore[no-untyped-def]
        pass


def computing(x, y):  # type: ignore[no-untyped-def]
    ttnn.zeros((32, 32))

    @ttl.datamovement()
    def nothing():  # type: ignore[no-untyped-def]
        _ = x, y


def timing(x, y):  # type: ignore[no-untyped-def]
    assert perf_counter() > 0

    @ttl.datamovement()
    def nothing():  # type: ignore[no-untyped-def]
        _ = x, y


def remembering(x, y, seen=[]):  # type: ignore[no-untyped-def]  # noqa: B006
    seen.append(x)

    @ttl.datamovement()
    def nothing():  # type: ignore[no-untyped-def]
        _ = y


@pytest.mark.parametrize(
    "function", [counting, printing, asking, computing, timing, remembering]
)
def test_a_body_that_does_something_else_is_run_each_time(
    launches: Launches, bodies: list[str], function: Any
) -> None:
    operation, given = scaled_by(function), tensors(Device())
    operation(*given)
    operation(*given)
    assert len(bodies) == 2


def test_numbers_among_the_arguments(launches: Launches, bodies: list[str]) -> None:
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
    for by in (0.0, -0.0, 1, 1.0, -0.0):
        operation(y, by)
    operation(y, by=1)
    operation(y=y, by=1)
    operation(y=y, by=1)
    assert len(bodies) == 6
