#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
  const auto l1_word = [](uint32_t address) { return reinterpret_cast<volatile tt_l1_ptr uint32_t*>((uintptr_t)address); };
  constexpr auto x_args = TensorAccessorArgs<1>();
  constexpr auto scratch_args = TensorAccessorArgs<x_args.next_compile_time_args_offset()>();
  auto scratch_accessor = TensorAccessor(scratch_args, get_common_arg_val<uint32_t>(0));
  constexpr auto y_args = TensorAccessorArgs<scratch_args.next_compile_time_args_offset()>();
  auto y_accessor = TensorAccessor(y_args, get_common_arg_val<uint32_t>(1));
  constexpr uint32_t dfb = get_compile_time_arg_val(0);
  int32_t scratch = get_common_arg_val<uint32_t>(2);
  int32_t node = get_absolute_logical_x();  // line 45
  cb_wait_front(dfb, 16);  // line 46
  int32_t first = (node % 4) * 2;  // line 29
  int32_t dfb_address = get_read_ptr(dfb);  // line 47
  int32_t v = first * 8;
  for (uint32_t tile_row = 0; tile_row < 2; tile_row += 1) {
    for (uint32_t tile_column = 0; tile_column < 8; tile_column += 1) {
      int32_t page = v + (tile_row * 8 + tile_column);
      int32_t address = dfb_address + (tile_row * 16384 + tile_column * 2048);
      noc_async_write_page(page, scratch_accessor, address);
    }
  }
  noc_async_write_barrier();  // line 48
  cb_pop_front(dfb, 16);  // line 46
  int32_t arrived = get_semaphore(0);  // line 49
  uint64_t remote_arrived = get_noc_addr(worker_logical_col_to_virtual_col[0], worker_logical_row_to_virtual_row[0], arrived);
  noc_semaphore_inc(remote_arrived, 1);
  noc_async_atomic_barrier();
  if (node == 0) {  // line 50
    int32_t arrived_2 = get_semaphore(0);  // line 51
    volatile tt_l1_ptr uint32_t* arrived_word = l1_word(arrived_2);
    noc_semaphore_wait_min(arrived_word, 4);
    int32_t all_arrived = get_semaphore(1);  // line 52
    int32_t staging = scratch + 16;
    volatile tt_l1_ptr uint32_t* staging_word = l1_word(staging);
    noc_semaphore_set(staging_word, 1);
    uint64_t remote_all_arrived = get_noc_multicast_addr(worker_logical_col_to_virtual_col[3], worker_logical_row_to_virtual_row[0], worker_logical_col_to_virtual_col[0], worker_logical_row_to_virtual_row[0], all_arrived);
    noc_semaphore_set_multicast_loopback_src(staging, remote_all_arrived, 4);
    noc_async_write_barrier();
  }
  cb_wait_front(dfb, 16);  // line 53
  int32_t dfb_address_2 = get_read_ptr(dfb);  // line 54
  for (uint32_t tile_row = 0; tile_row < 2; tile_row += 1) {
    for (uint32_t tile_column = 0; tile_column < 8; tile_column += 1) {
      int32_t page = v + (tile_row * 8 + tile_column);
      int32_t address = dfb_address_2 + (tile_row * 16384 + tile_column * 2048);
      noc_async_write_page(page, y_accessor, address);
    }
  }
  noc_async_write_barrier();  // line 55
  cb_pop_front(dfb, 16);  // line 53
  noc_async_write_barrier();
  noc_async_atomic_barrier();
  return;
}
