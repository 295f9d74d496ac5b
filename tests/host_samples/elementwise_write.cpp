#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
  constexpr uint32_t y_dfb = get_compile_time_arg_val(3);
  constexpr auto a_args = TensorAccessorArgs<4>();
  constexpr auto b_args = TensorAccessorArgs<a_args.next_compile_time_args_offset()>();
  constexpr auto c_args = TensorAccessorArgs<b_args.next_compile_time_args_offset()>();
  constexpr auto y_args = TensorAccessorArgs<c_args.next_compile_time_args_offset()>();
  const auto y = TensorAccessor(y_args, get_common_arg_val<uint32_t>(0));
  int32_t node_column = get_absolute_logical_x();
  int32_t node_row = get_absolute_logical_y();
  for (int32_t i = 0; i < 2; i += 1) {
    int32_t row = (node_row * 2 + i) * 2;
    for (int32_t j = 0; j < 2; j += 1) {
      int32_t column = (node_column * 2 + j) * 2;
      cb_wait_front(y_dfb, 4);
      int32_t l1 = get_read_ptr(y_dfb);
      for (int32_t r = 0; r < 2; r += 1) {
        for (int32_t s = 0; s < 2; s += 1) {
          int32_t page = (row + r) * 8 + column + s;
          int32_t offset = (r * 2 + s) * 2048;
          noc_async_write_page(page, y, l1 + offset);
        }
      }
      noc_async_write_barrier();
      cb_pop_front(y_dfb, 4);
    }
  }
}
