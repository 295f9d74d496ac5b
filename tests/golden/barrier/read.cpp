#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
  const auto l1_word = [](uint32_t address) { return reinterpret_cast<volatile tt_l1_ptr uint32_t*>((uintptr_t)address); };
  constexpr auto x_args = TensorAccessorArgs<1>();
  auto x_accessor = TensorAccessor(x_args, get_common_arg_val<uint32_t>(0));
  constexpr auto scratch_args = TensorAccessorArgs<x_args.next_compile_time_args_offset()>();
  auto scratch_accessor = TensorAccessor(scratch_args, get_common_arg_val<uint32_t>(1));
  constexpr uint32_t dfb = get_compile_time_arg_val(0);
  int32_t node = get_absolute_logical_x();  // line 34
  cb_reserve_back(dfb, 16);  // line 35
  int32_t first = (node % 4) * 2;  // line 29
  int32_t dfb_address = get_write_ptr(dfb);  // line 36
  int32_t v = first * 8;
  for (uint32_t tile_row = 0; tile_row < 2; tile_row += 1) {
    for (uint32_t tile_column = 0; tile_column < 8; tile_column += 1) {
      int32_t page = v + (tile_row * 8 + tile_column);
      int32_t address = dfb_address + (tile_row * 16384 + tile_column * 2048);
      noc_async_read_page(page, x_accessor, address);
    }
  }
  noc_async_read_barrier();  // line 37
  cb_push_back(dfb, 16);  // line 35
  int32_t all_arrived = get_semaphore(1);  // line 38
  volatile tt_l1_ptr uint32_t* all_arrived_word = l1_word(all_arrived);
  noc_semaphore_wait_min(all_arrived_word, 1);
  cb_reserve_back(dfb, 16);  // line 39
  int32_t first_2 = ((node + 1) % 4) * 2;  // line 29
  int32_t dfb_address_2 = get_write_ptr(dfb);  // line 40
  int32_t v_2 = first_2 * 8;
  for (uint32_t tile_row = 0; tile_row < 2; tile_row += 1) {
    for (uint32_t tile_column = 0; tile_column < 8; tile_column += 1) {
      int32_t page = v_2 + (tile_row * 8 + tile_column);
      int32_t address = dfb_address_2 + (tile_row * 16384 + tile_column * 2048);
      noc_async_read_page(page, scratch_accessor, address);
    }
  }
  noc_async_read_barrier();  // line 41
  cb_push_back(dfb, 16);  // line 39
  return;
}
