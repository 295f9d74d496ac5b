"""Calls with tensors that are not the embedded ones, as far as they can go without hardware."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest

import ttl
from device.standins import (
    Arch,
    DataType,
    Device,
    Launches,
    Layout,
    ScratchTensor,
    Tensor,
)
from golden.example_programs import DEVICE as EMBEDDED_DEVICE
from golden.example_programs import operation_of
from ttl import ttnn as embedded_ttnn
from ttl.diagnostics import UsageError, codes


def tensors(device: Device | None, count: int = 4, **changes: Any) -> list[Tensor]:
    settings = {"dtype": DataType.BFLOAT16, "layout": Layout.TILE, **changes}
    return [Tensor((256, 256), place=device, position=i, **settings) for i in range(count)]


def call(*arguments: Any) -> None:
    operation_of("elementwise")(*arguments)


def test_real_tensors_go_to_their_device_unasked(launches: Launches) -> None:
    given = tensors(Device())
    call(*given)
    ((io_tensors, program),) = launches.calls
    assert io_tensors == given
    compute, read, write = program.kernels
    assert "exp_tile" in compute.kernel_source
    assert read.common_runtime_args == [0x1000, 0x1400, 0x1800]
    assert write.common_runtime_args == [0x1C00]
    words = [100, 101, 200, 201, 202, 300, 301, 302, 303, 400, 401, 402, 403, 404]
    assert read.compile_time_args == [0, 1, 2, 3, *words]
    assert {kernel.source_type for kernel in program.kernels} == {"SOURCE_CODE"}
    assert program.kernels[0].core_ranges == [((0, 0), (1, 1))]


def test_addresses_are_asked_for_at_every_call(launches: Launches) -> None:
    given = tensors(Device())
    call(*given)
    given[3].position = 9
    call(*given)
    addresses = [program.kernels[2].common_runtime_args for _, program in launches.calls]
    assert addresses == [[0x1C00], [0x1000 + 9 * 0x400]]


def fill(y):  # type: ignore[no-untyped-def]
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)

    @ttl.compute()
    def compute():  # type: ignore[no-untyped-def]
        with y_dfb.reserve() as y_blk:
            y_blk.store(ttl.math.fill(1.0, shape=(1, 1)))

    @ttl.datamovement()
    def write():  # type: ignore[no-untyped-def]
        column, row = ttl.node(dims=2)
        with y_dfb.wait() as y_blk:
            ttl.copy(y_blk, y[row, column]).wait()


def test_a_single_tensor_is_given_twice(launches: Launches) -> None:
    (y,) = tensors(Device(), count=1)
    ttl.operation(grid=(1, 1))(fill)(y)
    assert launches.calls[0][0] == [y, y]


def doubled(x, y):  # type: ignore[no-untyped-def]
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)

    @ttl.compute()
    def compute():  # type: ignore[no-untyped-def]
        for _ in range(x.shape[0] // 32):
            with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                y_blk.store(x_blk + x_blk)

    @ttl.datamovement()
    def read():  # type: ignore[no-untyped-def]
        for row in range(x.shape[-2] // 32):
            with x_dfb.reserve() as x_blk:
                ttl.copy(x[row, 0], x_blk).wait()

    @ttl.datamovement()
    def write():  # type: ignore[no-untyped-def]
        rows, _ = y.shape
        for row in range(rows // 32):
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[row, 0]).wait()


def doubled_row(x, y):  # type: ignore[no-untyped-def]
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1,))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1,))

    @ttl.compute()
    def compute():  # type: ignore[no-untyped-def]
        for _ in range(x.shape[0] // 32):
            with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                y_blk.store(x_blk + x_blk)

    @ttl.datamovement()
    def read():  # type: ignore[no-untyped-def]
        for tile in range(x.shape[0] // 32):
            with x_dfb.reserve() as x_blk:
                ttl.copy(x[tile], x_blk).wait()

    @ttl.datamovement()
    def write():  # type: ignore[no-untyped-def]
        for tile in range(y.shape[-1] // 32):
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[tile]).wait()


def sent(x, y):  # type: ignore[no-untyped-def]
    net = ttl.PipeNet([ttl.Pipe(0, (slice(1, 3), 0))])
    started = ttl.Semaphore(initial=5)
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

    @ttl.datamovement()
    def send():  # type: ignore[no-untyped-def]
        def give(pipe):  # type: ignore[no-untyped-def]
            started.wait_ge(5)
            with x_dfb.reserve() as block:
                ttl.copy(x[0, 0], block).wait()
            with x_dfb.wait() as block:
                ttl.copy(block, pipe).wait()

        net.if_src(give)

    @ttl.datamovement()
    def receive():  # type: ignore[no-untyped-def]
        def take(pipe):  # type: ignore[no-untyped-def]
            with y_dfb.reserve() as block:
                ttl.copy(pipe, block).wait()
            with y_dfb.wait() as block:
                ttl.copy(block, y[0, 0]).wait()

        net.if_dst(take)


def test_pipes_get_semaphores_and_scratch_memory_that_is_zero_at_each_launch(
    launches: Launches,
) -> None:
    operation = ttl.operation(grid=(3, 1))(sent)
    device, before = Device(), len(ScratchTensor.made)
    for _ in range(2):
        operation(*tensors(device, count=2))
    scratch = ScratchTensor.made[before:]
    assert len(scratch) == 2
    for made in scratch:
        assert made.values.shape[0] == 3 and not made.values.any()
        assert made.place is device
        layout, buffer, (cores, shape, _) = made.memory
        assert (layout, buffer, cores) == ("HEIGHT_SHARDED", "L1", [((0, 0), (2, 0))])
        assert shape == (1, made.values.shape[1])
    (_, first), (_, second) = launches.calls
    addresses = [kernel.common_runtime_args[-1] for p in (first, second) for kernel in p.kernels]
    assert addresses == [made.address for made in scratch for _ in range(2)]
    assert [(s.id, s.initial_value) for s in first.semaphores] == [(0, 5), (1, 0)]


def test_kernels_ask_for_the_shape_of_a_real_tensor(launches: Launches) -> None:
    ttl.operation(grid=(1, 1))(doubled)(*tensors(Device(), count=2))
    ((_, program),) = launches.calls
    assert all("< 8; " in kernel.kernel_source for kernel in program.kernels)


def test_buffers_have_the_sizes_and_formats_of_the_artifact(launches: Launches) -> None:
    ttl.operation(grid=(1, 1))(doubled)(*tensors(Device(), count=2))
    ((_, program),) = launches.calls
    formats = [buffer.format_descriptors[0] for buffer in program.cbs]
    assert [buffer.total_size for buffer in program.cbs] == [2 * 2048] * 2
    assert [(each.buffer_index, each.page_size) for each in formats] == [(0, 2048), (1, 2048)]


def test_the_padding_of_tensors_is_cleared_before_and_after(launches: Launches) -> None:
    full, ragged = (
        Tensor((64, width), DataType.BFLOAT16, Layout.TILE, Device(), position)
        for position, width in enumerate((32, 20))
    )
    ttl.operation(grid=(1, 1))(doubled)(full, ragged)
    assert launches.cleared == [(ragged, 0), (ragged, 1)]
    launches.cleared.clear()
    ttl.operation(grid=(1, 1))(doubled)(ragged, ragged)
    assert launches.cleared == [(ragged, 1), (ragged, 2)]
    assert not launches.copied


def test_a_row_of_tiles_is_padded_to_their_height(launches: Launches) -> None:
    row = Tensor((64,), DataType.BFLOAT16, Layout.TILE, Device())
    ttl.operation(grid=(1, 1))(doubled_row)(row, row)
    assert launches.cleared == [(row, 0), (row, 1)]
    ((_, program),) = launches.calls
    assert all("< 2; " in kernel.kernel_source for kernel in program.kernels)


def test_of_block_floats_ttnn_clears_a_copy(launches: Launches) -> None:
    ragged = Tensor((64, 20), DataType.BFLOAT8_B, Layout.TILE, Device())
    ttl.operation(grid=(1, 1))(doubled)(ragged, ragged)
    assert launches.copied == [ragged, ragged]


def rounded(y):  # type: ignore[no-untyped-def]
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)

    @ttl.compute()
    def compute():  # type: ignore[no-untyped-def]
        with y_dfb.reserve() as y_blk:
            half = ttl.math.typecast(ttl.math.fill(0.3, shape=(1, 1)), embedded_ttnn.float16)
            y_blk.store(ttl.math.typecast(half, embedded_ttnn.float32) * 2)

    @ttl.datamovement()
    def write():  # type: ignore[no-untyped-def]
        with y_dfb.wait() as y_blk:
            ttl.copy(y_blk, y[0, 0]).wait()


def test_a_format_that_ttnn_does_not_have(launches: Launches) -> None:
    (y,) = tensors(Device(), count=1, dtype=DataType.FLOAT32)
    with pytest.raises(UsageError) as caught:
        ttl.operation(grid=(1, 1))(rounded)(y)
    (found,) = caught.value.diagnostics
    assert found.code is codes.DEVICE_REFUSED
    assert "it has no float16, which `" in found.message


@pytest.mark.parametrize(
    ("chip", "grid"), [("WORMHOLE_B0", (8, 7)), ("BLACKHOLE", (3, 2)), ("WORMHOLE_B0", (2, 1))]
)
def test_the_full_grid_and_the_chip_are_those_of_the_device(
    launches: Launches, monkeypatch: pytest.MonkeyPatch, chip: str, grid: tuple[int, int]
) -> None:
    compiled = []
    monkeypatch.setattr("ttl.device.launch", lambda operation, *_, **__: compiled.append(operation))
    (y,) = tensors(Device(chip, grid), count=1)
    ttl.operation(grid="auto")(fill)(y)
    assert [one.target for one in compiled] == [chip.lower()]
    assert compiled[0].core_range == ((0, 0), (grid[0] - 1, grid[1] - 1))


def test_ttnn_says_why_it_refuses(launches: Launches) -> None:
    launches.refusal = (
        "TT_FATAL @ /project/x.cpp:129: size <= limit\ninfo:\nStatically allocated circular "
        "buffers on core range clash\nbacktrace:\n --- something\n"
    )
    with pytest.raises(UsageError) as caught:
        call(*tensors(Device()))
    (found,) = caught.value.diagnostics
    assert found.code is codes.DEVICE_REFUSED
    assert found.message == (
        "ttnn does not run `multiply_add_exp`: Statically allocated circular buffers on core "
        "range clash"
    )
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize(
    ("said", "shown"), [("one\ntwo", "one"), ("", "no reason given"), ("backtrace: x", "no reason")]
)
def test_a_refusal_in_other_words(launches: Launches, said: str, shown: str) -> None:
    launches.refusal = said
    with pytest.raises(UsageError, match=f"multiply_add_exp`: {shown}"):
        call(*tensors(Device()))


EMBEDDED = embedded_ttnn.zeros(
    (256, 256), embedded_ttnn.bfloat16, layout=embedded_ttnn.TILE_LAYOUT, device=EMBEDDED_DEVICE
)


@pytest.mark.parametrize(
    ("environment", "given", "message"),
    [
        ({"TTL_BACKEND": "host"}, tensors(Device()), "TTL1015.*TTL_BACKEND=host"),
        ({"TTL_BACKEND": "device"}, [EMBEDDED] * 4, "TTL6010.*ttnn is not installed"),
        ({"TTL_DRY_RUN": "1"}, tensors(Device()), "TTL_DRY_RUN=1.*a device cannot"),
        ({}, [*tensors(Device())[:3], EMBEDDED], "TTL1015.*others of the embedded one"),
        ({}, tensors(None), "TTL1015.*argument `a` of multiply_add_exp is a host tensor"),
        ({}, tensors(Device("QUASAR")), "TTL1015.*on a chip called quasar"),
        ({}, tensors(Device(), dtype=DataType.FP8_E4M3), "TTL1005.*is a Tensor, not a ttnn tensor"),
        ({}, tensors(Device(), layout=Layout.ROW_MAJOR), "TTL2007"),
        (
            {},
            [*tensors(Device())[:3], *tensors(Device(number=1), count=1)],
            "TTL1015.*argument `y`.*is on device 1",
        ),
    ],
)
def test_what_does_not_go_together(
    launches: Launches,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    given: list[Any],
    message: str,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ttl.TTLError, match=message):
        call(*given)
    assert launches.calls == []


@pytest.mark.parametrize("on_device", [0, 2], ids=["default device", "device of the others"])
def test_tensors_of_the_host_visit_the_device(launches: Launches, on_device: int) -> None:
    """They are copied to it, and the results back into them."""
    module = sys.modules[Tensor.__module__]
    device, back = Device(), []
    visits = {
        "to_device": lambda tensor, place: replace(tensor, place=place),
        "copy_device_to_host_tensor": lambda *both: back.append(both),
    }
    default = {"GetDefaultDevice": lambda: None if on_device else device}
    vars(module).update(visits | default)
    given = [*tensors(device)[:on_device], *tensors(None)[on_device:]]
    call(*given)
    ((io_tensors, _),) = launches.calls
    assert io_tensors == tensors(device)
    assert back == [(on, host) for on, host in zip(io_tensors, given, strict=True)][on_device:]


def test_compiling_only_launches_nothing(
    launches: Launches, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTLANG_COMPILE_ONLY", "1")
    call(*tensors(Device()))
    assert launches.calls == []


def test_the_standins_have_chips_that_pyttlang_does_not_know() -> None:
    assert {arch.name.lower() for arch in Arch} > {"wormhole_b0", "blackhole"}
