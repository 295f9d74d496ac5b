#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
  constexpr auto a_args = TensorAccessorArgs<4>();
  constexpr auto b_args = TensorAccessorArgs<a_args.next_compile_time_args_offset()>();
  constexpr auto bias_args = TensorAccessorArgs<b_args.next_compile_time_args_offset()>();
  constexpr auto y_args = TensorAccessorArgs<bias_args.next_compile_time_args_offset()>();
  auto y_accessor = TensorAccessor(y_args, get_common_arg_val<uint32_t>(0));
  constexpr uint32_t y_dfb = get_compile_time_arg_val(3);
  int32_t node_column = get_absolute_logical_x();  // line 57
  int32_t node_row = get_absolute_logical_y();
  for (int32_t i = 0; i < 2; i += 1) {  // line 58
    int32_t row = (node_row * 2 + i) * 2;  // line 59
    for (int32_t j = 0; j < 2; j += 1) {  // line 60
      int32_t column = (node_column * 2 + j) * 2;  // line 61
      cb_wait_front(y_dfb, 4);  // line 62
      int32_t y_dfb_address = get_read_ptr(y_dfb);  // line 63
      int32_t first_page = row * 8 + column;
      for (uint32_t tile_row = 0; tile_row < 2; tile_row += 1) {
        for (uint32_t tile_column = 0; tile_column < 2; tile_column += 1) {
          int32_t page = first_page + (tile_row * 8 + tile_column);
          int32_t address = y_dfb_address + (tile_row * 4096 + tile_column * 2048);
          noc_async_write_page(page, y_accessor, address);
        }
      }
      noc_async_writes_flushed();  // line 64
      cb_pop_front(y_dfb, 4);  // line 62
    }
  }
  noc_async_write_barrier();
  return;
}
