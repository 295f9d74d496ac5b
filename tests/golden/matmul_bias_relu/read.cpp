#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
  constexpr auto a_args = TensorAccessorArgs<4>();
  auto a_accessor = TensorAccessor(a_args, get_common_arg_val<uint32_t>(0));
  constexpr auto b_args = TensorAccessorArgs<a_args.next_compile_time_args_offset()>();
  auto b_accessor = TensorAccessor(b_args, get_common_arg_val<uint32_t>(1));
  constexpr auto bias_args = TensorAccessorArgs<b_args.next_compile_time_args_offset()>();
  auto bias_accessor = TensorAccessor(bias_args, get_common_arg_val<uint32_t>(2));
  constexpr uint32_t a_dfb = get_compile_time_arg_val(0);
  constexpr uint32_t b_dfb = get_compile_time_arg_val(1);
  constexpr uint32_t bias_dfb = get_compile_time_arg_val(2);
  int32_t node_column = get_absolute_logical_x();  // line 39
  int32_t node_row = get_absolute_logical_y();
  for (int32_t i = 0; i < 2; i += 1) {  // line 40
    int32_t row = (node_row * 2 + i) * 2;  // line 41
    for (int32_t j = 0; j < 2; j += 1) {  // line 42
      int32_t column = (node_column * 2 + j) * 2;  // line 43
      for (int32_t k = 0; k < 4; k += 1) {  // line 44
        int32_t step = k * 2;  // line 45
        cb_reserve_back(a_dfb, 4);  // line 46
        cb_reserve_back(b_dfb, 4);
        int32_t a_dfb_address = get_write_ptr(a_dfb);  // line 47
        int32_t first_page = row * 8 + step;
        for (uint32_t tile_row = 0; tile_row < 2; tile_row += 1) {
          for (uint32_t tile_column = 0; tile_column < 2; tile_column += 1) {
            int32_t page = first_page + (tile_row * 8 + tile_column);
            int32_t address = a_dfb_address + (tile_row * 4096 + tile_column * 2048);
            noc_async_read_page(page, a_accessor, address);
          }
        }
        int32_t b_dfb_address = get_write_ptr(b_dfb);  // line 48
        int32_t first_page_2 = step * 8 + column;
        for (uint32_t tile_row = 0; tile_row < 2; tile_row += 1) {
          for (uint32_t tile_column = 0; tile_column < 2; tile_column += 1) {
            int32_t page = first_page_2 + (tile_row * 8 + tile_column);
            int32_t address = b_dfb_address + (tile_row * 4096 + tile_column * 2048);
            noc_async_read_page(page, b_accessor, address);
          }
        }
        noc_async_read_barrier();  // line 49
        cb_push_back(a_dfb, 4);  // line 46
        cb_push_back(b_dfb, 4);
      }
      cb_reserve_back(bias_dfb, 4);  // line 51
      int32_t bias_dfb_address = get_write_ptr(bias_dfb);  // line 52
      int32_t first_page = row * 8 + column;
      for (uint32_t tile_row = 0; tile_row < 2; tile_row += 1) {
        for (uint32_t tile_column = 0; tile_column < 2; tile_column += 1) {
          int32_t page = first_page + (tile_row * 8 + tile_column);
          int32_t address = bias_dfb_address + (tile_row * 4096 + tile_column * 2048);
          noc_async_read_page(page, bias_accessor, address);
        }
      }
      noc_async_read_barrier();  // line 55
      cb_push_back(bias_dfb, 4);  // line 51
    }
  }
  return;
}
