#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
  constexpr auto a_args = TensorAccessorArgs<4>();
  constexpr auto partial_args = TensorAccessorArgs<a_args.next_compile_time_args_offset()>();
  auto partial_accessor = TensorAccessor(partial_args, get_common_arg_val<uint32_t>(0));
  constexpr auto y_args = TensorAccessorArgs<partial_args.next_compile_time_args_offset()>();
  auto y_accessor = TensorAccessor(y_args, get_common_arg_val<uint32_t>(1));
  constexpr uint32_t sum_dfb = get_compile_time_arg_val(1);
  constexpr uint32_t y_dfb = get_compile_time_arg_val(3);
  int32_t node = get_absolute_logical_x();  // line 69
  int32_t column = node * 2;  // line 70
  for (int32_t i = 0; i < 4; i += 1) {  // line 71
    int32_t row = i * 2;  // line 72
    cb_wait_front(sum_dfb, 4);  // line 73
    int32_t sum_dfb_address = get_read_ptr(sum_dfb);  // line 74
    int32_t first_page = row * 8 + column;
    for (uint32_t tile_row = 0; tile_row < 2; tile_row += 1) {
      for (uint32_t tile_column = 0; tile_column < 2; tile_column += 1) {
        int32_t page = first_page + (tile_row * 8 + tile_column);
        int32_t address = sum_dfb_address + (tile_row * 4096 + tile_column * 2048);
        noc_async_write_page(page, partial_accessor, address);
      }
    }
    noc_async_write_barrier();  // line 75
    cb_pop_front(sum_dfb, 4);  // line 73
  }
  int32_t is_written = get_semaphore(0);  // line 76
  uint64_t remote_is_written = get_noc_addr(worker_logical_col_to_virtual_col[0], worker_logical_row_to_virtual_row[0], is_written);
  noc_semaphore_inc(remote_is_written, 1);
  noc_async_atomic_barrier();
  if (node == 0) {  // line 77
    for (int32_t i = 0; i < 4; i += 1) {  // line 78
      int32_t row = i * 2;  // line 79
      cb_wait_front(y_dfb, 4);  // line 80
      int32_t y_dfb_address = get_read_ptr(y_dfb);  // line 81
      int32_t v = row * 2;
      for (uint32_t tile_row = 0; tile_row < 2; tile_row += 1) {
        for (uint32_t tile_column = 0; tile_column < 2; tile_column += 1) {
          int32_t page = v + (tile_row * 2 + tile_column);
          int32_t address = y_dfb_address + (tile_row * 4096 + tile_column * 2048);
          noc_async_write_page(page, y_accessor, address);
        }
      }
      noc_async_write_barrier();  // line 82
      cb_pop_front(y_dfb, 4);  // line 80
    }
  }
  noc_async_atomic_barrier();
  return;
}
