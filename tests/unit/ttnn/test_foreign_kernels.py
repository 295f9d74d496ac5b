"""What kernels written for tt-metal use beyond ours: objects, banks, plain L1, names of old."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ttl import ttnn
from ttl.diagnostics import KernelFault, UsageError

DEVICE = ttnn.open_device(device_id=0)
Core = tuple[int, int]
PAGES = 14  # more than a chip has banks of DRAM


def tensor(values: np.ndarray, **options: Any) -> ttnn.Tensor:
    options = {"dtype": ttnn.bfloat16, "layout": ttnn.TILE_LAYOUT} | options
    return ttnn.from_numpy(values, device=DEVICE, **options)


def numbered(pages: int = PAGES) -> np.ndarray:
    """Tiles side by side, each full of its number."""
    return np.repeat(np.arange(pages, dtype=np.float32), 32)[None].repeat(32, axis=0)


def words(value: int, **options: Any) -> ttnn.Tensor:
    values = np.full((1, 1), value, np.uint32)
    return tensor(values, dtype=ttnn.uint32, layout=ttnn.ROW_MAJOR_LAYOUT, **options)


def cores(*places: Core) -> ttnn.CoreRangeSet:
    return ttnn.CoreRangeSet([ttnn.CoreRange(place, place) for place in places])


def virtual(place: Core) -> list[int]:
    core = DEVICE.worker_core_from_logical_core(ttnn.CoreCoord(*place))
    return [core.x, core.y]


def kernel(
    source: str,
    arguments: dict[Core, Sequence[int]],
    accessors: Sequence[ttnn.Tensor] = (),
    config: Any = None,
    **fields: Any,
) -> ttnn.KernelDescriptor:
    """On the cores that arguments are given for; compile-time arguments are the accessors'."""
    compile_time = [ttnn.TensorAccessorArgs(each).get_compile_time_args() for each in accessors]
    return ttnn.KernelDescriptor(
        source,
        ttnn.KernelDescriptor.SourceType.SOURCE_CODE,
        cores(*arguments),
        compile_time_args=[word for each in compile_time for word in each],
        runtime_args=[(ttnn.CoreCoord(*place), each) for place, each in arguments.items()],
        config=config or ttnn.ReaderConfigDescriptor(),
        **fields,
    )


def buffer(index: int, places: ttnn.CoreRangeSet, pages: int = 2) -> ttnn.CBDescriptor:
    form = ttnn.CBFormatDescriptor(index, ttnn.bfloat16, 2048)
    return ttnn.CBDescriptor(pages * 2048, places, [form])


def run(
    tensors: Sequence[ttnn.Tensor],
    kernels: Sequence[ttnn.KernelDescriptor],
    buffers: Sequence[ttnn.CBDescriptor] = (),
    semaphores: int = 0,
) -> np.ndarray:
    everywhere = ttnn.CoreRangeSet([ttnn.CoreRange((0, 0), (3, 3))])
    ids = [ttnn.SemaphoreDescriptor(id=n, core_ranges=everywhere) for n in range(semaphores)]
    ttnn.generic_op(tensors, ttnn.ProgramDescriptor(kernels, ids, buffers))
    return ttnn.to_numpy(tensors[-1]).astype(np.float32)


# Objects ------------------------------------------------------------------------------------------

OBJECTS = """
#include "api/core_local_mem.h"
#include "api/dataflow/circular_buffer.h"
#include "api/dataflow/endpoints.h"
#include "api/dataflow/noc.h"
#include "api/tensor/noc_traits.h"
"""
COPY = f"""{OBJECTS}
void kernel_main() {{
  constexpr auto x_args = TensorAccessorArgs<0>();
  const auto x = TensorAccessor(x_args, get_arg_val<uint32_t>(0));
  constexpr auto y_args = TensorAccessorArgs<x_args.next_compile_time_args_offset()>();
  const auto y = TensorAccessor(y_args, get_arg_val<uint32_t>(1));
  Noc noc;
  CircularBuffer cb(0);
  for (uint32_t page = 0; page < {PAGES}; ++page) {{
    cb.reserve_back(1);
    READ
    cb.push_back(1);
    cb.wait_front(1);
    WRITE
    cb.pop_front(1);
  }}
}}
"""
WAYS = {
    "default": (
        """noc.async_read(x, cb, 2048, {.page_id = page}, {.offset_bytes = 0});
        noc.async_read_barrier();""",
        """noc.async_write(cb, y, 2048, {}, {.page_id = page});
        noc.async_write_barrier();""",
    ),
    "transactions": (
        """noc.async_read<NocOptions::TXN_ID>(
            x, cb, 1024, {.page_id = page}, {}, {.trid = 2});
        noc.async_read<NocOptions::TXN_ID | NocOptions::CUSTOM_VC>(
            x, cb, 1024, {.page_id = page, .offset_bytes = 1024}, {.offset_bytes = 1024},
            {.vc = 2, .trid = 3});
        noc.async_read_barrier<NocOptions::TXN_ID>({.trid = 2});
        noc.async_read_barrier<NocOptions::TXN_ID>({.trid = 3});""",
        """noc.async_write<NocOptions::TXN_ID>(cb, y, 2048, {}, {.page_id = page}, {.trid = 1});
        noc.async_writes_flushed<NocOptions::TXN_ID>({.trid = 1});
        noc.async_write_barrier<NocOptions::TXN_ID>({.trid = 1});""",
    ),
    "views": (
        """noc.async_read(x, use<CircularBuffer::AddrSelector::WRITE_PTR>(cb), 2048,
                       {.page_id = page}, {});
        noc.async_full_barrier();""",
        """const CoreLocalMem<uint32_t> local(cb.get_read_ptr());
        const CoreLocalMem<uint32_t> second = local + 256;
        noc.async_write(use<CircularBuffer::AddrSelector::READ_PTR>(cb), y, 1024, {},
                        {.page_id = page});
        noc.async_write(second, y, 1024, {}, {.page_id = page, .offset_bytes = 1024});
        noc.async_writes_flushed();
        noc.async_full_barrier();""",
    ),
    "states": (
        """noc.set_async_read_state<NocOptions::DEFAULT, 2048>(x, 2048, {.page_id = page});
        noc.async_read_with_state<NocOptions::DEFAULT, 2048>(
            x, cb, 2048, {.page_id = page}, {});
        noc.async_read_barrier();""",
        """noc.set_async_write_state<NocOptions::DEFAULT, 2048>(y, 2048, {.page_id = page});
        noc.async_write_with_state<NocOptions::DEFAULT, 2048>(
            cb, y, 2048, {}, {.page_id = page});
        noc.async_write_barrier();""",
    ),
    "places": (
        """noc.async_read(PrecomposedUnicastEndpoint(), cb, 2048,
                       {.noc_addr = x.get_noc_addr(page)}, {});
        noc.async_read_barrier();""",
        f"""noc.async_write(
            cb, AllocatorBank<AllocatorBankType::DRAM>(), 2048, {{}},
            {{.bank_id = page % {DEVICE.target.dram_banks},
              .addr = get_arg_val<uint32_t>(1) + page / {DEVICE.target.dram_banks} * 2048}});
        noc.async_write_barrier();""",
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("noc", [ttnn.NOC.RISCV_0_default, ttnn.NOC.RISCV_1_default])
def test_objects_copy_a_tensor(way: str, noc: ttnn.NOC) -> None:
    x, y = tensor(numbered()), tensor(np.zeros((32, 32 * PAGES)))
    reads, writes = WAYS[way]
    config = ttnn.DataMovementConfigDescriptor(ttnn.DataMovementProcessor.RISCV_0, noc)
    source = COPY.replace("READ\n", f"{reads}\n").replace("WRITE\n", f"{writes}\n")
    addresses = [x.buffer_address(), y.buffer_address()]
    copies = kernel(source, {(0, 0): addresses}, [x, y], config)
    assert np.array_equal(run([x, y], [copies], [buffer(0, cores((0, 0)))]), numbered())


SEND = f"""{OBJECTS}
void kernel_main() {{
  const auto x = TensorAccessor(TensorAccessorArgs<0>(), get_arg_val<uint32_t>(0));
  const uint32_t x0 = get_arg_val<uint32_t>(1), y0 = get_arg_val<uint32_t>(2);
  const uint32_t x1 = get_arg_val<uint32_t>(3), y1 = get_arg_val<uint32_t>(4);
  const uint32_t ready = get_semaphore(0);
  Noc noc;
  CircularBuffer cb(0);
  cb.reserve_back(1);
  noc.async_read(x, cb, 2048, {{}}, {{}});
  noc.async_read_barrier();
  SEND
}}
"""
RECEIVE = """
void kernel_main() {
  const auto y = TensorAccessor(TensorAccessorArgs<0>(), get_arg_val<uint32_t>(0));
  cb_reserve_back(0, 1);
  noc_semaphore_wait(reinterpret_cast<volatile tt_l1_ptr uint32_t*>(get_semaphore(0)), VALID);
  noc_async_write_page(get_arg_val<uint32_t>(1), y, get_write_ptr(0));
  noc_async_write_barrier();
}
"""
SENDS = {
    "unicast": """
    const UnicastEndpoint other;
    noc.async_write(use<CircularBuffer::AddrSelector::WRITE_PTR>(cb), other, 2048, {},
                    {.noc_x = x0, .noc_y = y0, .addr = cb.get_write_ptr()});
    noc.async_write(use<CircularBuffer::AddrSelector::WRITE_PTR>(cb), other, 2048, {},
                    {.noc_x = x1, .noc_y = y1, .addr = cb.get_write_ptr()});
    noc.async_write_barrier();
    noc.inline_dw_write<NocOptions::INLINE_L1>(
        other, VALID, {.noc_x = x0, .noc_y = y0, .addr = ready});
    noc.inline_dw_write<NocOptions::INLINE_L1>(
        other, VALID, {.noc_x = x1, .noc_y = y1, .addr = ready});
    noc.async_write_barrier();""",
    "multicast": """
    noc.async_write_multicast(cb, cb, 2048, 2, {},
                              {.noc_x_start = x0, .noc_y_start = y0, .noc_x_end = x1,
                               .noc_y_end = y1});
    CoreLocalMem<volatile uint32_t> flag(ready);
    *flag = VALID;
    noc.async_write_multicast(flag, MulticastEndpoint(), 4, 2, {},
                              {.noc_x_start = x0, .noc_y_start = y0, .noc_x_end = x1,
                               .noc_y_end = y1, .addr = ready});
    noc.async_write_barrier();""",
    "multicast to all": """
    noc.async_write_multicast<NocOptions::MCAST_INCL_SRC>(
        cb, MulticastEndpoint(), 2048, 3, {},
        {.noc_x_start = my_x[0], .noc_y_start = my_y[0], .noc_x_end = x1, .noc_y_end = y1,
         .addr = cb.get_write_ptr()});
    noc.async_write_barrier();
    noc_semaphore_inc(get_noc_addr(x0, y0, ready), VALID);
    noc_semaphore_inc(get_noc_addr(x1, y1, ready), VALID);
    noc.async_atomic_barrier();""",
}


@pytest.mark.parametrize("way", SENDS)
def test_objects_send_to_other_cores(way: str) -> None:
    x, y = tensor(numbered(1) + 7), tensor(np.zeros((32, 64)))
    sends = SEND.replace("SEND\n", f"{SENDS[way]}\n")
    arguments = [x.buffer_address(), *virtual((1, 0)), *virtual((2, 0))]
    receivers = {(1, 0): [y.buffer_address(), 0], (2, 0): [y.buffer_address(), 1]}
    kernels = [kernel(sends, {(0, 0): arguments}, [x]), kernel(RECEIVE, receivers, [y])]
    everywhere = cores((0, 0), (1, 0), (2, 0))
    assert np.all(run([x, y], kernels, [buffer(0, everywhere, 1)], semaphores=1) == 7)


# Addresses ----------------------------------------------------------------------------------------

BANK = """
void kernel_main() {
  const auto y = TensorAccessor(TensorAccessorArgs<0>(), get_arg_val<uint32_t>(1));
  cb_reserve_back(0, 1);
  const uint64_t from = get_noc_addr_from_bank_id<true>(
      get_arg_val<uint32_t>(2), get_arg_val<uint32_t>(0) + get_arg_val<uint32_t>(3));
  noc_async_read(from, get_write_ptr(0), 2048);
  noc_async_read_barrier();
  noc_async_write_page(0, y, get_write_ptr(0));
  noc_async_write_barrier();
}
"""


def from_bank(bank: int, offset: int) -> np.ndarray:
    x, y = tensor(numbered()), tensor(np.zeros((32, 32)))
    arguments = [x.buffer_address(), y.buffer_address(), bank, offset]
    reads = kernel(BANK, {(0, 0): arguments}, [y])
    return run([x, y], [reads], [buffer(0, cores((0, 0)))])


def test_pages_are_dealt_out_to_banks() -> None:
    assert np.all(from_bank(3, 0) == 3)
    assert np.all(from_bank(1, 2048) == DEVICE.target.dram_banks + 1)


@pytest.mark.parametrize(
    ("bank", "offset", "message"),
    [
        (DEVICE.target.dram_banks, 0, "there is no DRAM bank 12"),
        (5, 2048, "leaves the page"),
        (0, 0x4000_0000, "no tensor in DRAM has the address"),
    ],
)
def test_no_page_is_there(bank: int, offset: int, message: str) -> None:
    with pytest.raises(KernelFault, match=message):
        from_bank(bank, offset)


GENERATORS = """
void kernel_main() {
  const InterleavedAddrGenFast<true> x = {
      .bank_base_address = get_arg_val<uint32_t>(0),
      .page_size = static_cast<uint32_t>(get_tile_size(0)),
      .data_format = DataFormat::Float16_b};
  const InterleavedAddrGen<true> y = {
      .bank_base_address = get_arg_val<uint32_t>(1), .page_size = 2048};
  for (uint32_t page = 0; page < 14; ++page) {
    cb_reserve_back(tt::CB::c_in0, 1);
    noc_async_read_page(page, x, get_write_ptr(tt::CB::c_in0));
    noc_async_read_barrier();
    noc_async_write(get_write_ptr(tt::CB::c_in0), get_noc_addr(page, y), 2048);
    noc_async_write_barrier();
  }
}
"""


def test_address_generators() -> None:
    x, y = tensor(numbered()), tensor(np.zeros((32, 32 * PAGES)))
    copies = kernel(GENERATORS, {(0, 0): [x.buffer_address(), y.buffer_address()]})
    assert np.array_equal(run([x, y], [copies], [buffer(0, cores((0, 0)))]), numbered())


# Each core computes in bytes that two tensors in L1 take of it.
IN_L1 = """
#include "ckernel.h"

void kernel_main() {
  const InterleavedAddrGen<true> x = {
      .bank_base_address = get_arg_val<uint32_t>(0), .page_size = sizeof(uint32_t)};
  const auto y = TensorAccessor(TensorAccessorArgs<0>(), get_arg_val<uint32_t>(1));
  const uint32_t in = get_arg_val<uint32_t>(2), out = get_arg_val<uint32_t>(3);
  noc_async_read(x.get_noc_addr(0), in, sizeof(uint32_t));
  noc_async_read_barrier();
  auto* word = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(in);
  auto* sum = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(out);
  *sum = ckernel::load_blocking(word) + get_arg_val<uint32_t>(4);
  ckernel::store_blocking(sum, *sum + 1);
  noc_async_write(out, y.get_noc_addr(get_arg_val<uint32_t>(4)), sizeof(uint32_t));
  noc_async_write_barrier();
}
"""


def test_plain_l1() -> None:
    x = words(40)
    scratch = [words(0, memory_config=ttnn.L1_MEMORY_CONFIG) for _ in range(2)]
    y = tensor(np.zeros((2, 1), np.uint32), dtype=ttnn.uint32, layout=ttnn.ROW_MAJOR_LAYOUT)
    addresses = [each.buffer_address() for each in (x, y, *scratch)]
    adds = kernel(IN_L1, {(0, 0): [*addresses, 0], (1, 0): [*addresses, 1]}, [y])
    assert run([x, *scratch, y], [adds]).tolist() == [[41], [42]]


def test_coordinates_of_the_noc() -> None:
    target = DEVICE.target
    assert virtual((2, 1)) == [target.noc_columns[2], target.noc_rows[1]]
    with pytest.raises(UsageError, match=r"core \(8, 0\) is not on the chip"):
        virtual((8, 0))


# Names --------------------------------------------------------------------------------------------

NAMES = """
#include "api/dataflow/dataflow_api.h"
#include "api/numeric/bfloat16.h"
#include "hostdevcommon/common_values.hpp"
#include "tt-metalium/constants.hpp"
#if __has_include("tools/profiler/kernel_profiler.hpp")
#include "tools/profiler/kernel_profiler.hpp"
#endif

void kernel_main() {
  DeviceZoneScopedN("NAMES");
  DeviceTimestampedData("DATA", (uint64_t)1 << 32);
  DeviceRecordEvent(3);
  riscv_wait(10);
  const auto y = TensorAccessor(TensorAccessorArgs<0>(), get_arg_val<uint32_t>(0));
  cb_reserve_back(tt::CB::c_out0, 1);
  auto* out = reinterpret_cast<volatile tt_l1_ptr uint16_t*>(get_write_ptr(tt::CB::c_out0));
  for (uint32_t i = 0; i < tt::constants::TILE_HW; ++i) {
    out[i] = fp32_to_bf16_truncate(INVALID);
  }
  out[0] = fp32_to_bf16_truncate(1.01171875f);
  out[1] = fp32_to_bf16(1.01171875f);
  out[2] = fp32_to_bf16(bf16_to_fp32(0x4040) + VALID);
  out[3] = fp32_to_bf16(bfloat16_greater(0x3f80, 0xbf80) && !bfloat16_greater(0xc000, 0xbf80));
  out[4] = FloatBits(2.5f).high16;
  out[5] = fp32_to_bf16(kernel_compile_time_args.size());
  out[6] = fp32_to_bf16(kernel_compile_time_args[1] == get_compile_time_arg_val(1));
  noc_async_write_page(0, y, get_write_ptr(tt::CB::c_out0));
  noc_async_write_barrier();
}
"""


def test_names() -> None:
    y = tensor(np.ones((32, 32)))
    computes = kernel(NAMES, {(0, 0): [y.buffer_address()]}, [y])
    result = run([y, y], [computes], [buffer(16, cores((0, 0)))])
    expected = [1.0078125, 1.015625, 4, 1, 2.5, 2, 1]
    assert result[0, :7].tolist() == expected
    assert not result[0, 7:].any() and not result[1:].any()


# Liberties ----------------------------------------------------------------------------------------

UNRESERVED = """
void kernel_main() {
  const auto x = TensorAccessor(TensorAccessorArgs<0>(), get_arg_val<uint32_t>(0));
  for (uint32_t page = 0; page < get_arg_val<uint32_t>(1); ++page) {
    noc_async_read_page(page, x, get_write_ptr(0));
    noc_async_read_barrier();
    cb_push_back(0, 1);
  }
}
"""
PACKED = """
#include "api/compute/cb_api.h"
#include "api/compute/common.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/pack.h"
#include "api/compute/reg_api.h"
#include "api/compute/tile_move_copy.h"

void kernel_main() {
  compute_kernel_hw_startup(0, 1);
  copy_init(0);
  for (uint32_t page = 0; page < get_arg_val<uint32_t>(1); ++page) {
    cb_wait_front(0, 1);
    tile_regs_acquire();
    copy_tile(0, 0, 0);
    tile_regs_commit();
    tile_regs_wait();
    pack_tile(0, 1);
    tile_regs_release();
    cb_push_back(1, 1);
    cb_pop_front(0, 1);
  }
}
"""
STORED = """
void kernel_main() {
  const auto y = TensorAccessor(TensorAccessorArgs<0>(), get_arg_val<uint32_t>(0));
  for (uint32_t page = 0; page < get_arg_val<uint32_t>(1); ++page) {
    cb_wait_front(1, 1);
    noc_async_write_page(page, y, get_read_ptr(1));
    noc_async_write_barrier();
    cb_pop_front(1, 1);
  }
}
"""


def without_reserve(pages: int) -> np.ndarray:
    x, y = tensor(numbered(3)), tensor(np.zeros((32, 96)))
    place = cores((0, 0))
    kernels = [
        kernel(UNRESERVED, {(0, 0): [x.buffer_address(), pages]}, [x]),
        kernel(PACKED, {(0, 0): [0, pages]}, config=ttnn.ComputeConfigDescriptor()),
        kernel(STORED, {(0, 0): [y.buffer_address(), pages]}, [y], ttnn.WriterConfigDescriptor()),
    ]
    return run([x, y], kernels, [buffer(0, place), buffer(1, place)])


def test_pages_that_nobody_has_used_need_no_reserve() -> None:
    assert np.array_equal(without_reserve(2)[:, :64], numbered(2))


def test_pages_that_a_consumer_may_still_need_do() -> None:
    with pytest.raises(KernelFault, match="of which 0 were reserved"):
        without_reserve(3)


NO_BARRIER = """
void kernel_main() {
  const auto y = TensorAccessor(TensorAccessorArgs<0>(), get_arg_val<uint32_t>(0));
  const uint64_t there = get_noc_addr(
      get_arg_val<uint32_t>(1), get_arg_val<uint32_t>(2), get_semaphore(0));
  ENDS
}
"""
WAITS = """
void kernel_main() {
  const auto y = TensorAccessor(TensorAccessorArgs<0>(), get_arg_val<uint32_t>(0));
  const uint32_t word = get_semaphore(0);
  noc_semaphore_wait(reinterpret_cast<volatile tt_l1_ptr uint32_t*>(word), 1);
  noc_async_write(word, y.get_noc_addr(0), 4);
  noc_async_write_barrier();
}
"""
INCREMENT = "noc_semaphore_inc(there, 1);"


def ending_with(ends: str, waits: bool) -> np.ndarray:
    y = words(0)
    address = y.buffer_address()
    kernels = [kernel(NO_BARRIER.replace("ENDS", ends), {(0, 0): [address, *virtual((1, 0))]}, [y])]
    receives = WAITS if waits else "void kernel_main() {}"
    kernels.append(kernel(receives, {(1, 0): [address]}, [y] if waits else []))
    return run([y, y], kernels, [buffer(0, cores((0, 0)))], semaphores=1)


def test_a_kernel_ends_before_what_others_wait_for_has_landed() -> None:
    assert ending_with(INCREMENT, waits=True) == 1


@pytest.mark.parametrize(
    ("ends", "waits", "message"),
    [
        (INCREMENT, False, "without noc_async_atomic_barrier after its last increment"),
        (
            f"{INCREMENT} noc_async_write(get_write_ptr(0), y.get_noc_addr(0), 4);",
            True,
            "without noc_async_write_barrier after its last write",
        ),
        (
            "noc_async_read(y.get_noc_addr(0), get_write_ptr(0), 4);",
            False,
            "without noc_async_read_barrier after its last read",
        ),
    ],
)
def test_nobody_waits_for_what_a_kernel_leaves(ends: str, waits: bool, message: str) -> None:
    with pytest.raises(KernelFault, match=message):
        ending_with(ends, waits)
